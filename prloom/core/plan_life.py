"""Decide which hooks about a plan as a whole are due, and what is left to be done for a plan that has ended."""

from __future__ import annotations

from collections.abc import Sequence

from prloom.core.plan_file import TodoItem
from prloom.core.work import Continue, RunHooks, Withdraw
from prloom.model.plan import ENDED, Plan
from prloom.model.state import DispatchState

Step = RunHooks | Withdraw | Continue


def next_step(plan: Plan, state: DispatchState, todos: Sequence[TodoItem], *, presented: bool) -> Step | None:
    """Return what is to be done for the plan as a whole before any TODO, or None where nothing is.

    `presented` says that the pull request shows all that is done, so that what follows the finish may begin.
    """
    if plan.status in ENDED:
        return _after_the_end(plan, state)
    if plan.status != "active" or state.block is not None or state.paused or state.work is not None:
        return None
    if plan.activates:
        return RunHooks("afterActivate")
    is_open = state.unfinished or any(todo.state == "open" for todo in todos)
    if "afterFinish" in state.hooks_due and presented and not is_open:
        return RunHooks("afterFinish")
    return None


def _after_the_end(plan: Plan, state: DispatchState) -> Step | None:
    if state.work is not None and state.work.phase == "pushed":
        return Continue(state.work)
    if state.work is not None:
        return Withdraw(state.work, f"the pull request is {plan.status}")
    if "afterMerge" in state.hooks_due and state.block is None:
        return RunHooks("afterMerge")
    return None
