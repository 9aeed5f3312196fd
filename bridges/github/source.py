"""Ask GitHub: one answer, or all pages of a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from prloom.api import Answer, Http, HttpError, Json, iso, moment

from .knowledge import fields
from .knowledge.cursor import Feed
from .knowledge.urls import Repository

_MOST_PAGES = 300
_LATE = timedelta(minutes=5)
_WINDOW = 50  # items that a feed reads again and again, before it moves on


@dataclass(frozen=True)
class Source:
    """A repository, and the client to ask about it."""

    http: Http
    repository: Repository

    async def get(self, url: str, etag: str | None = None) -> Answer:
        """Ask for one thing; with a tag, only for what differs from what has that tag."""
        return await self.http.request("GET", url, etag=etag)

    async def rest(self, answer: Answer, *path: str) -> list[Json]:
        """Return the items of a list: those of this answer, and those of the pages that its `Link` leads to."""
        found = list(fields.items(answer.json(), *path))
        for _ in range(_MOST_PAGES):
            if answer.next_page is None:
                return found
            answer = await self.get(answer.next_page)
            found += fields.items(answer.json(), *path)
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
        since = feed.since
        answer = await self.get(url(since), feed.etag)
        if answer.unchanged:
            return []
        page = list(fields.items(answer.json()))
        found = list(page)
        for _ in range(_MOST_PAGES):
            if answer.next_page is None:
                break
            last = fields.text(page[-1], "updated_at") if page else since
            stuck = last <= since
            answer = await self.get(answer.next_page if stuck else url(last))
            since = max(since, last)
            page = list(fields.items(answer.json()))
            found += page
        if len(page) <= _WINDOW and answer.url.endswith(url(since)):
            feed.since, feed.etag = since, answer.etag
        else:
            feed.since, feed.etag = max(feed.since, _before(fields.text(page[-1], "updated_at"))), None
        return found


def _before(stamp: str) -> str:
    """Return a time a little before that: some posts are seen only a while after the time that they say."""
    return iso(moment(stamp) - _LATE)[:19] + "Z"
