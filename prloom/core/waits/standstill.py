"""Find what is open in a plan, waits for no person and for no named time, and since when nothing has moved there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from msgspec import Struct

from prloom.core.delivery import reply_limit
from prloom.model.decision import Decision
from prloom.model.kinds import AGENT_VERDICTS, Verdict
from prloom.model.record import Record, Timestamp
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.work import WorkStep, WorkVerdict

_EVENT_MOVED: Final[frozenset[Verdict]] = frozenset(
    {*AGENT_VERDICTS, "handled", "parked", "expired", "retried", "dropped", "superseded"}
)
"""Verdicts that bring an event on. The others are a step of another try, put it off, or only take it in."""

_TODO_STOOD: Final[frozenset[WorkVerdict]] = frozenset(
    {
        *("ready", "started", "failed", "violated", "rejected"),
        *("limited", "delayed", "cut_short", "not_pushed", "corrected"),
    }
)
"""Steps of the work on a TODO that bring it no further: the next try begins, or another one has failed."""


class Standstill(Record, frozen=True, kw_only=True):
    """How many TODOs, events and actions are open in a plan without waiting for a person or for a named time.

    `since` is when something last moved in the plan, or when the oldest of them began to wait, if that was later.
    `retried` says that one of them has failed, or was put off, more than once.
    """

    since: Timestamp
    todos: int = 0
    events: int = 0
    actions: int = 0
    retried: bool = False


class OpenItem(Struct, frozen=True):
    """Something open, since when, and whether a try at it has failed."""

    since: Timestamp
    retried: bool = False


class OpenTodos(Struct, frozen=True):
    """The TODOs of a plan that prloom can work on by itself, and when their list was last changed."""

    number: int = 0
    since: Timestamp | None = None


_NO_TODOS: Final = OpenTodos()


def is_progress(decision: Decision) -> bool:
    """Whether something in a plan has moved by a decision: another try that failed, or has begun, is no movement."""
    if decision.todos or decision.todos_done or decision.todos_dropped or decision.unblocked or decision.opened:
        return True
    if decision.plan_status is not None or decision.paused is not None:
        return True
    if any(change.verdict in _EVENT_MOVED for change in decision.changes):
        return True
    if any(delivery.state != "retrying" for delivery in decision.deliveries):
        return True
    return decision.work is not None and _brings_on(decision.work)


def _brings_on(step: WorkStep) -> bool:
    if step.verdict == "changed":  # a later attempt at a TODO makes its change once more
        return step.work is None or step.work.attempt == 1
    return step.verdict not in _TODO_STOOD


def of(
    state: DispatchState, now: datetime, *, todos: OpenTodos = _NO_TODOS, untaken: Iterable[Timestamp] = ()
) -> Standstill | None:
    """Return what is open and has no named end; None where nothing is. `untaken` are events yet to be taken in."""
    events = [*filter(None, (_event(each, now) for each in state.open.values())), *map(OpenItem, untaken)]
    actions = list(_actions(state))
    found = [*events, *actions]
    listed = 0
    work = state.work
    if todos.number and not (work is not None and work.limited and work.retry_at is not None and work.retry_at > now):
        listed = todos.number
        retried = work is not None and (work.failures > 0 or work.waits_for is not None)
        found.append(OpenItem(todos.since or state.progressed_at or Timestamp.of(now), retried))
    if not found:
        return None
    since = min(each.since for each in found)
    return Standstill(
        since=max(since, state.progressed_at or since),
        todos=listed,
        events=len(events),
        actions=len(actions),
        retried=any(each.retried for each in found),
    )


def _event(event: OpenEvent, now: datetime) -> OpenItem | None:
    """Return an event that is to go on by itself; one that was put off once, until a time to come, is not."""
    wait = event.deferral
    retried = event.failures > 0 or (wait is not None and wait.attempts > 1)
    if event.state not in {"pending", "deferred"}:
        return None
    if retried:
        return OpenItem(event.first_deferred_at or event.since, retried=True)
    if event.state == "pending" or wait is None:
        return OpenItem(event.since)
    if wait.deferred_until > now:
        return None
    return OpenItem(wait.deferred_until)


def _actions(state: DispatchState) -> Iterator[OpenItem]:
    """Yield the actions that are to be sent; what a brake holds back waits until it ends, or for a person."""
    for action in state.queue.values():
        if action.failed or action.draft or action.courtesy or reply_limit.is_on(action):
            continue
        yield OpenItem(action.since, retried=action.attempts > 0)
