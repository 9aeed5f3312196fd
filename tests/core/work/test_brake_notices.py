"""A brake that stops the work is told with what people can do about it there, and nothing else is."""

from __future__ import annotations

from datetime import UTC

import pytest

from prloom.core.delivery import outbox
from prloom.core.text.reader_words import WAY_ON
from prloom.core.work import brake_notices
from prloom.model.action import Action, Comment
from prloom.model.decision import DecisionParts
from prloom.model.event import Target
from prloom.model.record import START, Timestamp
from prloom.model.work import Block, Question, WorkStep, WorkVerdict

BRAKE = "the brake max_runs_per_day = 1 is on"
LIFTED = f"{BRAKE}; `prloom resume fast` lifts it"
RESUME = f"{BRAKE}\n\n{WAY_ON}"


def step(verdict: WorkVerdict, reason: str | None, question: Question | None = None) -> DecisionParts:
    return {"work": WorkStep(todo_id="t-1", verdict=verdict, reason=reason, question=question)}


def block(reason: str) -> DecisionParts:
    return {"block": Block(reason=reason, since=Timestamp(2026, 11, 23, tzinfo=UTC), way_on="prloom resume fast")}


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({**step("parked", "no progress"), **block("it is blocked")}, f"no progress\n\n{WAY_ON}"),
        (step("parked", "no progress"), "no progress"),
        (step("limited", BRAKE), RESUME),
        (step("limited", LIFTED), RESUME),
        (block(BRAKE), RESUME),
        (step("parked", "Tabs?", Question(text="Tabs?", after=START)), None),
        (step("limited", "the usage limit is reached"), None),
        (step("limited", None), None),
        (step("lifted", BRAKE), None),
        (block("not now"), None),
        ({}, None),
    ],
)
def test_a_brake_is_told_once_with_what_people_can_do_there_and_nothing_else_is(
    parts: DecisionParts, said: str | None
) -> None:
    target, ident = Target("github", {"pr": 7}), outbox.action_id("fast/7", "prloom/brake", 0)
    expected = said and Action(id=ident, target=target, payload=Comment(f"prloom stopped: {said}"))

    assert brake_notices.notice(parts, "fast", seq=7, target=target) == expected
