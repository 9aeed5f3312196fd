"""Poll GitHub for all pull requests at once: what is said, and what becomes of them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta

from msgspec.structs import replace

from prloom.api import BridgeContext, Event, HttpError, Json, Polled, iso

from . import checking, merging
from .knowledge import checks, cursor, fields, posts, pulls, urls
from .knowledge.cursor import Cursor, Seen
from .knowledge.posts import Post
from .knowledge.pulls import Facts
from .source import Source

_OVERLAP = timedelta(hours=1)
"""How far before the first poll the feeds begin: the two clocks may differ."""
_LONGEST = 120.0
"""Seconds after which a poll begins nothing more; what is left is done by the next."""
_STOPS = {"limited", "unauthorized"}

Step = Callable[[int], Awaitable[None]]
"""Something that is asked about a pull request, by its number; 0 stands for none in particular."""


async def poll(ctx: BridgeContext, source: Source, state: Json | None) -> Polled:
    """Return what is new since the cursor.

    The lists of the whole repository come first, and where one fails, the poll fails: nothing is taken as read. What is
    asked for single pull requests after that is due until it was answered.
    """
    tracked = {plan.pr for plan in ctx.plans if plan.pr is not None}
    known = cursor.read(state)
    known.keep_only(tracked)
    look = _Look(ctx, source, known, tracked)
    await look.at_lists()
    await look.at_single()
    return Polled(look.sorted(), cursor.write(known))


class _Look:
    """One poll: it gathers events, and moves the cursor on."""

    def __init__(self, ctx: BridgeContext, source: Source, known: Cursor, tracked: set[int]) -> None:
        self._ctx = ctx
        self._source = source
        self._known = known
        self._tracked = tracked
        self._events: dict[str, Event] = {}
        self._end = time.monotonic() + _LONGEST
        self._merging = merging.Merging(source, known, self._take, self._end_of)

    def sorted(self) -> list[Event]:
        """Return the events, oldest first, each with how the checks stand."""
        events = sorted(self._events.values(), key=lambda event: event.written_at or event.created_at or "")
        return [self._with_checks(event) for event in events]

    async def at_lists(self) -> None:
        """Ask the three lists that tell of every pull request."""
        known, repository = self._known, self._source.repository
        start = iso(self._ctx.now - _OVERLAP)[:19] + "Z"
        for feed in (known.comments, known.inline):
            feed.since = feed.since or start
        await self._read_pulls()
        comments = await self._source.news(known.comments, repository.comments_since)
        inline = await self._source.news(known.inline, repository.inline_since)
        self._hear(filter(None, map(posts.comment, comments)))
        self._hear(filter(None, map(posts.inline, inline)))

    async def at_single(self) -> None:
        """Ask about single pull requests what the lists do not tell; what this leaves undone is due still."""
        known = self._known
        checks_of = checking.Checking(self._ctx, self._source, known, self._take, self._merging.look)
        steps: tuple[tuple[Step, Callable[[], Iterable[int]]], ...] = (
            (self._first_sight, lambda: sorted(self._tracked - known.pull_requests.keys())),
            (self._read_reviews, lambda: dict.fromkeys(known.reviews_due)),
            (self._merging.follow, lambda: (0,)),
            (self._merging.look, lambda: list(known.merges_due)[: merging.LOOKS]),
            (checks_of.elsewhere, lambda: (0,)),
            (checks_of.look, checks_of.due),
        )
        for step, numbers in steps:
            for number in list(numbers()):
                if not await self._try(number, step):
                    return

    async def _try(self, number: int, step: Step) -> bool:
        """Take one step, whose failure is not the others'; return whether to go on."""
        try:
            await step(number)
        except HttpError as error:
            what = f"#{number}" if number else "what is left"
            self._ctx.log.warning("%s is looked at again by the next poll: %s", what, error)
            return error.trouble not in _STOPS
        return time.monotonic() < self._end

    # ---- pull requests

    async def _read_pulls(self) -> None:
        known = self._known
        feed = known.pulls
        answer = await self._source.get(self._source.repository.pulls_latest(), feed.etag)
        if answer.unchanged:
            return
        etag, newest, pushed = answer.etag, feed.since, known.pushed
        while True:
            page = [now for item in fields.items(answer.json()) if (now := pulls.facts(item)) is not None]
            newest = max([newest, *(now.updated for now in page)])
            pushed = max([pushed, *(now.pushed for now in page)])
            for now in page:
                self._see(now)
            if not feed.since or answer.next_page is None or not page or page[-1].updated < feed.since:
                break
            answer = await self._source.get(answer.next_page)
        known.push_seen |= pushed != known.pushed
        feed.since, feed.etag, known.pushed = newest, etag, pushed

    def _see(self, now: Facts) -> None:
        """Compare a pull request with how it was seen last."""
        seen = self._known.pull_requests.get(now.number)
        if seen is None or seen.updated == now.updated:
            return
        self._take(pulls.happened(seen, now))
        self._known.reviews_due.append(now.number)
        self._keep(now, seen)

    def _keep(self, now: Facts, seen: Seen) -> None:
        """Remember how a pull request was seen; what changed its commits has to be looked at anew."""
        if seen.head != now.head or seen.base != now.base or (seen.state != "open" and now.state == "open"):
            self._known.merges_due[now.number] = 0
        if seen.head != now.head:
            seen.checks = checking.begin(self._ctx.now)
            self._known.checks_due.append(now.number)
        seen.head, seen.base, seen.state, seen.updated = now.head, now.base, now.state, now.updated
        seen.fork, seen.author = now.fork, now.author

    async def _first_sight(self, number: int) -> None:
        """Read all that was said on a pull request before it was looked after."""
        repository, known = self._source.repository, self._known
        try:
            answer = await self._source.get(repository.pull(number))
        except HttpError as error:
            if error.trouble != "gone":
                raise
            self._end_of(number)
            return
        item = answer.json()
        now = pulls.facts(item)
        if now is None:
            raise HttpError(f"#{number}: the answer is no pull request", trouble="unknown")
        comments = await self._source.all(urls.listed(f"{repository.issue(number)}/comments"))
        inline = await self._source.all(urls.listed(f"{repository.pull(number)}/comments"))
        seen = Seen(head=now.head, base=now.base, state=now.state, updated=now.updated, conflict=False)
        seen.fork, seen.author, seen.alone = now.fork, now.author, answer.etag
        reviews = await self._reviews(number, seen)
        said = [*map(posts.comment, comments), *map(posts.inline, inline), *reviews]
        known.pull_requests[number] = seen
        self._take(pulls.happened(None, now))
        self._hear(filter(None, said), anew=True)
        self._merging.judge(item, now, seen)
        if now.state == "open":
            known.checks_due.append(number)

    def _end_of(self, number: int) -> None:
        """Take note that a pull request is gone: GitHub says so, while it shows the repository."""
        seen = self._known.pull_requests.setdefault(number, Seen())
        if seen.state != "closed":
            self._take([pulls.gone(number, iso(self._ctx.now))])
        seen.state = "closed"

    # ---- what is said

    async def _read_reviews(self, number: int) -> None:
        seen = self._known.pull_requests[number]
        try:
            found = await self._reviews(number, seen)
        except HttpError as error:
            if error.trouble != "gone":
                raise
            self._end_of(number)
            found = []
        self._known.reviews_due = [due for due in self._known.reviews_due if due != number]
        self._hear(filter(None, found))

    async def _reviews(self, number: int, seen: Seen) -> list[Post | None]:
        """Return the reviews of a pull request; none where nothing changed since they were read last."""
        answer = await self._source.get(urls.listed(f"{self._source.repository.pull(number)}/reviews"), seen.reviews)
        if answer.unchanged:
            return []
        found = await self._source.rest(answer)
        seen.reviews = answer.etag if answer.next_page is None else None  # the tag is that of one page
        return [posts.review(item, number) for item in found]

    def _hear(self, said: Iterable[Post], *, anew: bool = False) -> None:
        """Take what is news; `anew`: for a plan that has heard nothing before, whatever an earlier one has."""
        for post in sorted(said, key=lambda post: post.updated):
            if post.where.pr not in self._tracked:
                continue
            event = posts.news(post, None if anew else self._known.posts.get(post.key))
            older = self._known.posts.get(post.key)
            if event is not None:
                self._take([event])
            name = event.id if event is not None else older[0] if older else posts.event_id(post)
            self._known.remember(post.key, name, posts.digest(post))

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            self._events.setdefault(event.id, event)

    def _with_checks(self, event: Event) -> Event:
        seen = self._known.pull_requests.get(event.pr or 0)
        report: Mapping[str, Json] | None = checks.report(seen) if seen is not None else None
        return event if report is None else replace(event, context={**event.context, "checks": report})
