"""Build the values that every store keeps alike, as messages are published, claimed and settled."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from prloom.exchange import rules
from prloom.exchange.claim import Claim, Delivery, TopicStats
from prloom.exchange.errors import ExchangeError, KeyTakenError
from prloom.exchange.message import Message, Metadata, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from prloom.exchange.claim import ClaimRequest, MessageEntry, MessageState
    from prloom.exchange.message import Draft
    from prloom.exchange.protocol import MessageFilter
    from prloom.exchange.rules import ClaimVerdict

RATE_WINDOW = timedelta(minutes=5)

# The columns of a store in a database: of messages AS m, deliveries AS d and claims AS c.
MESSAGE = "m.id, m.topic, m.body, m.created_at, m.parent_id, m.conversation_id, m.producer, m.metadata"
MESSAGE_WIDTH = 8
DELIVERY = (
    "m.id, d.topic, d.state, d.ending, d.available_at, d.attempts, d.max_attempts, d.key, d.concurrency_key,"
    " d.ended_at, d.reply"
)
OPEN_DELIVERY = "d.attempts, d.max_attempts, d.key, d.concurrency_key, d.reply"
CLAIM = (
    "c.id, m.id, c.worker_group, c.worker_instance_id, c.claimed_at, c.lease_until, c.status, c.completed_at,"
    " c.attempt, c.error"
)
CLAIM_WIDTH = 10

_NO_METADATA: Metadata = {}
_metadata = msgspec.json.Decoder(dict[str, Scalar])


def message(draft: Draft, inherited: str | None, now: datetime) -> Message:
    """Return the message that a draft becomes; its conversation is the one given, its parent's, or its own."""
    return Message(
        id=draft.id,
        topic=draft.topic,
        body=draft.body,
        created_at=now,
        parent_id=draft.parent_id,
        conversation_id=draft.conversation_id or inherited or draft.id,
        producer=draft.producer,
        metadata=draft.metadata,
    )


def delivery(draft: Draft, now: datetime) -> Delivery:
    """Return the delivery of a message that was just published."""
    available_at = None
    if draft.delay is not None:
        available_at = now + draft.delay
    return Delivery(
        message_id=draft.id,
        topic=draft.topic,
        state="ready",
        available_at=available_at,
        max_attempts=draft.max_attempts,
        key=draft.key,
        concurrency_key=draft.concurrency_key,
        reply=draft.reply,
    )


def open_delivery(message: Message, state: MessageState, row: Sequence[Any]) -> Delivery:
    """Return the delivery of a message that can be claimed or just was, from a row of OPEN_DELIVERY."""
    attempts, max_attempts, key, concurrency_key, reply = row
    return Delivery(
        message_id=message.id,
        topic=message.topic,
        state=state,
        attempts=attempts,
        max_attempts=max_attempts,
        key=key,
        concurrency_key=concurrency_key,
        reply=bool(reply),
    )


def claim(leased: Delivery, request: ClaimRequest, now: datetime, claim_id: str) -> Claim:
    """Return the claim on a message that was just leased."""
    return Claim(
        id=claim_id,
        message_id=leased.message_id,
        worker_group=request.group,
        worker_instance_id=request.instance,
        claimed_at=now,
        lease_until=now + request.lease,
        status="active",
        attempt=leased.attempts,
    )


def ended(claim: Claim, verdict: ClaimVerdict, now: datetime) -> Claim:
    """Return the claim as it ended."""
    return msgspec.structs.replace(claim, status=verdict.status, completed_at=now, error=verdict.error)


def check_same_body(draft: Draft, existing: Message) -> Message:
    """Return the message that has the draft's key already; raises KeyTakenError where it has another body."""
    if existing.body != draft.body:
        raise KeyTakenError(
            f"the key {draft.key!r} on topic {draft.topic} belongs to message {existing.id}, which has another body; "
            "publish this one with a key of its own"
        )
    return existing


def over_text(claim_id: str, claim: Claim | None) -> str:
    """Return the text that says why a claim cannot be used any more."""
    if claim is None:
        return f"there is no claim {claim_id}; it was pruned or belongs to another exchange; discard its work"
    if claim.status == "active":
        how = "expired"
    else:
        how = claim.status
    if claim.completed_at is None:
        since = claim.lease_until
    else:
        since = claim.completed_at
    return (
        f"claim {claim.id} on message {claim.message_id} is over ({how} at {since:%Y-%m-%d %H:%M:%S} UTC); "
        "discard its work: another worker has the message, or it has ended"
    )


