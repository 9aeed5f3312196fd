"""Claim messages one after the other, have each worked on, settle the claims, and report all that."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from prloom import backoff
from prloom.backoff import Backoff
from prloom.exchange import notifier
from prloom.exchange.claim import Completed, Failed
from prloom.exchange.errors import ClaimOverError, ExchangeError, StoreError
from prloom.exchange.notifier import ListenerWait
from prloom.exchange.worker.job import JobLost, late_topic
from prloom.exchange.worker.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Callable

    from prloom.exchange.claim import Settled, Settlement
    from prloom.exchange.exchange import Exchange
    from prloom.exchange.message import Metadata
    from prloom.exchange.worker.config import ClaimConfig
    from prloom.exchange.worker.job import Jobs, WorkerIdentity
    from prloom.exchange.worker.supervisor import SignalPipe

AttemptOutcome: TypeAlias = Literal[
    "began", "completed", "failed", "timed_out", "retrying", "dead", "lost", "handed_back"
]
"""What became of a message at this worker; `retrying` is a failure after which it is tried again."""

_FIRST_PAUSE: Final = 0.5
_PAUSES: Final = Backoff(initial=timedelta(seconds=_FIRST_PAUSE), maximum=timedelta(seconds=30))
"""The waits for an exchange that cannot be used."""


@dataclass(frozen=True)
class MessageProgress:
    """A message was begun, or is done with, after so many seconds.

    `why` is the error, `reply` the topic on which the reply went out, and `pause` the seconds until it is tried again.
    """

    outcome: AttemptOutcome
    topic: str
    message_id: str
    attempt: int
    seconds: float = 0.0
    why: str = ""
    reply: str | None = None
    pause: float | None = None


@dataclass(frozen=True)
class WorkerError:
    """The exchange could not be used; the worker tries again after so many seconds."""

    error: str
    pause: float


WorkerEvent: TypeAlias = MessageProgress | WorkerError
"""What a worker reports to the program that started it."""


class Worker:
    """Works on one message at a time."""

    def __init__(
        self,
        config: ClaimConfig,
        jobs: Jobs,
        exchange: Exchange,
        signals: SignalPipe,
        identity: WorkerIdentity,
        *,
        report: Callable[[WorkerEvent], None],
    ) -> None:
        self._config = config
        self._jobs = jobs
        self._exchange = exchange
        self._signals = signals
        self._identity = identity
        self._report = report
        self._failures = 0  # of the exchange, since it was last used
        self._reached = False

    def run(self, *, once: bool) -> MessageProgress | None:
        """Work until asked to stop, or (`once`) until one message is done with, which is returned then.

        Raises StoreError where the exchange cannot be used from the first; later on it waits until it can.
        """
        while not self._signals.stops:
            try:
                progress = self._work_until_error(once=once)
            except StoreError as error:
                if not self._reached:
                    raise
                self._pause_after(error)
            else:
                return progress
        return None

    def _work_until_error(self, *, once: bool) -> MessageProgress | None:
        store = self._exchange.store
        with closing(notifier.poll(store, self._claim, topics=self._config.topics)) as steps:
            for step in steps:
                self._reached, self._failures = True, 0
                if isinstance(step, ListenerWait):
                    self._wait(step)
                else:
                    progress = self._handle(step)
                    if once:
                        return progress
                if self._signals.stops:
                    break
        return None

    def _claim(self) -> Lease | None:
        begun = time.monotonic()
        config = self._config
        claimed = self._exchange.claim(
            config.topics,
            group=config.group,
            instance=self._identity.worker,
            lease=config.lease,
            max_attempts=config.max_attempts,
        )
        if claimed is None:
            return None
        return Lease(claimed, config.lease, since=begun, wake=self._signals.wake, store=self._exchange.store)

    def _wait(self, wait: ListenerWait) -> None:
        descriptor = wait.listener.fileno()
        self._signals.wait(wait.limit.total_seconds(), descriptor)
        wait.listener.drain()

    def _pause_after(self, error: StoreError) -> None:
        """Report that the exchange could not be used, and wait a while, longer each time."""
        self._failures += 1
        pause = backoff.doubled(_PAUSES, self._failures).total_seconds()
        self._report(WorkerError(str(error), pause))
        self._signals.wait(pause)

    def _handle(self, lease: Lease) -> MessageProgress:
        """Work on a claimed message, and settle the claim."""
        self._report(_progress("began", lease))
        progress = self._run_and_settle(lease)
        self._report(progress)
        return progress

    def _run_and_settle(self, lease: Lease) -> MessageProgress:
        end = self._jobs.run(lease, self._signals, self._identity)
        if isinstance(end, JobLost):
            self._publish_late(lease, end.late)
            return _progress("lost", lease, why=end.why)
        return self._settle(lease, end)

    def _settle(self, lease: Lease, settlement: Settlement) -> MessageProgress:
        """Settle the claim; where the store fails, try again while the lease lasts, or until asked to stop twice."""
        while True:
            try:
                return _settled_progress(lease, lease.claimed.settle(settlement))
            except ClaimOverError as error:
                self._publish_late(lease, settlement)
                return _progress("lost", lease, why=str(error))
            except StoreError as error:
                why = lease.lost(time.monotonic())
                if why:
                    self._publish_late(lease, settlement)
                if why or self._signals.stops > 1:
                    return _progress("lost", lease, why=why or str(error))
                self._report(WorkerError(str(error), _FIRST_PAUSE))
            self._signals.wait(_FIRST_PAUSE)
            lease.renew_if_due(time.monotonic())

    def _publish_late(self, lease: Lease, result: Settlement | None) -> None:
        """Publish a result that nobody waits for any more, for people to read, as soon as the exchange can be used."""
        if not isinstance(result, Completed | Failed) or result.body is None:
            return
        while True:
            try:
                _note_late(self._exchange, lease, result.body, result.metadata)
            except StoreError as error:
                if self._signals.stops:
                    return
                self._pause_after(error)
            except ExchangeError:  # the message is gone
                return
            else:
                return


def _note_late(exchange: Exchange, lease: Lease, body: str, metadata: Metadata) -> None:
    """Publish a result whose claim has expired; where the message was cancelled, nobody wants to know."""
    message, claim = lease.claimed.message, lease.claimed.id
    states = {each.id: each.status for each in exchange.inspect(message.id).claims}
    if states.get(claim) == "expired":
        topic = late_topic(message.topic)
        exchange.publish(topic, body, parent=message.id, key=claim, metadata={**metadata, "claim": claim})


def _settled_progress(lease: Lease, settled: Settled) -> MessageProgress:
    claim, reply = settled.claim, settled.reply
    reply_topic = None
    if reply is not None:
        reply_topic = reply.topic
    progress = _progress(_outcome(settled), lease, why=claim.error or "", reply=reply_topic)
    if settled.retry_at is None or claim.completed_at is None:
        return progress
    pause = settled.retry_at - claim.completed_at  # both are the exchange's own time
    return replace(progress, pause=max(pause.total_seconds(), 0.0))


def _outcome(settled: Settled) -> AttemptOutcome:
    status, reply = settled.claim.status, settled.reply
    if status == "cancelled":
        return "handed_back"
    if reply is None:
        return "retrying"
    if reply.metadata.get("status") == "dead":
        return "dead"
    if status in {"completed", "timed_out"}:
        return status
    return "failed"


def _progress(outcome: AttemptOutcome, lease: Lease, *, why: str = "", reply: str | None = None) -> MessageProgress:
    claimed = lease.claimed
    return MessageProgress(
        outcome=outcome,
        topic=claimed.message.topic,
        message_id=claimed.message.id,
        attempt=claimed.claim.attempt,
        seconds=time.monotonic() - lease.since,
        why=why,
        reply=reply,
    )
