"""Decide what becomes of a message when its claim ends, and a conversation's outcome."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, assert_never

import msgspec

from prloom import backoff
from prloom.backoff import Backoff
from prloom.exchange.claim import (
    DEFAULT_ATTEMPTS,
    Claim,
    ClaimStatus,
    Completed,
    ConversationOutcome,
    Delivery,
    Ending,
    Failed,
    MessageEntry,
    Released,
    Settlement,
    TimedOut,
)
from prloom.exchange.message import Draft, Metadata, new_id

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet


@dataclass(frozen=True)
class ClaimVerdict:
    """What settling a claim makes: the claim's status, the message's new delivery, and the reply to publish."""

    status: ClaimStatus
    error: str | None
    delivery: Delivery
    reply: Draft | None


def settled(settlement: Settlement, delivery: Delivery, now: datetime, policy: Backoff) -> ClaimVerdict:
    """Return what a settlement makes of the claim and of the message."""
    topic = delivery.topic
    match settlement:
        case Completed():
            reply = _reply(delivery, settlement.topic or f"{topic}.completed", settlement.body, settlement.metadata)
            return ClaimVerdict("completed", None, _over(delivery, "completed", now), reply)
        case Failed(retry=True):
            return again("failed", settlement.error, delivery, now, policy, metadata=settlement.metadata)
        case Failed():
            if settlement.body is None:
                body = settlement.error
            else:
                body = settlement.body
            reply = _reply(delivery, settlement.topic or f"{topic}.failed", body, settlement.metadata, "failed")
            return ClaimVerdict("failed", settlement.error, _over(delivery, "failed", now), reply)
        case TimedOut():
            reply = _reply(delivery, f"{topic}.timed_out", settlement.error, settlement.metadata, "timed_out")
            return ClaimVerdict("timed_out", settlement.error, _over(delivery, "timed_out", now), reply)
        case Released():
            due = None
            if settlement.delay:
                due = now + settlement.delay
            attempts = delivery.attempts - 1
            ready = msgspec.structs.replace(delivery, state="ready", attempts=attempts, available_at=due)
            return ClaimVerdict("cancelled", settlement.reason, ready, None)
        case _:
            assert_never(settlement)


def again(
    status: ClaimStatus,
    error: str,
    delivery: Delivery,
    now: datetime,
    policy: Backoff,
    *,
    metadata: Metadata | None = None,
) -> ClaimVerdict:
    """Return the verdict on an attempt that did not reach the work's end: another one later, or the message is dead."""
    if delivery.attempts >= (delivery.max_attempts or DEFAULT_ATTEMPTS):
        body = f"{error} (attempt {delivery.attempts}, the last one)"
        reply = _reply(delivery, f"{delivery.topic}.dead", body, metadata or {}, "dead")
        return ClaimVerdict(status, error, _over(delivery, "dead", now), reply)
    due = now + backoff.delay(policy, delivery.attempts, delivery.message_id, shortest=timedelta())
    return ClaimVerdict(status, error, msgspec.structs.replace(delivery, state="ready", available_at=due), None)


def expired(claim: Claim, delivery: Delivery, now: datetime, policy: Backoff) -> ClaimVerdict:
    """Return the verdict on a claim whose lease is over."""
    error = f"the lease of worker {claim.worker_instance_id} ran out"
    return again("expired", error, delivery, now, policy)


def cancelled(delivery: Delivery, now: datetime, reason: str) -> ClaimVerdict:
    """Return the verdict on a message that is not wanted any more."""
    reply = _reply(delivery, f"{delivery.topic}.cancelled", reason, {}, "cancelled")
    return ClaimVerdict("cancelled", reason, _over(delivery, "cancelled", now), reply)


def claimed(delivery: Delivery, max_attempts: int) -> Delivery:
    """Return the delivery of a claimed message; the first worker's limit counts where the publisher set none."""
    return msgspec.structs.replace(
        delivery,
        state="leased",
        available_at=None,
        attempts=delivery.attempts + 1,
        max_attempts=delivery.max_attempts or max_attempts,
    )


def acknowledged(delivery: Delivery, worked: AbstractSet[str], now: datetime) -> Delivery | None:
    """Return the delivery of a reply that its requester has read; None where it waits for a worker, or has ended."""
    if not delivery.reply or delivery.state != "ready" or delivery.topic in worked:
        return None
    return _over(delivery, "completed", now)


def retried(delivery: Delivery) -> Delivery:
    """Return the delivery of a message that is to be worked on again, with all its attempts left."""
    return msgspec.structs.replace(delivery, state="ready", ending=None, ended_at=None, available_at=None, attempts=0)


def same(claim: Claim, settlement: Settlement) -> bool:
    """Whether a claim that is over was settled in this very way, so that this is the same call again."""
    match settlement:
        case Completed():
            return claim.status == "completed"
        case Failed():
            return claim.status == "failed" and claim.error == settlement.error
        case TimedOut():
            return claim.status == "timed_out"
        case Released():
            return claim.status == "cancelled" and claim.error == settlement.reason
        case _:
            assert_never(settlement)


_WORST_FIRST: tuple[tuple[Ending, ConversationOutcome], ...] = (
    ("dead", "dead"),
    ("timed_out", "timed_out"),
    ("failed", "failure"),
    ("cancelled", "cancelled"),
)


def outcome(entries: Iterable[MessageEntry], worked: AbstractSet[str]) -> ConversationOutcome:
    """Return the outcome of a conversation; `worked` are the topics for which there ever was a worker.

    It is pending while something in it remains to be worked on. The endings that count are those whose reply was not
    worked on in turn; of several the worst one: dead, timed out, failed, cancelled, completed.
    """
    endings: dict[str, Ending] = {}
    answered: dict[str | None, bool] = {}
    for entry in entries:
        delivery = entry.delivery
        was_worked_on = delivery.ending is not None and not _was_only_read(delivery)
        if was_worked_on and delivery.ending is not None:
            endings[entry.message.id] = delivery.ending
        elif delivery.ending is None and _is_work(entry, worked):
            return "pending"
        if delivery.reply:  # the latest one counts: before a retry there may have been another
            answered[entry.message.parent_id] = was_worked_on
    counted = {ending for message_id, ending in endings.items() if not answered.get(message_id)}
    return next((name for ending, name in _WORST_FIRST if ending in counted), "success" if counted else "pending")


def _is_work(entry: MessageEntry, worked: AbstractSet[str]) -> bool:
    """Whether a message that has not ended remains to be worked on.

    A reply or a note, which follows another message, is to be read where its topic never had a worker. A message
    without a parent is a request; it waits for its first worker.
    """
    follows = entry.message.parent_id is not None
    return not (follows and entry.delivery.state == "ready" and entry.delivery.topic not in worked)


def _was_only_read(delivery: Delivery) -> bool:
    """Whether a reply was acknowledged: only then has something that was never claimed been completed."""
    return delivery.reply and delivery.ending == "completed" and delivery.attempts == 0


def _over(delivery: Delivery, ending: Ending, now: datetime) -> Delivery:
    state = "done"
    if ending == "dead":
        state = "dead"
    return msgspec.structs.replace(delivery, state=state, ending=ending, ended_at=now, available_at=None)


def _reply(delivery: Delivery, topic: str, body: str, metadata: Metadata, status: str = "completed") -> Draft:
    return Draft(
        id=new_id(),
        topic=topic,
        body=body,
        parent_id=delivery.message_id,
        metadata={"status": status, **metadata},
        reply=True,
    )