def unknown_text(message_id: str, what: str = "message") -> str:
    """Return the text that says that there is no such message or conversation."""
    return f"there is no {what} {message_id!r} here; list the messages with `prloom exchange read`"


def searchable(name: str) -> str:
    """Return a name to search for; one that UTF-8 cannot hold becomes a name that nothing has."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return ""
    return name


def matches(message: Message, delivery: Delivery, selection: MessageFilter) -> bool:
    """Whether a filter selects a message, apart from `since` and `limit`."""
    return (
        selection.topic in {None, message.topic}
        and selection.conversation_id in {None, message.conversation_id}
        and (selection.replies_to is None or (message.parent_id == selection.replies_to and delivery.reply))
    )


def check_cancel(entry: MessageEntry) -> None:
    """Raise ExchangeError where a message cannot be cancelled, having ended."""
    if entry.delivery.ending is not None:
        raise ExchangeError(
            f"message {entry.message.id} has ended ({entry.delivery.ending}); there is nothing to cancel"
        )


def check_retry(entry: MessageEntry) -> None:
    """Raise ExchangeError where a message cannot be tried again: it is worked on, or was completed."""
    delivery = entry.delivery
    if delivery.state == "leased":
        worker = entry.claims[-1].worker_instance_id
        raise ExchangeError(f"message {entry.message.id} is being worked on by {worker}; wait for it, or cancel it")
    if delivery.ending == "completed":
        raise ExchangeError(f"message {entry.message.id} was completed; publish it again to have it done again")


def prunable(entries: Sequence[MessageEntry], worked: AbstractSet[str], before: datetime) -> bool:
    """Whether a conversation has ended, and its last change was before then."""
    last = max(entry.delivery.ended_at or entry.message.created_at for entry in entries)
    return last < before and rules.outcome(entries, worked) != "pending"


def all_stats(entries: Iterable[MessageEntry], now: datetime) -> tuple[TopicStats, ...]:
    """Return the statistics of each topic of these messages, by name."""
    by_topic: dict[str, list[MessageEntry]] = defaultdict(list)
    for entry in entries:
        by_topic[entry.message.topic].append(entry)
    return tuple(stats(topic, by_topic[topic], now) for topic in sorted(by_topic))


def stats(topic: str, entries: Sequence[MessageEntry], now: datetime) -> TopicStats:
    """Return the statistics of a topic, from all its messages."""
    count = Counter(_counted_as(entry.delivery, now) for entry in entries)
    ready = [entry for entry in entries if _counted_as(entry.delivery, now) == "ready"]
    oldest_age = None
    if ready:
        oldest_age = now - ready[0].message.created_at
    since = now - RATE_WINDOW
    published = sum(entry.message.created_at > since for entry in entries)
    ended = sum(entry.delivery.ended_at is not None and entry.delivery.ended_at > since for entry in entries)
    return TopicStats(
        topic=topic,
        ready=count["ready"],
        delayed=count["delayed"],
        leased=count["leased"],
        done=count["done"],
        dead=count["dead"],
        oldest_ready_age=oldest_age,
        published_per_minute=per_minute(published),
        ended_per_minute=per_minute(ended),
    )


def _counted_as(delivery: Delivery, now: datetime) -> str:
    """Return the one state that a message is counted as: one that waits for a time is delayed, not ready."""
    if delivery.state == "ready" and delivery.available_at is not None and delivery.available_at > now:
        return "delayed"
    return delivery.state


def per_minute(count: int) -> float:
    """Return the rate a minute for a count in RATE_WINDOW."""
    return count / (RATE_WINDOW / timedelta(minutes=1))


def encode_metadata(values: Metadata) -> str:
    """Return metadata as a database stores it."""
    if values:
        return msgspec.json.encode(values).decode()
    return "{}"


def decode_metadata(stored: str) -> Metadata:
    """Return metadata from what a database stores."""
    if stored == "{}":
        return _NO_METADATA
    return _metadata.decode(stored)
