"""Decide which hooks about a plan as a whole are due, and what is left to be done for a plan that has ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from prloom.core.plans import plan_status
from prloom.core.plans.plan_file import TodoItem
from prloom.core.work.work_steps import Continue, RunHooks, Withdraw
from prloom.model.hook_points import AFTER_ACTIVATE, AFTER_FINISH, AFTER_MERGE
from prloom.model.kinds import ENDED
from prloom.model.plan import Plan
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState
from prloom.model.work import Kept

PlanHookStep = RunHooks | Withdraw | Continue


def next_step(plan: Plan, state: DispatchState, todos: Sequence[TodoItem], *, presented: bool) -> PlanHookStep | None:
    """Return what is to be done for the plan as a whole before any TODO, or None where nothing is.

    `presented` says that the pull request shows all that is done, so that what follows the finish may begin.
    """
    if plan.status in ENDED:
        return _after_the_end(plan, state)
    if plan.status != "active" or state.block is not None or state.paused or state.work is not None:
        return None
    if plan.activates:
        return RunHooks(AFTER_ACTIVATE)
    is_open = state.unfinished or any(todo.state == "open" for todo in todos)
    if AFTER_FINISH in state.hooks_due and presented and not is_open:
        return RunHooks(AFTER_FINISH)
    return None


def _after_the_end(plan: Plan, state: DispatchState) -> PlanHookStep | None:
    if state.work is not None and state.work.phase == "pushed":
        return Continue(state.work)
    if state.work is not None:
        return Withdraw(state.work, f"the pull request is {plan.status}")
    if AFTER_MERGE in state.hooks_due and state.block is None:
        return RunHooks(AFTER_MERGE)
    return None


def may_be_merged(plan: Plan, state: DispatchState, todos: Sequence[TodoItem]) -> bool:
    """Whether git is to be asked if a plan was merged, as no forge tells: its TODOs are done, and it has commits."""
    if plan.pr is not None or not plan.id or not state.commits or state.work is not None or state.unfinished:
        return False
    return plan_status.derive(plan, state, todos) == "review"


def kept(plan: Plan, state: DispatchState, todos: Sequence[TodoItem], keep: timedelta) -> Kept | None:
    """Return until when the worktree of a plan that has ended is kept, or what keeps it; None while neither is known.

    What a rule has adopted is given up at once, without `keep`.
    """
    if plan.status not in ENDED or state.ended_at is None or state.hooks_due or state.work is not None:
        return None
    waits = tuple(_waits(state, todos))
    if waits:
        return Kept(reason=", ".join(waits))
    if plan.rule is not None:
        return Kept(until=state.ended_at)
    return Kept(until=Timestamp.of(state.ended_at + keep))


def _waits(state: DispatchState, todos: Sequence[TodoItem]) -> Iterator[str]:
    if state.block is not None:
        yield f"it is blocked ({state.block.reason})"
    counts = {
        "event": len(state.open),
        "action": sum(not each.courtesy for each in state.queue.values()),
        "TODO": sum(not todo.over for todo in todos),
    }
    for name, count in counts.items():
        if count == 1:
            yield f"1 {name} is open"
        elif count:
            yield f"{count} {name}s are open"
