"""Claim messages one after the other, have each worked on, settle the claims, and report all that."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from prloom.exchange import notifier
from prloom.exchange.errors import ClaimOverError, StoreError
from prloom.exchange.notifier import Wait
from prloom.exchange.worker import job
from prloom.exchange.worker.job import Job

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from prloom.exchange.claim import Settled, Settlement
    from prloom.exchange.claimed_message import ClaimedMessage
    from prloom.exchange.exchange import Exchange
    from prloom.exchange.worker.config import WorkerConfig
    from prloom.exchange.worker.job import WorkerIdentity
    from prloom.exchange.worker.supervisor import SignalPipe

Outcome: TypeAlias = Literal["began", "completed", "failed", "timed_out", "retrying", "dead", "lost", "handed_back"]
"""What became of a message at this worker; `retrying` is a failure after which it is tried again."""

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0

_RENEW_INTERVAL: Final = 10.0
"""Seconds between renewals at most: that is how soon a worker learns that its message was cancelled."""

_RENEW_RETRY: Final = 1.0  # seconds until the next try where the store could not be reached


@dataclass(frozen=True)
class Progress:
    """A message was begun, or is done with, after so many seconds.

    `why` is the error, `reply` the topic on which the reply went out, and `pause` the seconds until it is tried again.
    """

    outcome: Outcome
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


WorkerEvent: TypeAlias = Progress | WorkerError
"""What a worker reports to the program that started it."""


class Lease:
    """Renews a claim while its command runs, and knows when the claim is lost.

    It renews in a thread, because the store may take long while the command's time runs out. Times are those of
    `time.monotonic`. `since` is a moment before the claim was made, so that this side never believes the lease to last
    longer than the store does.
    """

    def __init__(self, claimed: ClaimedMessage, length: timedelta, *, since: float, wake: Callable[[], None]) -> None:
        self.claimed = claimed
        self._seconds = length.total_seconds()
        self._pause = min(self._seconds / 3, _RENEW_INTERVAL)
        self._wake = wake
        self.since = since
        self._until = since + self._seconds
        self._renew_at = since + self._pause
        self._renewing = False
        self._lost = ""

    def lost(self, now: float) -> str:
        """Return why this worker no longer has the claim, or nothing if it has."""
        if not self._lost and now >= self._until:
            self._lost = "the lease ran out before it could be renewed"
        return self._lost

    def renew_if_due(self, now: float) -> None:
        """Start to renew the claim, if it is time."""
        if not self._renewing and not self.lost(now) and now >= self._renew_at:
            self._renewing = True
            threading.Thread(target=self._renew, name="renewal", daemon=True).start()

    def next_check(self) -> float:
        """Return when to check again, if nothing wakes the worker before."""
        if self._renewing:
            return self._until
        return min(self._renew_at, self._until)

    def _renew(self) -> None:
        begun = time.monotonic()
        try:
            self.claimed.renew()
        except ClaimOverError as error:
            self._lost = str(error)
        except StoreError:
            self._renew_at = time.monotonic() + _RENEW_RETRY
        else:
            self._until = begun + self._seconds
            self._renew_at = begun + self._pause
        finally:
            self._renewing = False
            self._wake()


class Worker:
    """Works on one message at a time."""

    def __init__(
        self,
        config: WorkerConfig,
        exchange: Exchange,
        signals: SignalPipe,
        identity: WorkerIdentity,
        *,
        report: Callable[[WorkerEvent], None],
    ) -> None:
        self._config = config
        self._exchange = exchange
        self._signals = signals
        self._identity = identity
        self._report = report
        self._pause = 0.0
        self._reached = False

    def run(self, *, once: bool) -> Progress | None:
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

    def _work_until_error(self, *, once: bool) -> Progress | None:
        store = self._exchange.store
        with closing(notifier.poll(store, self._claim, topics=self._config.topics)) as steps:
            for step in steps:
                self._reached, self._pause = True, 0.0
                if isinstance(step, Wait):
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
        return Lease(claimed, config.lease, since=begun, wake=self._signals.wake)

    def _wait(self, wait: Wait) -> None:
        descriptor = wait.listener.fileno()
        self._signals.wait(wait.limit.total_seconds(), descriptor)
        wait.listener.drain()

    def _pause_after(self, error: StoreError) -> None:
        """Report that the exchange could not be used, and wait a while, longer each time."""
        self._pause = min(max(self._pause * 2, _FIRST_PAUSE), _LONGEST_PAUSE)
        self._report(WorkerError(str(error), self._pause))
        self._signals.wait(self._pause)

    def _handle(self, lease: Lease) -> Progress:
        """Run the command for a claimed message, and settle the claim."""
        self._report(_progress("began", lease))
        progress = self._run_and_settle(lease)
        self._report(progress)
        return progress

    def _run_and_settle(self, lease: Lease) -> Progress:
        try:
            end = Job(self._config, lease, self._signals, self._identity).run()
        except OSError as error:
            return self._settle(lease, job.never_ran(self._config, error))
        settlement = job.settlement(end, self._config)
        if settlement is None:
            return _progress("lost", lease, why=end.why)
        return self._settle(lease, settlement)

    def _settle(self, lease: Lease, settlement: Settlement) -> Progress:
        """Settle the claim; where the store fails, try again while the lease lasts, or until asked to stop twice."""
        while True:
            try:
                return _settled_progress(lease, lease.claimed.settle(settlement))
            except ClaimOverError as error:
                return _progress("lost", lease, why=str(error))
            except StoreError as error:
                why = lease.lost(time.monotonic())
                if why or self._signals.stops > 1:
                    return _progress("lost", lease, why=why or str(error))
                self._report(WorkerError(str(error), _FIRST_PAUSE))
            self._signals.wait(_FIRST_PAUSE)
            lease.renew_if_due(time.monotonic())


def _settled_progress(lease: Lease, settled: Settled) -> Progress:
    claim, reply = settled.claim, settled.reply
    reply_topic = None
    if reply is not None:
        reply_topic = reply.topic
    progress = _progress(_outcome(settled), lease, why=claim.error or "", reply=reply_topic)
    if settled.retry_at is None or claim.completed_at is None:
        return progress
    pause = settled.retry_at - claim.completed_at  # both are the exchange's own time
    return replace(progress, pause=max(pause.total_seconds(), 0.0))


def _outcome(settled: Settled) -> Outcome:
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


def _progress(outcome: Outcome, lease: Lease, *, why: str = "", reply: str | None = None) -> Progress:
    claimed = lease.claimed
    return Progress(
        outcome=outcome,
        topic=claimed.message.topic,
        message_id=claimed.message.id,
        attempt=claimed.claim.attempt,
        seconds=time.monotonic() - lease.since,
        why=why,
        reply=reply,
    )
