"""Gather what one poll finds out: events, each once, and the posts by which the next poll knows what it knew."""

from __future__ import annotations

from collections.abc import Container, Iterable

from msgspec.structs import replace

from prloom.api import Event, Json

from .sansio import checks, posts
from .sansio.cursor import GithubCursor
from .sansio.posts import Post


class Changes:
    """What is new on the pull requests that are looked after.

    `moved` are those that changed, by the list of all, as long as nothing was heard that would explain it.
    """

    def __init__(self, known: GithubCursor, tracked: Container[int]) -> None:
        self.moved: set[int] = set()
        self._known = known
        self._tracked = tracked
        self._events: dict[str, Event] = {}

    def take(self, events: Iterable[Event]) -> None:
        """Take events; one that is there already stays as it is."""
        for event in events:
            self._events.setdefault(event.id, event)
            self.moved.discard(event.pr or 0)

    def hear(self, said: Iterable[Post | None], *, anew: bool = False) -> None:
        """Take what is news; `anew`: for a plan that has heard nothing before, whatever an earlier one has."""
        there = [post for post in said if post is not None and post.where.pr in self._tracked]
        for post in sorted(there, key=lambda post: post.updated):
            older = self._known.posts.get(post.key)
            event = posts.news(post, None if anew else older)
            if event is not None:
                self.take([event])
            if older is None or older.words != posts.digest(post):
                self.moved.discard(post.where.pr)
            if older is None:
                self._known.count(post.where.pr, posts.kind(post.key))
            if event is not None:
                name = event.id
            elif older:
                name = older.event
            else:
                name = posts.event_id(post)
            self._known.remember(post.key, posts.known(post, name))

    def told(self) -> list[Event]:
        """Return the events, oldest first, each with the head of its pull request and how the checks stand."""
        events = sorted(self._events.values(), key=lambda event: event.written_at or event.created_at or "")
        return [self._with_head(event) for event in events]

    def _with_head(self, event: Event) -> Event:
        seen = self._known.pull_requests.get(event.pr or 0)
        if seen is None or not seen.head:
            return event
        more: dict[str, Json] = {"head": seen.head}
        report = checks.report(seen)
        if report is not None:
            more["checks"] = report
        return replace(event, context={**event.context, **more})
