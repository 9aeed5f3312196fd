"""Decide which TODOs of a plan have ended, and which conversations are resolved by that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from prloom.core import marker
from prloom.core.plan_file import TodoItem
from prloom.model.action import Action, ResolveThread
from prloom.model.decision import Thread, Todo
from prloom.model.issued import IssuedTodo

OWNER = "prloom"

Waiting = Mapping[str, tuple[Thread, ...]]
"""The TODOs that have not ended, with the conversations that wait for it."""


def ended(waiting: Waiting, items: Sequence[TodoItem]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of the waiting TODOs are checked in the plan, and which were taken out of it."""
    written = {item.id: item.done for item in items if item.id}
    done = tuple(todo_id for todo_id in waiting if written.get(todo_id))
    return done, tuple(todo_id for todo_id in waiting if todo_id not in written)


def unknown(waiting: Waiting, items: Sequence[TodoItem], remembered: Mapping[str, IssuedTodo]) -> tuple[Todo, ...]:
    """Return the open TODOs of the plan that are not waited for: those of an older prloom, and those opened again."""
    found = []
    for item in items:
        if item.id is None or item.done or item.id in waiting:
            continue
        if item.id in remembered:
            found.append(remembered[item.id].todo)
        else:
            found.append(Todo(id=item.id, title=item.title, context=item.context, event_ids=item.event_ids))
    return tuple(found)


def resolved(waiting: Waiting, done: Collection[str], dropped: Collection[str] = ()) -> tuple[Action, ...]:
    """Return the actions that resolve the conversations of the TODOs that are done.

    A conversation whose event asked for several TODOs is resolved with the last of them.
    """
    over = {*done, *dropped}
    still = {thread.event_id for todo_id, threads in waiting.items() if todo_id not in over for thread in threads}
    threads = {thread.event_id: thread for todo_id in done for thread in waiting[todo_id]}
    return tuple(
        Action(
            id=marker.action_id(thread.event_id, f"{OWNER}/resolve", 0),
            target=thread.target,
            payload=ResolveThread(),
            related_event_id=thread.event_id,
        )
        for thread in threads.values()
        if thread.event_id not in still
    )


def rebase(waiting: str | None, dropped: Collection[str], added: Sequence[Todo]) -> bool | None:
    """Return whether a rebase is asked for from now on, where that changes: `waiting` is the TODO for it until now."""
    if any(todo.rebase for todo in added):
        return True
    if waiting in dropped:
        return False
    return None
