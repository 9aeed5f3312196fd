"""Know which posts the token's own account wrote: those that begin with a marker are prloom's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from prloom.api import Author, HttpError, marked, marker

from .sansio import accounts, errors, urls
from .sansio.accounts import Account
from .sansio.posts import Post

if TYPE_CHECKING:
    from .source import ApiReader


class TokenAccount:
    """The account whose token it is. GitHub is asked only when that is needed, and at most once in a poll."""

    def __init__(self) -> None:
        self._account: Account | None = None
        self._certain = False

    def doubt(self) -> None:
        """Have GitHub asked again where an author is not the account: a renewed token may be another account's."""
        self._certain = False

    async def of(self, source: ApiReader, authors: Iterable[Author]) -> Account:
        """Return the account, which may have written what these authors wrote."""
        known = self._account
        if known is None or not (self._certain or all(accounts.is_author(known, author) for author in authors)):
            known = self._account = await _ask(source)
            self._certain = True
        return known

    async def tell_own(self, source: ApiReader, posts: Iterable[Post | None]) -> list[Post]:
        """Return the posts; of those that begin with a marker, and are the account's, with `ownAccount` in context."""
        told = [post for post in posts if post is not None]
        authors = [post.author for post in told if _begins_with_marker(post)]
        if not authors:
            return told
        account = await self.of(source, authors)
        return [
            _own(post) if _begins_with_marker(post) and accounts.is_author(account, post.author) else post
            for post in told
        ]


async def _ask(source: ApiReader) -> Account:
    try:
        return accounts.account((await source.get(urls.USER)).json())
    except HttpError as error:
        if error.trouble not in {"forbidden", "gone"}:
            raise
        return accounts.unnamed(app=errors.mentions(error, "integration"))


def _begins_with_marker(post: Post) -> bool:
    ids = marked(post.body)
    return bool(ids) and post.body.lstrip().startswith(marker(ids[0]))


def _own(post: Post) -> Post:
    return replace(post, context={**post.context, "ownAccount": True})
