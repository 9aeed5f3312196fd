"""Decide which queued action is tried next, and what an attempt's result means for it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal

from prloom import backoff
from prloom.backoff import Backoff
from prloom.core import clock_rollback
from prloom.model import record
from prloom.model.decision import DeliveryChange
from prloom.model.state import DeliveryState, QueuedAction, Receipt

RECEIPTS = 1000
"""Receipts that are remembered; older posts of our own are known by their marker."""

QUICK = timedelta(hours=1)
"""How long a courtesy is of any use."""


def ready(queue: Iterable[QueuedAction], now: datetime, *, clock: datetime | None = None) -> tuple[QueuedAction, ...]:
    """Return the actions that may be tried now, oldest first; none waits for another.

    `clock` is the time, where `now` is an earlier one by which the waits are judged.
    """
    return tuple(action for action in queue if not action.failed and _waited(action, now, clock or now))


def _waited(action: QueuedAction, now: datetime, clock: datetime) -> bool:
    if action.next_try is None or record.moment(action.next_try) <= now:
        return True
    return clock_rollback.since(action.tried_at, clock)


def next_due(queue: Iterable[QueuedAction]) -> datetime | None:
    """Return when the next action that waits may be tried, or None if none waits."""
    times = [action.next_try for action in queue if not action.failed and action.next_try]
    if times:
        return record.moment(min(times))
    return None


def delivered(action: QueuedAction, receipt: Receipt) -> DeliveryChange:
    """Return the end of an action that reached its target."""
    return DeliveryChange(
        action_id=action.id,
        state="delivered",
        attempts=action.attempts + 1,
        url=receipt.url,
        remote_id=receipt.remote_id,
    )


def refused(
    action: QueuedAction,
    error: str,
    *,
    retryable: bool,
    retry_after: timedelta | None,
    now: datetime,
    policy: Backoff,
    commit: str | None = None,
) -> DeliveryChange:
    """Return what becomes of an action that did not reach its target: another try, or a visible failure."""
    attempts = action.attempts + 1
    if not retryable:
        return DeliveryChange(action_id=action.id, state=_end(action), attempts=attempts, error=error, commit=commit)
    pause = max(backoff.delay(policy, attempts, action.id), retry_after or timedelta())
    over = pause > min(record.moment(action.since), now) - now + policy.deadline
    if over or backoff.exhausted(policy, attempts):
        text = f"given up after {attempts} attempts: {error}"
        return DeliveryChange(action_id=action.id, state=_end(action), attempts=attempts, error=text, commit=commit)
    return DeliveryChange(
        action_id=action.id,
        state="retrying",
        attempts=attempts,
        error=error,
        next_try=record.iso(now + pause),
        commit=commit,
    )


def _end(action: QueuedAction) -> Literal["failed", "dropped"]:
    """Return what an action is that does not reach its target: a courtesy that fails is nobody's trouble."""
    if action.courtesy:
        return "dropped"
    return "failed"


def too_late(action: QueuedAction, now: datetime) -> bool:
    """Whether an action is a courtesy that has waited for so long that it is none any more."""
    return action.courtesy and now - record.moment(action.since) > QUICK


def dropped(action: QueuedAction, reason: str) -> DeliveryChange:
    """Return the end of an action that nobody waits for any more."""
    return DeliveryChange(action_id=action.id, state="dropped", attempts=action.attempts, error=reason)


def revived(action: QueuedAction) -> DeliveryChange:
    """Return the new start of an action that had failed or waits: it is due now, with all its time before it."""
    return DeliveryChange(action_id=action.id, state="queued", attempts=0)


def withheld(action: QueuedAction, secrets: Iterable[str]) -> DeliveryChange:
    """Return what becomes of an action that would publish secrets: it fails, until a person has looked at it."""
    error = f"withheld because it contains {' and '.join(secrets)}; to read it, run `prloom approve {action.id}`"
    return DeliveryChange(action_id=action.id, state="failed", attempts=action.attempts, error=error, withheld=True)


def released(action: QueuedAction) -> DeliveryChange:
    """Return the new start of an action that was withheld: a person has looked, and lets it go as it is."""
    return DeliveryChange(action_id=action.id, state="queued", attempts=0, released=True)


def receipted(state: DeliveryState, receipt: Receipt) -> DeliveryState:
    """Return the bridge's ledger with one more receipt, once however often it is added; the oldest go."""
    attempts = {key: attempt for key, attempt in state.attempts.items() if key != receipt.action_id}
    others = tuple(each for each in state.receipts if each.action_id != receipt.action_id)
    return DeliveryState(attempts=attempts, receipts=(*others, receipt)[-RECEIPTS:])
