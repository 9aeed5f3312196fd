from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from plan_states import a_queued_action
from values import an_event

from prloom.core.events import acknowledgements
from prloom.core.events.acknowledgements import IN_A_MINUTE, IN_AN_HOUR, MOST_WAITING
from prloom.model import record
from prloom.model.action import Action, React
from prloom.model.event import Author, Target
from prloom.model.state import QueuedAction

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SIGNS = [Action(id=f"a-{number}", target=Target("forge"), payload=React("eyes")) for number in range(5)]


def queued(count: int, *, courtesy: bool = True) -> list[QueuedAction]:
    return [a_queued_action(f"q-{number}", courtesy=courtesy) for number in range(count)]


@pytest.mark.parametrize(
    ("known", "coming", "is_acknowledged"),
    [((), (), True), (("c1",), ("c1",), True), (("c1",), (), False)],
    ids=["the older text never came", "it comes just now", "it came before"],
)
def test_an_edit_is_acknowledged_where_the_older_text_was_not(
    known: tuple[str, ...], coming: tuple[str, ...], *, is_acknowledged: bool
) -> None:
    edit = an_event("c2", context={"supersedes": "c1"}, author=Author("ann"), body="Faster", reply_to=Target("forge"))
    recent = acknowledgements.recent(begun=None, now=NOW)

    found = acknowledgements.for_new(
        edit, record.iso(NOW), lambda event: React("eyes"), recent, {}, coming=coming, known=known
    )

    assert (found is not None) == is_acknowledged


@pytest.mark.parametrize(
    ("queue", "wanted"),
    [
        ([], SIGNS[-MOST_WAITING:]),
        (queued(1), SIGNS[-MOST_WAITING + 1 :]),
        (queued(MOST_WAITING), []),
        (queued(MOST_WAITING + 1), []),
        (queued(99, courtesy=False), SIGNS[-MOST_WAITING:]),
    ],
    ids=["none", "one", "few", "more", "answers"],
)
def test_the_latest_are_sent_as_far_as_few_wait(queue: list[QueuedAction], wanted: list[Action]) -> None:
    assert list(acknowledgements.limit_waiting(SIGNS, queue)) == wanted


@pytest.mark.parametrize(
    ("ages", "may"),
    [
        ([], True),
        ([timedelta(seconds=59)] * (IN_A_MINUTE - 1), True),
        ([timedelta(seconds=59)] * IN_A_MINUTE, False),
        ([timedelta(minutes=1)] * IN_A_MINUTE, True),
        ([timedelta(minutes=59)] * IN_AN_HOUR, False),
        ([timedelta(minutes=60)] * IN_AN_HOUR, True),
        ([timedelta(hours=-1)] * IN_AN_HOUR, True),
    ],
    ids=["none", "fewer", "in a minute", "before that", "in an hour", "long ago", "by a clock that was turned back"],
)
def test_so_many_are_sent_in_a_minute_and_in_an_hour(ages: list[timedelta], *, may: bool) -> None:
    assert acknowledgements.may_be_sent([NOW - age for age in ages], NOW)[0] is may
