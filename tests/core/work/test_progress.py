"""What is happening with an event that is not done yet."""

from __future__ import annotations

from datetime import UTC

import pytest

from prloom.core.work import progress
from prloom.core.work.progress import Progress, RunningHook, RunningWork
from prloom.model.record import Position, Timestamp
from prloom.model.state import DispatchState, OpenEvent

SINCE = Timestamp(2026, 1, 1, 12, tzinfo=UTC)
HOOK = RunningHook(plan="pr-7", plugin="quiet", hook="beforeTriage", events=("a", "b"), since=SINCE)
IDLE = RunningWork()


def an_event(event_id: str = "a", run: str | None = None) -> OpenEvent:
    by = "claude" if run else None
    place = Position(1, 0)
    return OpenEvent(
        id=event_id, state="pending", position=place, type="x", source="x", digest="x", since=SINCE, run=run, by=by
    )


def a_state(*events: OpenEvent, paused: bool = False) -> DispatchState:
    return DispatchState(open={event.id: event for event in events}, paused=paused)


@pytest.mark.parametrize(
    ("state", "work", "error", "expected"),
    [
        (a_state(an_event()), None, None, Progress("no_dispatcher")),
        (a_state(an_event(), paused=True), None, None, Progress("paused")),
        (a_state(an_event(run="r-1")), IDLE, None, Progress("agent", by="claude", run="r-1")),
        (
            a_state(an_event()),
            RunningWork(hooks=(HOOK,)),
            None,
            Progress("hook", by="quiet", hook="beforeTriage", since=SINCE),
        ),
        (a_state(an_event()), IDLE, "the disk is full", Progress("plan_error", reason="the disk is full")),
        (a_state(an_event(run="r-1")), IDLE, "no exchange", Progress("plan_error", reason="no exchange")),
        (a_state(an_event(), paused=True), None, "no exchange", Progress("plan_error", reason="no exchange")),
        (a_state(an_event()), None, "no exchange", Progress("plan_error", reason="no exchange")),
        (a_state(), IDLE, None, Progress("not_taken_in")),
        (a_state(an_event(), paused=True), IDLE, None, Progress("paused")),
        (a_state(an_event(), an_event("z", "r-1")), IDLE, None, Progress("agent_busy", by="claude", run="r-1")),
        (a_state(an_event()), RunningWork(waiting=("pr-7",)), None, Progress("agent_queue")),
        (
            a_state(an_event()),
            RunningWork(limits={"pr-7": "agents.amp.max_parallel"}),
            None,
            Progress("agent_queue", reason="agents.amp.max_parallel"),
        ),
        (a_state(an_event()), RunningWork(waiting=("pr-8",)), None, Progress("next")),
    ],
)
def test_a_pending_event_has_one_activity(
    state: DispatchState, work: RunningWork | None, error: str | None, expected: Progress
) -> None:
    assert progress.of_pending("a", "pr-7", state, work=work, plan_error=error) == expected


def test_a_hook_of_another_plan_on_an_event_of_the_same_id_is_not_meant() -> None:
    work = RunningWork(hooks=(HOOK,))

    assert progress.of_pending("a", "pr-8", a_state(an_event()), work=work, plan_error=None) == Progress("next")
