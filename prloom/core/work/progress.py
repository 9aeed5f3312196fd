"""Say what is happening with an event that is not done yet, and what a TODO waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prloom.model.record import Timestamp
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.work_report import RunningWork, RunWait

ProgressKind = Literal[
    "agent",
    "run_wait",
    "hook",
    "agent_busy",
    "agent_queue",
    "next",
    "paused",
    "plan_error",
    "not_taken_in",
    "no_dispatcher",
]


@dataclass(frozen=True)
class Progress:
    """What is happening with a pending event.

    - `agent`: `by` is at work on it, in the run `run`.
    - `run_wait`: the run `run` of `by` is for it, and nobody has begun that yet because of `reason`; a machine looks
      at it again at `until`, where that is known.
    - `hook`: `by` is the plugin whose `hook` is running on it.
    - `agent_busy`: `by` is at work on other events of the plan, in the run `run`; it is in the next one.
    - `agent_queue`: as many agents run as may, and the plan waits for one of them to end; `reason` is the setting that
      says how many, where it is that of one agent program.
    - `next`: the dispatcher looks at it next.
    - `paused`, `plan_error` (`reason` says what): its plan is not worked on.
    - `not_taken_in`: the dispatcher has not read it yet.
    - `no_dispatcher`: no dispatcher is running, and the plan is not paused.
    """

    kind: ProgressKind
    by: str | None = None
    run: str | None = None
    hook: str | None = None
    since: Timestamp | None = None
    reason: str | None = None
    until: Timestamp | None = None


def of_pending(
    event_id: str, plan_id: str, state: DispatchState, *, work: RunningWork | None, plan_error: str | None
) -> Progress:
    """Return what is happening with a pending event; `work` is what a running dispatcher says of itself.

    An error of its plan comes first: until that is corrected, neither a start nor an agent that was chosen helps.
    """
    event = state.open.get(event_id)
    if plan_error is not None:
        return Progress("plan_error", reason=plan_error)
    if work is None:
        return Progress("paused" if state.paused else "no_dispatcher")
    if event is not None and event.run is not None:
        wait = work.run_waits.get(event.run)
        if wait is not None:
            return Progress(
                "run_wait", by=event.by, run=event.run, since=wait.since, reason=wait.reason, until=wait.until
            )
        return Progress("agent", by=event.by, run=event.run)
    for hook in work.hooks:
        if hook.plan == plan_id and event_id in hook.events:
            return Progress("hook", by=hook.plugin, hook=hook.hook, since=hook.since)
    if event is None:
        return Progress("not_taken_in")
    if state.paused:
        return Progress("paused")
    return _waiting(plan_id, state, work)


def _waiting(plan_id: str, state: DispatchState, work: RunningWork) -> Progress:
    other: OpenEvent | None = next((each for each in state.open.values() if each.run is not None), None)
    if other is not None:
        return Progress("agent_busy", by=other.by, run=other.run)
    limit = work.limits.get(plan_id)
    if limit is not None or plan_id in work.waiting:
        return Progress("agent_queue", reason=limit)
    return Progress("next")


def wait_of_todo(plan_id: str, todo_id: str, work: RunningWork) -> RunWait | None:
    """Return what the next step of the TODO waits for that a plan works on, if it waits."""
    limit = work.todo_limits.get(plan_id)
    if limit is not None:
        return RunWait(reason=f"as many runs are active as {limit.setting} allows", since=limit.since)
    of_todo = (wait for wait in work.run_waits.values() if (wait.plan, wait.todo) == (plan_id, todo_id))
    return next(of_todo, None)
