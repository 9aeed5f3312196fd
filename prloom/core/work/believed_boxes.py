"""Decide which boxes of a plan count: those that a worker may have set, and that nobody is known to have set, do not.

A worker can write in `plan.md`, where people set boxes, too. So while one runs, a box that ends another TODO, or lifts
its block, proves nothing. It counts where a person has set it with a command of prloom, or a hook has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from prloom.core.plans.plan_file import TodoItem
from prloom.core.plans.plan_reader import TodoState
from prloom.core.text.shown_text import to_run
from prloom.model.decision import DecisionParts
from prloom.model.state import DispatchState
from prloom.model.work import BoxState, WorkStep


def believed(state: DispatchState, todos: Sequence[TodoItem], known: Mapping[str, TodoState]) -> tuple[TodoItem, ...]:
    """Return the TODOs of a plan, each with the box that counts; `known` are boxes that people and hooks have set."""
    if not is_doubtful(state):
        return tuple(todos)
    return tuple(_believed(state, todo, known) for todo in todos)


def not_ended_by_box(state: DispatchState, todos: Sequence[TodoItem]) -> tuple[TodoItem, ...]:
    """Return the TODOs as they are for those who wait for their end: one that is worked on ends with its work alone."""
    if state.work is None:
        return tuple(todos)
    at_work = state.work.id
    return tuple(replace(each, state="open") if each.id == at_work and each.done else each for each in todos)


def is_doubtful(state: DispatchState) -> bool:
    """Whether a worker may be setting boxes just now."""
    return state.suspect_from is not None and state.suspect_to is None


def put_back(plan_id: str, written: Sequence[TodoItem], counting: Sequence[TodoItem]) -> tuple[DecisionParts, ...]:
    """Return the decisions by which `plan.md` gets the boxes that count, where those that are `written` do not."""
    return tuple(
        {"work": _corrected(plan_id, found, true)}
        for found, true in zip(written, counting, strict=True)
        if found.state != true.state
    )


def blocked(todos: Sequence[TodoItem]) -> tuple[str, ...]:
    """Return the TODOs that are blocked before a worker runs."""
    return tuple(todo.id for todo in todos if todo.id is not None and todo.state == "blocked")


def _believed(state: DispatchState, todo: TodoItem, known: Mapping[str, TodoState]) -> TodoItem:
    """Return a TODO as it was before the worker ran, where its box says otherwise and nobody is known to have set it.

    The TODO that is worked on gets the state that its work comes to.
    """
    if todo.id is None or todo.id not in state.todos or todo.id in state.done_todos:
        return todo
    if state.work is not None and state.work.id == todo.id:
        return todo
    before = _before(state, todo.id)
    is_end = todo.over or (todo.state == "open" and before == "blocked")
    if not is_end or known.get(todo.id) == todo.state:
        return todo
    return replace(todo, state=before)


def _before(state: DispatchState, todo_id: str) -> BoxState:
    if todo_id in state.suspect_blocked:
        return "blocked"
    return "open"


def _corrected(plan_id: str, written: TodoItem, true: TodoItem) -> WorkStep:
    assert written.id is not None  # noqa: S101 - one without an id is believed
    if true.state == "blocked":
        reopen = to_run("todo", plan_id, "open", written.id)
        reason = f"it was unblocked in plan.md while a worker ran; {reopen} does so"
        return WorkStep(todo_id=written.id, verdict="corrected", reason=reason, box="blocked")
    verb = {"done": "done", "dropped": "drop"}[written.state]
    reason = (
        f"its box was set to {written.state} in plan.md while a worker ran, which may have done it; "
        f"{to_run('todo', plan_id, verb, written.id)} does so"
    )
    return WorkStep(todo_id=written.id, verdict="corrected", reason=reason, box="open")
