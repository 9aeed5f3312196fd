"""Count what became of a plan's events and actions, and list what waits, with its age."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import UNSET, UnsetType

from prloom.core.delivery import reply_limit
from prloom.engine.views import snapshot
from prloom.engine.views.snapshot import Snapshot
from prloom.engine.views.waiting_schema import (
    ActionCounts,
    DeferredEvent,
    DraftReply,
    EventCounts,
    FailedAction,
    HeldEvent,
    ParkedEvent,
    WaitingAction,
)
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState, OpenEvent, QueuedAction
from prloom.storage import paths

_MILLISECOND = timedelta(milliseconds=1)


def events(of: Snapshot, now: datetime) -> EventCounts:
    """Return what became of a plan's events, with those that wait."""
    opened, done = of.bus.state.open.values(), of.bus.state.done
    return EventCounts(
        pending_since=_pending_since(of),
        pending=len(of.bus.untaken) + sum(event.state == "pending" for event in opened),
        handled=done.get("handled", 0),
        triaged=done.get("triaged", 0),
        dropped=done.get("dropped", 0),
        superseded=done.get("superseded", 0),
        deferred=_deferred(opened, now),
        held=tuple(_held(event, now) for event in opened if event.state == "held"),
        parked=tuple(_parked(event, now) for event in opened if event.state == "parked"),
    )


def _held(event: OpenEvent, now: datetime) -> HeldEvent:
    return HeldEvent(
        id=event.id,
        type=event.type,
        author=event.author,
        reason=event.reason,
        held_at=event.since,
        age_ms=age(event.since, now),
    )


def _parked(event: OpenEvent, now: datetime) -> ParkedEvent:
    return ParkedEvent(
        id=event.id, type=event.type, reason=event.reason, parked_at=event.since, age_ms=age(event.since, now)
    )


def _pending_since(of: Snapshot) -> Timestamp | UnsetType:
    """Return since when an event is pending; one that is not taken in yet at the latest since the last one came in."""
    found = [event.since for event in of.bus.state.open.values() if event.state == "pending"]
    if of.bus.untaken:
        found += filter(None, [snapshot.changed_at(of, f"{paths.BUS}/{paths.EVENTS}")])
    return min(found, default=UNSET)


def actions(state: DispatchState, now: datetime) -> ActionCounts:
    """Return what became of a plan's actions, with those that wait or failed; acknowledgements do not count."""
    queue = [action for action in state.queue.values() if not action.courtesy]
    failed = [action for action in queue if action.failed]
    drafts = [action for action in queue if action.draft]
    waiting = [action for action in queue if reply_limit.is_on(action)]
    retrying = [
        action
        for action in queue
        if action.next_try is not None and not (action.failed or action.draft or reply_limit.is_on(action))
    ]
    return ActionCounts(
        queued=len(queue) - len(failed) - len(drafts),
        drafts=len(drafts) or UNSET,
        waiting=_waiting(waiting, now) or UNSET,
        retrying=_waiting(retrying, now) or UNSET,
        replies=tuple(DraftReply(id=each.id, since=each.since, age_ms=age(each.since, now)) for each in drafts)
        or UNSET,
        delivered=state.delivered,
        failed=tuple(_failed(action, now) for action in failed),
    )


def _failed(action: QueuedAction, now: datetime) -> FailedAction:
    at = action.tried_at or action.since
    return FailedAction(id=action.id, error=action.error, failed_at=at, age_ms=age(at, now), withheld=action.withheld)


def _waiting(queue: Iterable[QueuedAction], now: datetime) -> tuple[WaitingAction, ...]:
    return tuple(
        WaitingAction(
            id=action.id,
            reason=action.error or "",
            since=action.since,
            until=action.next_try,
            age_ms=age(action.since, now),
        )
        for action in queue
        if action.next_try is not None
    )


def _deferred(opened: Iterable[OpenEvent], now: datetime) -> tuple[DeferredEvent, ...]:
    """Return the deferred events, the longest waiting first."""
    found = []
    for event in opened:
        wait = event.deferral
        if event.state != "deferred" or wait is None:
            continue
        first = event.first_deferred_at or wait.first_deferred_at
        found.append(
            DeferredEvent(
                id=event.id,
                type=event.type,
                plugin=wait.owner,
                reason=wait.reason,
                attempts=wait.attempts,
                first_deferred_at=first,
                deferred_until=wait.deferred_until,
                deadline=wait.deadline,
                age_ms=age(first, now),
                wake_on=wait.wake_on or UNSET,
                agent=wait.agent or UNSET,
            )
        )
    return tuple(sorted(found, key=lambda event: event.first_deferred_at))


def age(since: datetime, now: datetime) -> int:
    """Return the milliseconds since a time; none since one that is yet to come."""
    return max(0, (now - since) // _MILLISECOND)


def age_or_unset(since: datetime | None, now: datetime | None) -> int | UnsetType:
    """Return the milliseconds between two times, where both are known."""
    if since is None or now is None:
        return UNSET
    return age(since, now)
