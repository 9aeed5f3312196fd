"""Decide which deferred events stop waiting because something happened: an event came, or a TODO ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from prloom.core.plans.plan_file import TodoItem
from prloom.core.text.naming import printable
from prloom.model.decision import Change, WakeOn
from prloom.model.event import Event
from prloom.model.kinds import LET_IN
from prloom.model.state import OpenEvent

_ARRIVED = frozenset({"pending", "handled"})
_ENDED = frozenset({"done", "dropped"})


class Arrival(Struct, frozen=True):
    """An event that came in, or was approved: what the conditions of others may name."""

    event_id: str
    type: str
    thread: str | None = None


TextOf = Callable[[str, OpenEvent | None], Event | None]
"""Returns an event, open already or just coming in, by its id; None where its text is not there any more."""


def arrivals(changes: Iterable[Change], opened: Mapping[str, OpenEvent], text_of: TextOf) -> tuple[Arrival, ...]:
    """Return the events that plugins may see from these changes on; a held event comes with its approval."""
    found = []
    for change in changes:
        before = opened.get(change.event_id)
        if change.intake is not None and change.state in _ARRIVED:
            found.append(Arrival(change.event_id, change.intake.type, _thread(text_of(change.event_id, before))))
        elif before is not None and before.state == "held" and change.verdict in LET_IN:
            found.append(Arrival(change.event_id, before.type, _thread(text_of(change.event_id, before))))
    return tuple(found)


def _thread(event: Event | None) -> str | None:
    """Return the id of the conversation that an event stands in, if it names one."""
    if event is None:
        return None
    thread = event.context.get("thread")
    if isinstance(thread, str):
        return thread
    return None


def by_arrivals(opened: Mapping[str, OpenEvent], arrived: Sequence[Arrival]) -> tuple[Change, ...]:
    """Return the end of the waits that the arrivals meet."""
    waiting = _waiting(opened)
    if not waiting or not arrived:
        return ()
    found = []
    for event, wake_on in waiting:
        met = _met(wake_on, event.id, arrived)
        if met is not None:
            found.append(_woken(event.id, met.event_id, f"{met.type} {printable(met.event_id)} arrived"))
    return tuple(found)


def missed(deferred: Iterable[Change], arrived: Sequence[Arrival]) -> tuple[Change, ...]:
    """Return the end of waits that begin just now, by what arrived while the hook that asked for them still ran."""
    found = []
    for change in deferred:
        wait = change.deferral
        met = None
        if wait is not None and wait.wake_on is not None:
            met = _met(wait.wake_on, change.event_id, arrived)
        if met is not None:
            found.append(_woken(change.event_id, met.event_id, f"{met.type} {printable(met.event_id)} arrived"))
    return tuple(found)


def by_todos(opened: Mapping[str, OpenEvent], todos: Iterable[TodoItem]) -> tuple[Change, ...]:
    """Return the end of the waits for TODOs that are done, dropped, or not in the plan any more."""
    waiting = [(event, wake_on.todo) for event, wake_on in _waiting(opened) if wake_on.todo is not None]
    if not waiting:
        return ()
    still = open_todos(todos)
    return tuple(_woken(event.id, todo, f"the TODO {todo} has ended") for event, todo in waiting if todo not in still)


def by_plugin(opened: Mapping[str, OpenEvent], event_ids: Iterable[str], plugin: str) -> tuple[Change, ...]:
    """Return the end of a plugin's own waits; those that are over, or are another's, stay as they are."""
    found = []
    for event_id in dict.fromkeys(event_ids):
        event = opened.get(event_id)
        if event is None or event.state != "deferred" or event.deferral is None or event.deferral.owner != plugin:
            continue
        found.append(_woken(event_id, plugin, f"{plugin} ended its wait"))
    return tuple(found)


def open_todos(todos: Iterable[TodoItem]) -> Collection[str]:
    """Return the ids of the TODOs whose end can be waited for."""
    return {todo.id for todo in todos if todo.id is not None and todo.state not in _ENDED}


def described(wake_on: WakeOn) -> str:
    """Return in words what ends a wait."""
    words = []
    if wake_on.types:
        words.append(f"an event {' or '.join(map(printable, wake_on.types))}")
    if wake_on.threads:
        words.append(f"an event in thread {' or '.join(map(printable, wake_on.threads))}")
    if wake_on.todo is not None:
        words.append(f"the end of the TODO {printable(wake_on.todo)}")
    return ", or ".join(words)


def _waiting(opened: Mapping[str, OpenEvent]) -> list[tuple[OpenEvent, WakeOn]]:
    return [
        (event, event.deferral.wake_on)
        for event in opened.values()
        if event.state == "deferred" and event.deferral is not None and event.deferral.wake_on is not None
    ]


def _met(wake_on: WakeOn, event_id: str, arrived: Sequence[Arrival]) -> Arrival | None:
    """Return the first arrival that meets the condition; an event does not wait for itself."""
    for each in arrived:
        if each.event_id == event_id:
            continue
        if each.thread in wake_on.threads or any(fnmatchcase(each.type, pattern) for pattern in wake_on.types):
            return each
    return None


def _woken(event_id: str, by: str, reason: str) -> Change:
    return Change(event_id=event_id, verdict="woken", state="pending", reason=reason, woken_by=by)
