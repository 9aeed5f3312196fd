"""A day with three hundred pull requests, at a GitHub that enforces every limit that it documents.

Its first hours are enough for each run of the tests; `PRLOOM_WHOLE_DAY=1` lets it be the whole day (two minutes).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from fake_github import BAD_GATEWAY, RESET, TIMEOUT

from prloom.api import Action, Comment, Delivered, Event, HttpError, Refused, marked
from prloom.core import intake
from prloom.core.marker import action_id
from prloom.model.state import Receipt

PULLS = 300
MINUTE = timedelta(minutes=1)
HOURS = 24 if os.environ.get("PRLOOM_WHOLE_DAY") else 2


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

    desk: Any
    luck: random.Random
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
        for _ in range(PULLS):
            self.pulls.append(self.desk.hub.pull())
        self.desk.track(*self.pulls)

    def happen(self) -> None:
        """Let people and machines do something in this minute: much by day, little by night."""
        hub, luck = self.desk.hub, self.luck
        busy = 8 <= self.desk.clock.now.hour < 18
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
            self.said[text] = self.desk.clock.now.minute
        if luck.random() < 0.02:
            broken = luck.choice((BAD_GATEWAY, TIMEOUT, RESET))
            luck.choice((hub.before_next, hub.after_next))(broken, times=luck.randrange(1, 6))
        if luck.random() < 0.003:
            hub.slow_down("ada", timedelta(minutes=luck.randrange(1, 8)))

    async def listen(self) -> None:
        """Poll, as the dispatcher does, and answer what is new."""
        try:
            events = await self.desk.poll(seconds=0.001)
        except HttpError:
            self.failed_polls += 1
            return
        ledger = intake.Ledger(
            self.receipts, frozenset(each.remote_id or "" for each in self.receipts.values()), self.issued.__contains__
        )
        for event in intake.news(events, self.known.__contains__, ledger):
            self.known[event.id] = event
            if event.author is not None and event.reply_to is not None:
                action = action_id(event.id, "triage", 0)
                self.issued.add(action)
                self.outbox.append(Waiting(event, action, self.desk.clock.now))

    async def answer(self) -> None:
        """Try each reply whose time has come, as the dispatcher does."""
        for waiting in [each for each in self.outbox if each.due <= self.desk.clock.now]:
            result = await self._try(waiting)
            if isinstance(result, Delivered):
                self.outbox.remove(waiting)
                self.receipts[waiting.action] = Receipt(waiting.action, "", result.url, result.remote_id)
            else:
                self.refused += [] if result.retryable else [result.error]
                waiting.uncertain = result.unknown
                waiting.due = self.desk.clock.now + max(result.retry_after or MINUTE, MINUTE / 2)

    async def _try(self, waiting: Waiting) -> Delivered | Refused:
        target = waiting.event.reply_to
        assert target is not None
        action = Action(id=waiting.action, target=target, payload=Comment(f"re: {waiting.event.id}"))
        context = self.desk.context(pr=waiting.event.pr, uncertain=waiting.uncertain)
        result: Delivered | Refused = await self.desk.bridge.actions(context, action)
        return result


@pytest.mark.timeout(600)
async def test_in_a_day_with_300_pull_requests_every_comment_is_seen_every_reply_appears_once_and_no_limit_is_hit(
    new_desk: Callable[..., Any],
) -> None:
    desk = new_desk()
    desk.hub.person("ann", "write")
    day = Day(desk, random.Random(11))
    day.open()
    end = desk.clock.now + timedelta(hours=HOURS)
    while desk.clock.now < end or day.outbox:
        began = desk.clock.now
        if began < end:
            day.happen()
        await day.listen()
        await day.answer()
        desk.clock.now = max(desk.clock.now, began + MINUTE)

    desk.hub.verify()
    assert desk.hub.complaints == []
    assert day.refused == []
    assert len(day.said) > 15 * HOURS
    final = {post.body for post in [*day.posts, *desk.hub.world.reviews.values()]} & day.said.keys()
    assert final - {event.body for event in day.known.values()} == set()
    there = [action for post in desk.hub.posts("ada") for action in marked(post.body)]
    assert sorted(there) == sorted(day.receipts)
    print(
        f"\n{len(desk.hub.asked)} requests, {desk.hub.charged} of them charged; {len(day.said)} texts, "
        f"{len(there)} replies, {day.failed_polls} failed polls; the last reply was {desk.clock.now - end} late"
    )
