"""Decide how long an event waits, when it may be looked at again, and how its wait ends."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import assert_never

from prloom import backoff
from prloom.backoff import SHORTEST, Backoff
from prloom.model.decision import Change, Deferral, OnExpire, WakeOn
from prloom.model.record import Timestamp, clock_rolled_back
from prloom.model.state import OpenEvent


def defer(
    event: OpenEvent,
    owner: str,
    reason: str,
    *,
    now: datetime,
    policy: Backoff,
    retry_after: timedelta | None = None,
    until: datetime | None = None,
    on_expire: OnExpire | None = None,
    wake_on: WakeOn | None = None,
    counted: bool = True,
) -> Deferral:
    """Return the deferral by which the owner puts the event off.

    Attempts count the owner's deferrals in a row; one that is not `counted` (a known limit, say) leaves them as they
    are. The deadline counts from the first deferral by any owner, so that two owners in alternation cannot keep an
    event for ever, and no owner can move it past the policy's. With `wake_on` and no time, only the deadline ends it.
    """
    last = None
    if event.deferral is not None and event.deferral.owner == owner:
        last = event.deferral
    attempts = (last.attempts if last else 0) + (1 if counted else 0)
    if event.first_deferred_at:
        first = min(event.first_deferred_at, now)
    else:
        first = now
    deadline = _deadline(last, first + policy.deadline, until)
    wait = backoff.delay(policy, max(attempts, 1), f"{event.id}\0{owner}")
    if retry_after is not None:
        wait = retry_after
    elif wake_on is not None:
        wait = deadline - now
    due = max(min(now + wait, deadline), now + SHORTEST)
    return Deferral(
        owner=owner,
        reason=reason,
        attempts=attempts,
        first_deferred_at=last.first_deferred_at if last else Timestamp.of(now),
        deferred_until=Timestamp.of(due),
        deadline=Timestamp.of(deadline),
        on_expire=on_expire or (last.on_expire if last else "park"),
        wake_on=wake_on,
    )


def _deadline(last: Deferral | None, longest: datetime, until: datetime | None) -> datetime:
    """Return the deadline: the one asked for now, or the one asked for before, which a bare deferral does not lift."""
    if until:
        return min(until, longest)
    if last:
        return min(last.deadline, longest)
    return longest


def due(events: Iterable[OpenEvent], now: datetime, *, clock: datetime | None = None) -> tuple[Change, ...]:
    """Return what becomes of the deferred events whose time has come, the longest overdue first.

    `clock` is the time, where `now` is an earlier one by which the waits are judged.
    """
    waiting = [(event, event.deferral) for event in events if event.state == "deferred" and event.deferral]
    ready = [
        (deferral.deferred_until, event.id, end(deferral, event, now))
        for event, deferral in waiting
        if deferral.deferred_until <= now
        or deferral.deadline <= now
        or clock_rolled_back(event.deferred_at, clock or now)
    ]
    return tuple(change for _, _, change in sorted(ready, key=lambda item: item[:2]))


def end(deferral: Deferral, event: OpenEvent, now: datetime) -> Change:
    """Return how this wait ends now: the event is shown again, or the wait has expired."""
    if now < deferral.deadline:
        return Change(event_id=event.id, verdict="due", state="pending")
    waited = f"{deferral.owner} waited until the deadline, {deferral.deadline}: {deferral.reason}"
    match deferral.on_expire:
        case "pass":
            return Change(event_id=event.id, verdict="expired", state="pending", reason=waited, plugin=deferral.owner)
        case "drop":
            return Change(event_id=event.id, verdict="expired", state="dropped", reason=waited)
        case "park":
            return Change(event_id=event.id, verdict="expired", state="parked", reason=waited)
        case _:
            assert_never(deferral.on_expire)


def lookup_due(event: OpenEvent, now: datetime, *, clock: datetime | None = None) -> bool:
    """Whether a held event's author is to be looked up now; after the deadline it is for a person to approve.

    `clock` is the time, where `now` is an earlier one by which the waits are judged.
    """
    wait = event.deferral
    if event.state != "held" or wait is None:
        return False
    over = wait.deferred_until <= now or clock_rolled_back(event.deferred_at, clock or now)
    return over and now < wait.deadline


def next_due(events: Iterable[OpenEvent]) -> datetime | None:
    """Return when the next deferred event is due, or None if none waits."""
    waits = [event.deferral for event in events if event.state == "deferred" and event.deferral]
    return min((min(wait.deferred_until, wait.deadline) for wait in waits), default=None)
