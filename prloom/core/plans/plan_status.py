"""Derive the status of a plan that people see: `active` and `review` follow from its TODOs and are never stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.core.plans import lost_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prloom.core.plans.plan_file import TodoItem
    from prloom.model.plan import Plan
    from prloom.model.state import DispatchState


def derive(plan: Plan, state: DispatchState, todos: Sequence[TodoItem]) -> str:
    """Return the status: `active` while something is to be done for a TODO, then `review`; `paused` before both.

    A TODO that blocks the plan is still to be done, and so are those of a text that was lost. A draft, a merged and a
    closed plan have the status that is stored; the repository as a whole has no TODOs, and stays `active`.
    """
    if plan.status != "active":
        return plan.status
    if state.paused:
        return "paused"
    if not plan.id:
        return plan.status
    block = state.block
    blocking = None
    if block is not None:
        blocking = block.todo
    if not todos and lost_text.awaited(state):
        return "active"
    if state.work is not None or any(todo.state == "open" or _is(todo, blocking) for todo in todos):
        return "active"
    return "review"


def _is(todo: TodoItem, todo_id: str | None) -> bool:
    return todo_id is not None and todo.id == todo_id and todo.state == "blocked"
