"""A claimed message: what a worker may do with it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Self

from prloom.exchange import errors, validation
from prloom.exchange.claim import Claim, Completed, Failed, Released, Settled, TimedOut

if TYPE_CHECKING:
    from types import TracebackType

    from prloom.exchange.claim import ClaimTaken
    from prloom.exchange.message import Message, Metadata
    from prloom.exchange.protocol import ExchangeStore


class ClaimedMessage:
    """What `Exchange.claim` returns. Settle it once, before its lease is over; renew it while you work.

    As a context manager it releases the message where it was not settled, and has it tried again where the block raised
    an exception. Every method but `renew` ends the claim; all raise ClaimOverError where it is over already.
    """

    def __init__(
        self,
        store: ExchangeStore,
        taken: ClaimTaken,
        *,
        lease: timedelta,
        success_topic: str | None,
        failure_topic: str | None,
    ) -> None:
        self.message: Message = taken.message
        self.claim: Claim = taken.claim
        self.delivery = taken.delivery
        self.settled: Settled | None = None
        self._store = store
        self._lease = lease
        self._success_topic = success_topic
        self._failure_topic = failure_topic

    @property
    def id(self) -> str:
        """The claim's id."""
        return self.claim.id

    def renew(self, lease: timedelta | None = None) -> Claim:
        """Extend the claim: it lasts from now on for as long as it was requested for, or for `lease`."""
        if lease is None:
            wanted = self._lease
        else:
            wanted = validation.checked_lease(lease)
        self.claim = self._store.renew(self.claim.id, wanted)
        return self.claim

    def complete(self, body: str, *, topic: str | None = None, metadata: Metadata | None = None) -> Settled:
        """End the claim as completed, and publish `body` on `topic`, the success topic, or `<topic>.completed`."""
        wanted = topic or self._success_topic
        return self.settle(Completed(body=body, topic=wanted, metadata=metadata or {}))

    def fail(
        self,
        error: str,
        *,
        body: str | None = None,
        topic: str | None = None,
        metadata: Metadata | None = None,
        retry: bool = False,
    ) -> Settled:
        """End the claim as failed; publish `body`, or the error, on `topic`, the failure topic, or `<topic>.failed`.

        With `retry` the message is tried again later, and a reply goes out only when it is out of attempts.
        """
        wanted = topic or self._failure_topic
        return self.settle(Failed(error=error, body=body, topic=wanted, metadata=metadata or {}, retry=retry))

    def time_out(self, error: str, *, metadata: Metadata | None = None) -> Settled:
        """End the claim as timed out, and publish the error on `<topic>.timed_out`."""
        return self.settle(TimedOut(error=error, metadata=metadata or {}))

    def release(self, reason: str = "handed back", *, delay: timedelta | None = None) -> Settled:
        """End the claim without counting the attempt; another worker may take the message at once, or after `delay`."""
        return self.settle(Released(reason=reason, delay=delay))

    def settle(self, settlement: Completed | Failed | TimedOut | Released) -> Settled:
        """End the claim as the settlement says."""
        checked = validation.checked_settlement(settlement)
        self.settled = errors.retry_idempotent(lambda: self._store.settle(self.claim.id, checked))
        return self.settled

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self.settled is not None:
            return
        if error is None or not isinstance(error, Exception):
            self.release()
        else:
            self.fail(f"{type(error).__name__}: {error}", retry=True)
