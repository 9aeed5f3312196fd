"""Claims: who works, or worked, on a message, what became of that, and how the message stands."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from prloom.exchange.message import ExchangeValue, Message, Metadata

if TYPE_CHECKING:
    from prloom.exchange.protocol import ClaimTaken

ClaimStatus: TypeAlias = Literal["active", "completed", "failed", "timed_out", "expired", "cancelled"]
State: TypeAlias = Literal["ready", "leased", "done", "dead"]
Ending: TypeAlias = Literal["completed", "failed", "timed_out", "cancelled", "dead"]
"""How a message ended: `dead` is out of attempts (state `dead`); all others are state `done`."""

DEFAULT_LEASE = timedelta(seconds=90)
DEFAULT_ATTEMPTS = 5
_MOST_CACHED = 10_000  # claims of one client; for more, a store reads them


class Claim(ExchangeValue, frozen=True, kw_only=True):
    """One worker's turn at a message; its id is the token without which the claim cannot be renewed or settled."""

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
    """How a message stands on its topic.

    `available_at` is None where it may be claimed at once. `attempts` counts the claims since it was published or
    retried, less those handed back. `max_attempts` is None until a publisher or the first worker sets it. `reply` says
    that it was made by settling another message.
    """

    message_id: str
    topic: str
    state: State
    ending: Ending | None = None
    available_at: datetime | None = None
    attempts: int = 0
    max_attempts: int | None = None
    key: str | None = None
    concurrency_key: str | None = None
    ended_at: datetime | None = None
    reply: bool = False


class MessageEntry(ExchangeValue, frozen=True, kw_only=True):
    """A message with all that happened to it, its claims in the order they were made."""

    message: Message
    delivery: Delivery
    claims: tuple[Claim, ...] = ()


class ClaimRequest(ExchangeValue, frozen=True, kw_only=True):
    """What a worker asks for: the next message on any of these topics, for so long, as this one of that group."""

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
    """The work failed, for good or (`retry`) to be tried again; the reply goes to `topic` (`<request topic>.failed`).

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
    """The worker has to stop: the message is ready again, and the attempt does not count."""

    reason: str = "handed back"


Settlement: TypeAlias = Completed | Failed | TimedOut | Released


class Settled(ExchangeValue, frozen=True, kw_only=True):
    """How a claim was settled, and the reply that went out with it (None where the message is to be tried again).

    `retry_at` is when it is tried again at the earliest, where that is not at once.
    """

    claim: Claim
    reply: Message | None = None
    retry_at: datetime | None = None


class Availability(ExchangeValue, frozen=True, kw_only=True):
    """Whether there may be something to claim now, and else when at the latest to look again (None: nothing waits)."""

    ready: bool
    next_at: datetime | None = None


class TopicStats(ExchangeValue, frozen=True, kw_only=True):
    """How a topic stands: messages by state, the age of the oldest ready one, and what came and ended a minute.

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
    """A tracked conversation that ended, taken by one notifier until it says that it told about it."""

    conversation_id: str
    outcome: Outcome
    token: str


Outcome: TypeAlias = Literal["success", "pending", "failure", "timed_out", "dead", "cancelled"]


@dataclass(frozen=True)
class CachedClaim:
    """A claim, how its message stands, and its conversation."""

    claim: Claim
    delivery: Delivery
    conversation_id: str


class ClaimCache:
    """What this client claimed and did not settle yet, without the bodies, which may be large."""

    def __init__(self) -> None:
        self._cached: OrderedDict[str, CachedClaim] = OrderedDict()

    def add(self, taken: ClaimTaken) -> None:
        """Remember a claim."""
        self._cached[taken.claim.id] = CachedClaim(taken.claim, taken.delivery, taken.message.conversation_id)
        while len(self._cached) > _MOST_CACHED:
            self._cached.popitem(last=False)

    def find(self, claim_id: str) -> CachedClaim | None:
        """Return a claim that is remembered."""
        return self._cached.get(claim_id)

    def discard(self, claim_id: str) -> None:
        """Forget a claim."""
        self._cached.pop(claim_id, None)
