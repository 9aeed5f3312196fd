"""Give the core what it needs to know of a plan to decide about the work on it, and the TODO that it is about."""

from __future__ import annotations

from collections.abc import Sequence

from prloom.core.plans.plan_file import TodoItem
from prloom.core.work.work_steps import WorkContext
from prloom.engine.plan.runtime import PlanRuntime
from prloom.model.state import DispatchState
from prloom.model.work import TodoWork


def context(runtime: PlanRuntime) -> WorkContext:
    """Return a plan's id and rules, and the time."""
    return WorkContext(runtime.id, runtime.rules.work, runtime.clock())


def current(state: DispatchState, work: TodoWork) -> TodoWork:
    """Return the work as it is now: hooks may have been recorded since a step began with it."""
    return state.work or work


def item_of(todos: Sequence[TodoItem], work: TodoWork) -> TodoItem:
    """Return the TODO as the plan has it now; after its commit it may have been taken out."""
    found = (todo for todo in todos if todo.id == work.id)
    return next(found, None) or TodoItem(work.id, work.title)
