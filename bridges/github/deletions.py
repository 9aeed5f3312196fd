"""Find out which comments were deleted: no list tells of that, and of the times none moves.

What does tell is how many comments a pull request has, which GitHub says where it shows one alone. Where there are
fewer than there were, those of them that are remembered are looked for, first in the list, then each by its number.
"""

from __future__ import annotations

from collections.abc import Sequence

from prloom.api import BridgeContext, HttpError, Json, iso

from .changes import Changes
from .sansio import json_access, posts, pulls
from .sansio.cursor import GithubCursor
from .source import ApiReader

_LOOKS = 5
"""Pull requests that are looked at in one poll."""
_ASKED_FOR = 30
"""Comments that are asked for by their numbers in one look."""


def count(known: GithubCursor, number: int, item: Json) -> None:
    """Compare how many comments a pull request has with how many it had; that of each kind which fell is due."""
    counts = known.pull_requests[number].counts
    for kind, there in pulls.counts(item).items():
        if there < counts.get(kind, 0) and kind not in known.deletions_due.setdefault(number, []):
            known.deletions_due[number].append(kind)
        counts[kind] = min(there, counts.get(kind, there))


class Deletions:
    """The looks of one poll."""

    def __init__(self, ctx: BridgeContext, source: ApiReader, known: GithubCursor, news: Changes) -> None:
        self._ctx = ctx
        self._source = source
        self._known = known
        self._news = news

    def due(self) -> Sequence[int]:
        """Return the pull requests to look at in this poll."""
        return list(self._known.deletions_due)[:_LOOKS]

    async def look(self, number: int) -> None:
        """Look for the comments that are remembered; of what cannot be asked for nothing is taken as known."""
        due = self._known.deletions_due
        for kind in list(due[number]):
            missing = await self._missing(number, kind)
            asked = [(key, json_access.tail_number(key, posts.MARKS[kind])) for key in missing[:_ASKED_FOR]]
            gone = [key for key, post in asked if await self._gone(self._source.repository.post(kind, post))]
            if gone:  # whoever loses sight of the pull request meanwhile is told 404 for each of its comments
                await self._source.get(self._source.repository.pull(number), self._known.pull_requests[number].alone)
            for key in gone:
                self._news.take([posts.deleted(key, self._known.posts.pop(key), iso(self._ctx.now))])
            if len(missing) <= _ASKED_FOR:
                due[number].remove(kind)
        if not due[number]:
            del due[number]

    async def _missing(self, number: int, kind: str) -> list[str]:
        """Return the remembered posts of a kind that the pull request's own list of all of them does not have."""
        repository = self._source.repository
        if kind == "comments":
            url = repository.comments_of(number)
        else:
            url = repository.inline_of(number)
        there = {f"{posts.MARKS[kind]}{json_access.number(item, 'id')}" for item in await self._source.all(url)}
        remembered = (key for key, post in self._known.posts.items() if post.pr == number)
        return [key for key in remembered if posts.kind(key) == kind and key not in there]

    async def _gone(self, url: str) -> bool:
        """Whether GitHub says of a post that it is gone: a list may be behind, and lack what was just written."""
        try:
            (await self._source.get(url)).json()
        except HttpError as error:
            if error.trouble != "gone":
                raise
            return True
        return False
