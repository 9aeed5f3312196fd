"""What a plan's events and actions wait for, in the document of `prloom status --json`; ages are in milliseconds."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from prloom.model.decision import WakeOn
from prloom.model.record import Record, Timestamp
from prloom.model.run import UnusableAgent


class DeferredEvent(Record, frozen=True, kw_only=True):
    """A deferred event: since when, by what it was deferred last, why, until when; `age_ms` is its wait so far.

    `wake_on` is what ends the wait early, if anything does, and `agent` the program that it waits for, if it does.
    """

    id: str
    type: str
    plugin: str
    reason: str
    attempts: int
    first_deferred_at: Timestamp
    deferred_until: Timestamp
    deadline: Timestamp
    age_ms: int
    wake_on: WakeOn | UnsetType = UNSET
    agent: UnusableAgent | UnsetType = UNSET


class HeldEvent(Record, frozen=True, kw_only=True):
    """An event whose author is not trusted, and since when it waits for an approval."""

    id: str
    type: str
    author: str | None
    reason: str | None
    held_at: Timestamp
    age_ms: int


class ParkedEvent(Record, frozen=True, kw_only=True):
    """An event that needs a person, and since when."""

    id: str
    type: str
    reason: str | None
    parked_at: Timestamp
    age_ms: int


class FailedAction(Record, frozen=True, kw_only=True, omit_defaults=True):
    """An action that is not tried any more; a `withheld` one contains a secret, and waits for a person's decision.

    `failed_at` is when it was tried last, or decided.
    """

    id: str
    error: str | None
    failed_at: Timestamp
    age_ms: int
    withheld: bool = False


class WaitingAction(Record, frozen=True, kw_only=True):
    """An action that waits until then: a brake holds it back, or its last try failed; `since` it was decided."""

    id: str
    reason: str
    since: Timestamp
    until: Timestamp
    age_ms: int


class DraftReply(Record, frozen=True, kw_only=True):
    """A reply that waits until a person sends it."""

    id: str
    since: Timestamp
    age_ms: int


class EventCounts(Record, frozen=True, kw_only=True):
    """What became of the plan's events; `pending_since` is left out unless one is pending: since when the oldest is."""

    pending: int
    handled: int
    triaged: int
    dropped: int
    superseded: int
    deferred: tuple[DeferredEvent, ...]
    held: tuple[HeldEvent, ...]
    parked: tuple[ParkedEvent, ...]
    pending_since: Timestamp | UnsetType = UNSET


class ActionCounts(Record, frozen=True, kw_only=True):
    """What became of the plan's actions.

    `drafts` are those that wait until a person sends them, `waiting` those that a brake holds back, and `retrying`
    those that are tried again after a failure; if any. `replies` lists the drafts.
    """

    queued: int
    delivered: int
    failed: tuple[FailedAction, ...]
    drafts: int | UnsetType = UNSET
    waiting: tuple[WaitingAction, ...] | UnsetType = UNSET
    retrying: tuple[WaitingAction, ...] | UnsetType = UNSET
    replies: tuple[DraftReply, ...] | UnsetType = UNSET
