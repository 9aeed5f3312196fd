from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, timedelta
from typing import Any, get_args

import pytest

from prloom.core.waits import standstill
from prloom.core.waits.standstill import OpenTodos, Standstill
from prloom.model.decision import Change, Decision, Deferral, DeliveryChange
from prloom.model.kinds import Verdict
from prloom.model.record import Position, Timestamp
from prloom.model.state import DispatchState, OpenEvent, QueuedAction
from prloom.model.work import TodoWork, WorkStep, WorkVerdict

NOW = Timestamp(2026, 11, 21, 12, tzinfo=UTC)


def ago(**span: float) -> Timestamp:
    return Timestamp.of(NOW - timedelta(**span))


def decided(**parts: Any) -> bool:
    return standstill.is_progress(Decision(seq=1, stage="triage", by="prloom", **parts))


def change(verdict: Verdict) -> Change:
    return Change(event_id="e", verdict=verdict, state="pending")


def test_a_verdict_moves_an_event_unless_it_takes_it_in_tries_it_or_puts_it_off() -> None:
    tried = {"due", "woken", "started", "failed", "limited", "quota", "cut_short", "deferred"}
    taken_in = {"admitted", "vouched", "held", "seen", "passed"}

    moved = {each for each in _verdicts() if decided(changes=(change(each),))}

    assert moved == _verdicts() - tried - taken_in


def _verdicts() -> set[Verdict]:
    return {verdict for group in get_args(Verdict) for verdict in (get_args(group) or (group,))}


def test_a_step_moves_a_todo_unless_it_begins_or_ends_another_try() -> None:
    tried = {"ready", "started", "failed", "violated", "rejected", "limited", "delayed", "cut_short", "not_pushed"}

    moved = {each for each in get_args(WorkVerdict) if decided(work=WorkStep(todo_id="t", verdict=each))}

    assert moved == set(get_args(WorkVerdict)) - tried - {"corrected"}


@pytest.mark.parametrize(("attempt", "moves"), [(1, True), (2, False)])
def test_only_the_first_change_that_is_made_for_a_todo_is_movement(attempt: int, *, moves: bool) -> None:
    work = TodoWork(id="t", title="one", attempt=attempt)

    assert decided(work=WorkStep(todo_id="t", verdict="changed", work=work)) == moves


@pytest.mark.parametrize(("state", "moves"), [("delivered", True), ("failed", True), ("retrying", False)])
def test_a_delivery_that_is_tried_again_is_no_movement(state: Any, *, moves: bool) -> None:
    assert decided(deliveries=(DeliveryChange(action_id="a", state=state, attempts=1),)) == moves


@pytest.mark.parametrize("parts", [{"paused": False}, {"unblocked": True}, {"plan_status": "active"}])
def test_what_a_person_decides_is_movement(parts: Mapping[str, Any]) -> None:
    assert decided(**parts)
    assert not decided(note="a note")


def event(**fields: Any) -> OpenEvent:
    given = {"state": "pending", "position": Position(1, 0), "type": "pr_comment", "source": "github", "digest": ""}
    return OpenEvent(**{"id": "e", **given, "since": ago(hours=1), **fields})


def put_off(attempts: int, until: Timestamp) -> OpenEvent:
    wait = Deferral("quiet", "wait", attempts, ago(hours=9), until, Timestamp.of(NOW + timedelta(days=7)))
    return event(state="deferred", deferral=wait, first_deferred_at=ago(hours=9))


@pytest.mark.parametrize(
    ("opened", "found"),
    [
        (event(), Standstill(since=ago(hours=1), events=1)),
        (event(failures=1, first_deferred_at=ago(hours=5)), Standstill(since=ago(hours=5), events=1, retried=True)),
        (event(state="held"), None),
        (event(state="parked"), None),
        (put_off(1, ago(hours=-1)), None),
        (put_off(1, ago(minutes=3)), Standstill(since=ago(minutes=3), events=1)),
        (put_off(2, ago(hours=-1)), Standstill(since=ago(hours=9), events=1, retried=True)),
        (event(deferral=put_off(1, ago(hours=-1)).deferral), Standstill(since=ago(hours=1), events=1)),
    ],
)
def test_an_event_stands_still_from_the_time_at_which_its_named_wait_was_over(
    opened: OpenEvent, found: Standstill | None
) -> None:
    assert standstill.of(DispatchState(open={"e": opened}), NOW) == found


def test_events_that_are_yet_to_be_taken_in_stand_still_since_they_came() -> None:
    found = standstill.of(DispatchState(open={"e": event()}), NOW, untaken=(ago(hours=2), ago(hours=3)))

    assert found == Standstill(since=ago(hours=3), events=3)


@pytest.mark.parametrize(
    ("work", "found"),
    [
        (None, Standstill(since=ago(hours=2), todos=3)),
        ({}, Standstill(since=ago(hours=2), todos=3)),
        ({"failures": 1}, Standstill(since=ago(hours=2), todos=3, retried=True)),
        ({"waits_for": "codex", "retry_at": ago(hours=-1)}, Standstill(since=ago(hours=2), todos=3, retried=True)),
        ({"limited": True, "waits_for": "codex", "retry_at": ago(hours=-1)}, None),
        ({"limited": True, "retry_at": NOW}, Standstill(since=ago(hours=2), todos=3)),
        ({"limited": True}, Standstill(since=ago(hours=2), todos=3)),
    ],
)
def test_todos_stand_still_but_while_a_limit_has_a_named_end(work: Any, found: Standstill | None) -> None:
    state = DispatchState(work=None if work is None else TodoWork(id="t", title="one", **work))

    assert standstill.of(state, NOW, todos=OpenTodos(3, ago(hours=2))) == found


def test_todos_of_which_it_is_not_known_when_they_were_listed_stand_still_since_the_last_movement_or_now() -> None:
    moved = DispatchState(progressed_at=ago(hours=4))

    assert standstill.of(moved, NOW, todos=OpenTodos(1)) == Standstill(since=ago(hours=4), todos=1)
    assert standstill.of(DispatchState(), NOW, todos=OpenTodos(1)) == Standstill(since=NOW, todos=1)


def test_nothing_stands_still_before_the_last_movement() -> None:
    state = DispatchState(open={"e": event()}, progressed_at=ago(minutes=2))

    found = standstill.of(state, NOW, todos=OpenTodos(2, ago(days=1)))

    assert found is not None
    assert (found.since, found.todos, found.events) == (ago(minutes=2), 2, 1)


def test_an_action_that_waits_for_a_person_or_a_brake_does_not_stand_still() -> None:
    about = {"position": Position(1, 0), "target": "github", "since": ago(hours=3)}
    brake = "the brake max_replies_per_thread_per_day = 10 is on"
    queue = (
        QueuedAction(id="failed", failed=True, **about),
        QueuedAction(id="draft", draft=True, **about),
        QueuedAction(id="courtesy", courtesy=True, **about),
        QueuedAction(id="braked", error=brake, next_try=NOW, **about),
    )
    assert standstill.of(DispatchState(queue={each.id: each for each in queue}), NOW) is None

    for attempts in (0, 1):
        sent = (*queue, QueuedAction(id="a", attempts=attempts, error="HTTP 503", next_try=NOW, **about))
        found = standstill.of(DispatchState(queue={each.id: each for each in sent}), NOW)
        assert found == Standstill(since=ago(hours=3), actions=1, retried=attempts > 0)
