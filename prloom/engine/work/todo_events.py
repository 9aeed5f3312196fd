"""Find the events behind a TODO, for the worker's prompt and for the replies."""

from __future__ import annotations

from collections.abc import Container, Iterable

from prloom.engine.bus import entries
from prloom.engine.bus.issued import IssuedPosts
from prloom.engine.plan.runtime import PlanRuntime
from prloom.model.event import Event


def ids(issued: IssuedPosts, todo_id: str) -> tuple[str, ...]:
    """Return the events that requested a TODO, as they were recorded when it was added to the plan.

    What `plan.md` says of them is not used: a worker can write that file, and the text of an event that nobody approved
    must not reach it.
    """
    found = issued.posts().todos.get(todo_id)
    if found is None:
        return ()
    return found.todo.event_ids


def ever_added(issued: IssuedPosts) -> Container[str]:
    """Return the ids of all TODOs that were ever added to the plan."""
    return issued.posts().todos


def approved_by(issued: IssuedPosts, todo_id: str) -> tuple[str, ...]:
    """Return who approved those of a TODO's events whose authors are not trusted."""
    found = issued.posts().todos.get(todo_id)
    if found is None:
        return ()
    return found.todo.approved_by


def of(runtime: PlanRuntime, event_ids: Iterable[str]) -> tuple[Event, ...]:
    """Return the texts of events that have been triaged; one that cannot be found any more is left out."""
    found = []
    for event_id in event_ids:
        position = runtime.seen_ids.position(event_id)
        if position is None:
            continue
        event = entries.event(runtime.event_store.events.read_at(position))
        if event is not None and event.id == event_id:
            found.append(event)
    return tuple(found)
