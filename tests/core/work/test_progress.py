"""What is happening with an event that is not done yet."""

from __future__ import annotations

from datetime import UTC

import pytest
from plan_states import an_open_event

from prloom.core.work import progress
from prloom.core.work.progress import Progress
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.work_report import RunLimit, RunningHook, RunningWork, RunWait

SINCE = Timestamp(2026, 1, 1, 12, tzinfo=UTC)
HOOK = RunningHook(plan="pr-7", plugin="quiet", hook="beforeTriage", events=("a", "b"), since=SINCE)
IDLE = RunningWork()
WAIT = RunWait(reason="no machine", since=SINCE, until=SINCE, plan="pr-7", todo="t-1")


def an_event(event_id: str = "a", run: str | None = None) -> OpenEvent:
    return an_open_event(event_id, run=run, by="claude" if run else None)


def a_state(*events: OpenEvent, paused: bool = False) -> DispatchState:
    return DispatchState(open={event.id: event for event in events}, paused=paused)


@pytest.mark.parametrize(
    ("state", "work", "error", "expected"),
    [
        (a_state(an_event()), None, None, Progress("no_dispatcher")),
        (a_state(an_event(), paused=True), None, None, Progress("paused")),
        (a_state(an_event(run="r-1")), IDLE, None, Progress("agent", by="claude", run="r-1")),
        (
            a_state(an_event(run="r-1")),
            RunningWork(run_waits={"r-1": WAIT}),
            None,
            Progress("run_wait", by="claude", run="r-1", since=SINCE, reason="no machine", until=SINCE),
        ),
        (
            a_state(an_event(run="r-2")),
            RunningWork(run_waits={"r-1": WAIT}),
            None,
            Progress("agent", by="claude", run="r-2"),
        ),
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


@pytest.mark.parametrize(
    ("plan", "todo", "waits"), [("pr-7", "t-1", WAIT), ("pr-7", "t-2", None), ("pr-8", "t-1", None)]
)
def test_a_todo_waits_for_what_its_own_run_waits_for(plan: str, todo: str, waits: RunWait | None) -> None:
    assert progress.wait_of_todo(plan, todo, RunningWork(run_waits={"r-1": WAIT})) == waits


def test_a_todo_whose_run_may_not_begin_yet_waits_for_that() -> None:
    limit = RunLimit(setting="agents.workers", since=SINCE)

    wait = progress.wait_of_todo("pr-7", "t-1", RunningWork(todo_limits={"pr-7": limit}))

    assert wait == RunWait(reason="as many runs are active as agents.workers allows", since=SINCE)
