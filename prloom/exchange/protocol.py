"""The interface of an exchange's store: each method is one transaction, done completely or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from prloom.exchange.claim import (
    Availability,
    Claim,
    ClaimRequest,
    ClaimTaken,
    Delivery,
    Ended,
    MessageEntry,
    Settled,
    Settlement,
    TopicStats,
)
from prloom.exchange.message import Draft, ExchangeValue, Message

PAGE = 1000


class MessageFilter(ExchangeValue, frozen=True, kw_only=True):
    """Which messages to read: of a topic, of a conversation, or replies to one; after one; at most so many.

    The body of one that has more bytes than `longest_body` is left out, and is not read for that; see `Message`.
    """

    topic: str | None = None
    conversation_id: str | None = None
    replies_to: str | None = None
    since: str | None = None
    limit: int = PAGE
    longest_body: int | None = None


class Listener(Protocol):
    """Hears that there may be something new. It may miss that, so a wait for it needs a limit; see `notifier.poll`."""

    def fileno(self) -> int | None:
        """Return a descriptor that becomes readable, or None where the store cannot be listened to."""
        ...

    def drain(self) -> None:
        """Take what came, without waiting, so that the descriptor is readable no more."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


class ExchangeStore(Protocol):
    """Stores messages, deliveries and claims; several threads may use it.

    Time is the store's own. The caller has checked drafts, topics and durations. `claim` and `expire` end the claims
    whose lease is over as `expired`; their messages are tried again, or are dead.
    """

    def now(self) -> datetime:
        """Return the store's time."""
        ...

    def publish(self, drafts: Sequence[Draft]) -> tuple[Message, ...]:
        """Publish all drafts or none, in this order; return one that was published before (same id or key) as it is.

        Raises UnknownMessageError for a parent that is not there, KeyTakenError for a key of another body.
        """
        ...

    def claim(self, request: ClaimRequest) -> ClaimTaken | None:
        """Claim the next message by publication, or return None.

        Where nothing can be claimed it writes nothing, except once that there is a worker on the topics; see `worked`.
        """
        ...

    def renew(self, claim_id: str, lease: timedelta) -> Claim:
        """Set the lease's end to this much after now; raises ClaimOverError."""
        ...

    def settle(self, claim_id: str, settlement: Settlement) -> Settled:
        """End the claim, and publish the reply, if any; a repeated call returns the same; raises ClaimOverError."""
        ...

    def cancel(self, message_id: str, reason: str) -> Message:
        """End a message that waits or is worked on; returns what is published on `<topic>.cancelled`.

        Raises UnknownMessageError, and ExchangeError where it ended already.
        """
        ...

    def retry(self, message_id: str) -> Delivery:
        """Make a message ready again that failed, timed out, was cancelled, is dead or waits for a time.

        Raises UnknownMessageError, and ExchangeError where it is worked on or was completed.
        """
        ...

    def acknowledge(self, message_id: str) -> bool:
        """End a reply that its requester has read, and publish nothing; return whether that was to be done.

        A reply on a topic that ever had a worker stays: it is that worker's. Raises UnknownMessageError.
        """
        ...

    def expire(self) -> int:
        """End the claims whose lease is over, and return how many there were; write nothing where there is none."""
        ...

    def availability(self, topics: Sequence[str]) -> Availability:
        """Return whether something can be claimed, and when to look again; never write."""
        ...

    def message(self, message_id: str) -> Message:
        """Return the message; raises UnknownMessageError."""
        ...

    def read(self, selection: MessageFilter) -> tuple[Message, ...]:
        """Return messages by publication; raises UnknownMessageError where `since` is none."""
        ...

    def entry(self, message_id: str) -> MessageEntry:
        """Return the message with its claims; raises UnknownMessageError."""
        ...

    def conversation(self, conversation_id: str) -> tuple[MessageEntry, ...]:
        """Return a conversation's messages with their claims; empty where there is none."""
        ...

    def worked(self, topics: Sequence[str]) -> frozenset[str]:
        """Return those of the topics that ever had a worker."""
        ...

    def stats(self) -> tuple[TopicStats, ...]:
        """Return counts, ages and rates of each topic, by name."""
        ...

    def prune(self, older_than: timedelta, *, producer: str | None = None, limit: int | None = None) -> int:
        """Remove conversations that ended longer ago, unless they changed since; return how many messages they had.

        With a producer, those that it began; with a limit, the oldest so many at most.
        """
        ...

    def subscribe(self, conversation_id: str) -> None:
        """Have the conversation's end reported once; raises UnknownMessageError where there is no such conversation.

        Its next end is reported too if it continues: a message of it is retried, or a tracked one published.
        """
        ...

    def claim_notifications(self, lease: timedelta, limit: int = PAGE) -> tuple[Ended, ...]:
        """Claim the ends of conversations that no notifier has reported or claimed; write only if there are any."""
        ...

    def ack_notification(self, ended: Ended) -> bool:
        """Record that an end was reported; return False if another notifier has claimed it since."""
        ...

    def listen(self) -> Listener:
        """Return a listener that hears when a message is published or becomes ready again."""
        ...

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        ...
