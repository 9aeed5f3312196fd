"""Claims: which worker has, or had, a message and with what result; and the delivery state of messages."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

import msgspec

from prloom.exchange.message import ExchangeValue, Message, Metadata

ClaimStatus: TypeAlias = Literal["active", "completed", "failed", "timed_out", "expired", "cancelled"]
MessageState: TypeAlias = Literal["ready", "leased", "done", "dead"]
Ending: TypeAlias = Literal["completed", "failed", "timed_out", "cancelled", "dead"]
"""How a message ended: `dead` is out of attempts (state `dead`); all others are state `done`."""

DEFAULT_LEASE = timedelta(seconds=90)
DEFAULT_ATTEMPTS = 5
_MOST_CACHED = 10_000  # claims of one client; for more, a store reads them


class Claim(ExchangeValue, frozen=True, kw_only=True):
    """One worker's attempt at a message; only with its id can the claim be renewed or settled."""

    id: str
    message_id: str
    worker_group: str
    worker_instance_id: str
    claimed_at: datetime
    lease_until: datetime
    status: ClaimStatus
    completed_at: datetime | None = None
    attempt: int
    error: str | None = None


class Delivery(ExchangeValue, frozen=True, kw_only=True):
    """The state of a message on its topic.

    `available_at` is None where it may be claimed at once. `attempts` counts the claims since it was published or
    retried, without those that were released. `max_attempts` is None until a publisher or the first worker sets it.
    `reply` says that it was published by settling another message.
    """

    message_id: str
    topic: str
    state: MessageState
    ending: Ending | None = None
    available_at: datetime | None = None
    attempts: int = 0
    max_attempts: int | None = None
    key: str | None = None
    concurrency_key: str | None = None
    ended_at: datetime | None = None
    reply: bool = False


class ClaimTaken(ExchangeValue, frozen=True, kw_only=True):
    """A new claim, its message, and the message's delivery."""

    claim: Claim
    message: Message
    delivery: Delivery


class MessageEntry(ExchangeValue, frozen=True, kw_only=True):
    """A message with its delivery and its claims, in the order they were made."""

    message: Message
    delivery: Delivery
    claims: tuple[Claim, ...] = ()


class ClaimRequest(ExchangeValue, frozen=True, kw_only=True):
    """A worker's request for the next message on any of these topics, for the time of `lease`."""

    topics: tuple[str, ...]
    group: str
    instance: str
    lease: timedelta = DEFAULT_LEASE
    max_attempts: int = DEFAULT_ATTEMPTS


class Completed(ExchangeValue, frozen=True, kw_only=True):
    """The work is done; the reply goes to `topic` (default `<request topic>.completed`)."""

    body: str
    topic: str | None = None
    metadata: Metadata = msgspec.field(default_factory=dict)


class Failed(ExchangeValue, frozen=True, kw_only=True):
    """The work failed, finally or (`retry`) to be tried again; the reply goes to `topic` (`<request topic>.failed`).

    `error` is what the claim says; `body` is the reply's, and the error where that is None.
    """

    error: str
    body: str | None = None
    topic: str | None = None
    metadata: Metadata = msgspec.field(default_factory=dict)
    retry: bool = False


class TimedOut(ExchangeValue, frozen=True, kw_only=True):
    """The work took too long; the reply goes to `<request topic>.timed_out`."""

    error: str
    metadata: Metadata = msgspec.field(default_factory=dict)


class Released(ExchangeValue, frozen=True, kw_only=True):
    """The worker has to stop, or cannot do this work: the message is ready again, and the attempt does not count.

    With a `delay`, nobody can claim it before that has passed.
    """

    reason: str = "handed back"
    delay: timedelta | None = None


Settlement: TypeAlias = Completed | Failed | TimedOut | Released


class Settled(ExchangeValue, frozen=True, kw_only=True):
    """A settled claim, and the reply that was published with it (None where the message is to be tried again).

    `retry_at` is when it is tried again at the earliest, where that is not at once.
    """

    claim: Claim
    reply: Message | None = None
    retry_at: datetime | None = None


class Availability(ExchangeValue, frozen=True, kw_only=True):
    """Whether there may be something to claim now, and otherwise when to look again at the latest (None: no need)."""

    ready: bool
    next_at: datetime | None = None


class TopicStats(ExchangeValue, frozen=True, kw_only=True):
    """The statistics of a topic: messages by state, the age of the oldest ready one, and rates a minute.

    Each message is counted once: `ready` are those that can be claimed now, and `delayed` those that wait for a time.
    The rates are of the last five minutes.
    """

    topic: str
    ready: int = 0
    delayed: int = 0
    leased: int = 0
    done: int = 0
    dead: int = 0
    oldest_ready_age: timedelta | None = None
    published_per_minute: float = 0.0
    ended_per_minute: float = 0.0


class Ended(ExchangeValue, frozen=True, kw_only=True):
    """The end of a tracked conversation, claimed by one notifier until it acknowledges that it reported it."""

    conversation_id: str
    outcome: ConversationOutcome
    token: str


ConversationOutcome: TypeAlias = Literal["success", "pending", "failure", "timed_out", "dead", "cancelled"]


@dataclass(frozen=True)
class CachedClaim:
    """A claim, the delivery of its message, and its conversation."""

    claim: Claim
    delivery: Delivery
    conversation_id: str


class ClaimCache:
    """The claims that this client made and did not settle yet, without the bodies, which may be large.

    A leased message changes only together with its active claim. So if the claim is still active, its delivery is as it
    was when it was claimed, and nothing need be read to settle it; if not, the store reads.
    """

    def __init__(self) -> None:
        self._cached: OrderedDict[str, CachedClaim] = OrderedDict()

    def add(self, taken: ClaimTaken) -> None:
        """Add a claim, and forget the oldest where there are too many."""
        self._cached[taken.claim.id] = CachedClaim(taken.claim, taken.delivery, taken.message.conversation_id)
        while len(self._cached) > _MOST_CACHED:
            self._cached.popitem(last=False)

    def find(self, claim_id: str) -> CachedClaim | None:
        """Return a claim, if it is cached."""
        return self._cached.get(claim_id)

    def discard(self, claim_id: str) -> None:
        """Remove a claim, if it is cached."""
        self._cached.pop(claim_id, None)
