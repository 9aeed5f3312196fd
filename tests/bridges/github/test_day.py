"""A day with hundreds of pull requests, at a GitHub that enforces every limit that it documents.

For each run of the tests its first hours are enough, and so many pull requests that the first look at them takes more
requests than GitHub allows in a minute; `PRLOOM_WHOLE_DAY=1` lets it be the whole day with three hundred (two minutes).
Every three quarters of an hour GitHub refuses everything for some minutes, which nobody could foresee.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from fake_github import BAD_GATEWAY, RESET, TIMEOUT, Rules

from prloom.api import Action, Comment, Delivered, Event, HttpError, Refused, marked
from prloom.core.delivery.outbox import action_id
from prloom.core.events import admission
from prloom.model.state import Receipt
from prloom.transport import limits

MINUTE = timedelta(minutes=1)
PULLS, HOURS = (300, 24) if os.environ.get("PRLOOM_WHOLE_DAY") else (150, 2)


@dataclass
class Waiting:
    """A reply that is to be posted: when to try next, and whether an earlier attempt may have arrived."""

    event: Event
    action: str
    due: datetime
    uncertain: bool = False


@dataclass
class Day:
    """People at work on one side, the bridge on the other, and what a dispatcher remembers between them."""

    runtime: Any
    luck: random.Random
    count: int = PULLS
    minutes: int = 0
    surprises: int = 0
    pulls: list[Any] = field(default_factory=list)
    said: dict[str, int] = field(default_factory=dict)
    posts: list[Any] = field(default_factory=list)
    known: dict[str, Event] = field(default_factory=dict)
    outbox: list[Waiting] = field(default_factory=list)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    issued: set[str] = field(default_factory=set)
    failed_polls: int = 0
    refused: list[str] = field(default_factory=list)

    def open(self) -> None:
        for _ in range(self.count):
            self.pulls.append(self.runtime.hub.pull())
        self.runtime.track(*self.pulls)

    def happen(self) -> None:
        """Let people and machines do something in this minute: much by day, little by night."""
        hub, luck = self.runtime.hub, self.luck
        busy = 8 <= self.runtime.clock.now.hour < 18
        for _ in range(luck.choice((0, 0, 1, 3)) if busy else int(luck.random() < 0.05)):
            pull, text = luck.choice(self.pulls), f"text {len(self.said)}"
            match luck.randrange(8):
                case 0 | 1 | 2:
                    self.posts.append(hub.comment(pull, "ann", text, late=timedelta(seconds=luck.choice((0, 0, 90)))))
                case 3 | 4:
                    self.posts.append(hub.inline(pull, "ann", text))
                case 5:
                    hub.review(pull, "ann", luck.choice(("APPROVED", "COMMENTED", "CHANGES_REQUESTED")), text)
                case 6 if self.posts:
                    hub.edit(luck.choice(self.posts[-20:]), text)
                case _:
                    hub.push(pull)
                    hub.check(pull, "tests", luck.choice(("success", "failure", None)), log="no")
                    continue
            self.said[text] = self.runtime.clock.now.minute
        if luck.random() < 0.02:
            broken = luck.choice((BAD_GATEWAY, TIMEOUT, RESET))
            luck.choice((hub.before_next, hub.after_next))(broken, times=luck.randrange(1, 6))
        self.minutes += 1
        if self.minutes % 45 == 30:
            self.surprises += 1
            hub.slow_down("ada", timedelta(minutes=luck.randrange(2, 8)))

    async def live(self, hours: int, *, after: timedelta = 10 * MINUTE) -> datetime:
        """Let the hours pass, and then what is still to be answered; return when they were over.

        `after` them it goes on listening: what was said last may come late, or behind a refusal.
        """
        self.open()
        clock = self.runtime.clock
        end = clock.now + timedelta(hours=hours)
        while clock.now < end + after or self.outbox:
            began = clock.now
            if began < end:
                self.happen()
            await self.listen()
            await self.answer()
            clock.now = max(clock.now, began + MINUTE)
        return end

    def wrong(self) -> list[str]:
        """Return what was not seen, not answered once, or ill-mannered."""
        hub = self.runtime.hub
        final = {post.body for post in [*self.posts, *hub.world.reviews.values()]} & self.said.keys()
        unseen = final - {event.body for event in self.known.values()}
        there = Counter(action for post in hub.posts("ada") for action in marked(post.body))
        astray = there - Counter(self.receipts.keys()), Counter(self.receipts.keys()) - there
        return [*hub.complaints, *hub.broken, *self.refused, *unseen, *(str(each) for each in astray if each)]

    async def listen(self) -> None:
        """Poll, as the dispatcher does, and answer what is new."""
        try:
            events = await self.runtime.poll(seconds=0.001)
        except HttpError:
            self.failed_polls += 1
            return
        event_store = admission.OwnPosts(
            self.receipts, frozenset(each.remote_id or "" for each in self.receipts.values()), self.issued.__contains__
        )
        for event in admission.new_events(events, self.known.__contains__, event_store):
            self.known[event.id] = event
            if event.author is not None and event.reply_to is not None:
                action = action_id(event.id, "triage", 0)
                self.issued.add(action)
                self.outbox.append(Waiting(event, action, self.runtime.clock.now))

    async def answer(self) -> None:
        """Try each reply whose time has come, as the dispatcher does."""
        for waiting in [each for each in self.outbox if each.due <= self.runtime.clock.now]:
            result = await self._try(waiting)
            if isinstance(result, Delivered):
                self.outbox.remove(waiting)
                self.receipts[waiting.action] = Receipt(waiting.action, "", result.url, result.remote_id)
            else:
                self.refused += [] if result.retryable else [result.error]
                waiting.uncertain = result.unknown
                waiting.due = self.runtime.clock.now + max(result.retry_after or MINUTE, MINUTE / 2)

    async def _try(self, waiting: Waiting) -> Delivered | Refused:
        target = waiting.event.reply_to
        assert target is not None
        action = Action(id=waiting.action, target=target, payload=Comment(f"re: {waiting.event.id}"))
        context = self.runtime.context(pr=waiting.event.pr, uncertain=waiting.uncertain)
        result: Delivered | Refused = await self.runtime.bridge.actions(context, action)
        return result


@pytest.mark.timeout(600)
async def test_in_a_day_with_very_many_pull_requests_every_comment_is_read_every_reply_appears_once_and_no_limit_is_hit(
    new_runtime: Callable[..., Any],
) -> None:
    runtime = new_runtime()
    runtime.hub.person("ann", "write")
    day = Day(runtime, random.Random(11))

    end = await day.live(HOURS)

    assert day.wrong() == []
    assert len(day.said) > 15 * HOURS
    assert len(day.receipts) > 15 * HOURS
    refusals = sum(each.outcome == 403 and not each.faulty for each in runtime.hub.asked)
    assert HOURS < refusals <= day.surprises  # each time that it could not know, and never again before it may
    print(
        f"\n{len(runtime.hub.asked)} requests, {runtime.hub.charged} of them charged; {len(day.said)} texts, "
        f"{len(day.receipts)} replies, {refusals} refusals, {day.failed_polls} failed polls; "
        f"quiet {runtime.clock.now - end} after its end"
    )


async def test_a_small_allowance_is_never_spent_to_the_end_and_every_comment_is_read_all_the_same(
    new_runtime: Callable[..., Any],
) -> None:
    runtime = new_runtime(rules=Rules(per_hour=200))
    runtime.hub.person("ann", "write")
    day = Day(runtime, random.Random(7), count=20)
    left = []
    runtime.hub.after_next(lambda: left.append(runtime.client.usage.remaining), times=10**9)

    await day.live(2, after=90 * MINUTE)  # the last of it is heard when the hour that it was said in is over

    assert day.wrong() == []
    assert day.failed_polls > 10  # it had to wait
    assert min(each for each in left if each is not None) >= 200 * limits.RESERVE - 1
