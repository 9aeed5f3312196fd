"""What a store of an exchange does: each method is one transaction, and each is whole or did nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from prloom.exchange.claim import (
    Availability,
    Claim,
    ClaimRequest,
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
    """Which messages to read: those of a topic, of a conversation, or that answer one; after one; at most so many."""

    topic: str | None = None
    conversation_id: str | None = None
    replies_to: str | None = None
    since: str | None = None
    limit: int = PAGE


class ClaimTaken(ExchangeValue, frozen=True, kw_only=True):
    """What a worker got: the claim, its message, and how that stands."""

    claim: Claim
    message: Message
    delivery: Delivery


class Listener(Protocol):
    """Hears that there may be something new; it may miss that, so nobody waits for it without a limit.

    Listen first, then look, then wait.
    """

    def fileno(self) -> int | None:
        """Return a descriptor that becomes readable, or None where nothing can be heard."""
        ...

    def drain(self) -> None:
        """Take what was heard, without waiting."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


class ExchangeStore(Protocol):
    """Messages, deliveries and claims, kept for good; may be used from several threads.

    Time is the store's own. Drafts, topics and durations were checked by the caller. Leases that are over are seen to
    by `claim` and `expire`: claims end as `expired`, their messages are tried again, or are dead.
    """

    def now(self) -> datetime:
        """Return the store's time."""
        ...

    def publish(self, drafts: Sequence[Draft]) -> tuple[Message, ...]:
        """Publish all of them or none, in this order; what was published before (same id, or key) is returned as it is.

        Raises UnknownMessageError for a parent that is not there, KeyTakenError for a key of another body.
        """
        ...

    def claim(self, request: ClaimRequest) -> ClaimTaken | None:
        """Claim the next message by publication, or return None.

        Where nothing is to be claimed nothing is written, but once that somebody works on the topics; see `worked`.
        """
        ...

    def renew(self, claim_id: str, lease: timedelta) -> Claim:
        """Let the lease end this much after now; raises ClaimOverError."""
        ...

    def settle(self, claim_id: str, settlement: Settlement) -> Settled:
        """End the claim, and publish the reply, if any; doing the same twice gives the same; raises ClaimOverError."""
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

    def expire(self) -> int:
        """See to all leases that are over, and return how many were; writes nothing where none is."""
        ...

    def availability(self, topics: Sequence[str]) -> Availability:
        """Look whether something is to be claimed; never writes."""
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
        """Return those of the topics from which anybody ever wanted to claim."""
        ...

    def stats(self) -> tuple[TopicStats, ...]:
        """Return how each topic stands, by name."""
        ...

    def prune(self, older_than: timedelta) -> int:
        """Remove conversations that ended, and in which nothing happened, before then; returns how many messages."""
        ...

    def subscribe(self, conversation_id: str) -> None:
        """Have it told once when the conversation has ended; raises UnknownMessageError where there is none.

        It is told again where it went on since: a message of it was retried, or one that is to be tracked published.
        """
        ...

    def claim_notifications(self, lease: timedelta, limit: int = PAGE) -> tuple[Ended, ...]:
        """Take tracked conversations that ended and of which nobody told yet, nor is about to; writes only then."""
        ...

    def ack_notification(self, ended: Ended) -> bool:
        """Note that it was told; False where another notifier took it, this one's lease being over."""
        ...

    def listen(self) -> Listener:
        """Begin to hear of what others publish or give back."""
        ...

    def close(self) -> None:
        """Let go of everything; a second call does nothing."""
        ...
