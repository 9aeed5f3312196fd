"""Ask GitHub: one answer, or all pages of a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from prloom.api import Answer, Http, HttpError, Json, iso

from .account import TokenAccount
from .sansio import json_access
from .sansio.cursor import Feed
from .sansio.urls import PAGE, RepositoryUrls

_MOST_PAGES = 300
_LATE = timedelta(minutes=5)
_SLOW = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)
_WINDOW = 50  # items that a feed reads again and again, before it moves on


@dataclass(frozen=True)
class ApiReader:
    """A repository, the client to ask about it, and the account that the client asks for."""

    http: Http
    repository: RepositoryUrls
    account: TokenAccount = field(default_factory=TokenAccount)

    def called(self, full_name: str) -> ApiReader:
        """Return the same source, of the repository of this name."""
        return replace(self, repository=RepositoryUrls(full_name))

    async def get(self, url: str, etag: str | None = None) -> Answer:
        """Ask for one thing; with a tag, only for what differs from what has that tag."""
        return await self.http.request("GET", url, etag=etag)

    async def sees_repository(self) -> bool:
        """Whether GitHub shows the repository: a 404 for anything in it may mean that it does not, or not any more."""
        try:
            await self.get(self.repository.root)
        except HttpError as error:
            if error.trouble != "gone":
                raise
            return False
        return True

    async def rest(self, answer: Answer, *path: str) -> list[Json]:
        """Return the items of a list: those of this answer, and those of the pages that its `Link` leads to."""
        found = list(json_access.items(answer.json(), *path))
        for _ in range(_MOST_PAGES):
            if answer.next_page is None:
                return found
            answer = await self.get(answer.next_page)
            found += json_access.items(answer.json(), *path)
        raise HttpError(f"{answer.url}: more than {_MOST_PAGES} pages", trouble="unknown")

    async def all(self, url: str, *path: str) -> list[Json]:
        """Return all items of a list."""
        return await self.rest(await self.get(url), *path)

    async def news(self, feed: Feed, url: Callable[[str], str]) -> list[Json]:
        """Return what a list has since the feed's time, and move the feed on; where nothing changed, it is free.

        Whoever edits a post while we turn pages moves it to the end of the list, and the next page would begin one
        item too late: so a full page is followed by the question for what came after its last item. GitHub's `since`
        includes that very second.

        The time is moved on only when many items have come since: as long as the question is the same, its tag holds.
        """
        asked, last = feed.since, feed.since
        answer = await self.get(url(asked), feed.etag)
        if answer.unchanged:
            return []
        page = list(json_access.items(answer.json()))
        found = list(page)
        for _ in range(_MOST_PAGES):
            last = max(last, json_access.text(page[-1], "updated_at") if page else last)
            if answer.next_page is None:
                break
            if last > asked:
                asked = last
                where = url(last)
            else:
                where = answer.next_page
            answer = await self.get(where)
            page = list(json_access.items(answer.json()))
            found += page
        if len(found) <= _WINDOW:
            begin = feed.since
        else:
            begin = max(feed.since, _begin(answer, last))
        # A full page looks the same when more comes after it, so its tag tells of nothing.
        alone = asked == feed.since == begin and len(found) < PAGE
        feed.since, feed.etag = begin, answer.etag if alone else None
        return found


def settled(answer: Answer, stamp: str) -> bool:
    """Whether all that happened by then can be seen in an answer: in that very second more may yet happen."""
    now, then = told_at(answer), json_access.time(stamp)
    return now is None or then is None or now - then >= _SLOW


def _begin(answer: Answer, last: str) -> str:
    """Return a time before which nothing comes up any more: some posts are seen only a while after the time they say.

    `answer` is the last page that was read, and `last` the time of its last post.
    """
    then, now = json_access.time(last), told_at(answer)
    if then is None or answer.next_page is not None:
        return last
    return iso(then - _LATE if now is None else min(then + _SECOND, now - _LATE))[:19] + "Z"


def told_at(answer: Answer) -> datetime | None:
    """Return when the server answered, by its own clock: ours may be hours off."""
    try:
        return parsedate_to_datetime(answer.headers.get("date", "")).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
