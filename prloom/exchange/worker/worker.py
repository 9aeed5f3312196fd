"""Claim messages one after the other, have each worked on, and settle the claims."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from prloom.exchange import command_result
from prloom.exchange.errors import ClaimOverError, StoreError
from prloom.exchange.worker import job
from prloom.exchange.worker.job import Job
from prloom.exchange.worker.lease import Lease
from prloom.exchange.worker.progress import How, Progress, WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from prloom.exchange.claim import Settled, Settlement
    from prloom.exchange.claimed_message import ClaimedMessage
    from prloom.exchange.exchange import Exchange
    from prloom.exchange.protocol import Listener
    from prloom.exchange.worker.config import WorkerConfig
    from prloom.exchange.worker.job import WorkerIdentity
    from prloom.exchange.worker.progress import News
    from prloom.exchange.worker.signal_pipe import SignalPipe

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0


class Worker:
    """A worker at one message at a time."""

    def __init__(
        self,
        terms: WorkerConfig,
        exchange: Exchange,
        bell: SignalPipe,
        place: WorkerIdentity,
        *,
        tell: Callable[[News], None],
    ) -> None:
        self._terms = terms
        self._exchange = exchange
        self._bell = bell
        self._place = place
        self._tell = tell
        self._pause = 0.0
        self._begun = False

    def run(self, *, once: bool) -> Progress | None:
        """Work until asked to stop, or (`once`) until one message is done with, which is returned then.

        Raises StoreError where the exchange cannot be used from the first; later on it waits until it can.
        """
        with closing(self._exchange.store.listen()) as listener:
            while not self._bell.stops:
                told = self._turn(listener)
                if told is not None and once:
                    return told
        return None

    def _turn(self, listener: Listener) -> Progress | None:
        """Work on the next message, or wait a while for one."""
        try:
            since = time.monotonic()
            held = self._claim()
            if held is None:
                self._wait(listener, self._exchange.pause(listener, self._terms.topics))
        except StoreError as error:
            self._bear(error)
            return None
        self._pause, self._begun = 0.0, True
        if held is None:
            return None
        lease = Lease(held, self._terms.lease, since=since, ring=self._bell.ring)
        self._tell(_told("began", held, since))
        told = self._work(held, lease, since)
        self._tell(told)
        return told

    def _claim(self) -> ClaimedMessage | None:
        terms = self._terms
        return self._exchange.claim(
            terms.topics,
            group=terms.group,
            instance=self._place.worker,
            lease=terms.lease,
            max_attempts=terms.max_attempts,
        )

    def _wait(self, listener: Listener, limit: timedelta) -> None:
        descriptor = listener.fileno()
        self._bell.wait(() if descriptor is None else (descriptor,), limit.total_seconds())
        listener.drain()

    def _bear(self, error: StoreError) -> None:
        """Wait a while, longer each time; what was never well is not waited for."""
        if not self._begun:
            raise error
        self._pause = min(max(self._pause * 2, _FIRST_PAUSE), _LONGEST_PAUSE)
        self._tell(WorkerError(str(error), self._pause))
        self._bell.wait((), self._pause)

    def _work(self, held: ClaimedMessage, lease: Lease, since: float) -> Progress:
        try:
            end = Job(self._terms, held, lease, self._bell, self._place).work()
        except OSError as error:
            wanted: Settlement | None = command_result.never_ran(self._terms.plugin, _refused(self._terms, error))
            why = ""
        else:
            wanted, why = job.settlement(end, self._terms), end.why
        if wanted is None:
            return _told("lost", held, since, why=why)
        return self._settle(held, wanted, lease, since)

    def _settle(self, held: ClaimedMessage, wanted: Settlement, lease: Lease, since: float) -> Progress:
        """Settle the claim; a store in trouble is tried again while the lease lasts, or until we are hurried."""
        pause = _FIRST_PAUSE
        while True:
            try:
                return _outcome(held, held.settle(wanted), since)
            except ClaimOverError as error:
                return _told("lost", held, since, why=str(error))
            except StoreError as error:
                why = lease.lost(time.monotonic())
                if why or self._bell.stops > 1:
                    return _told("lost", held, since, why=why or str(error))
                self._tell(WorkerError(str(error), pause))
            self._bell.wait((), pause)
            lease.tend(time.monotonic())


def _refused(terms: WorkerConfig, error: OSError) -> str:
    return f"{terms.plugin} could not be started: {error.strerror or error}"


def _outcome(held: ClaimedMessage, settled: Settled, since: float) -> Progress:
    claim, reply = settled.claim, settled.reply
    how: How
    if claim.status == "cancelled":
        how = "handed_back"
    elif reply is None:
        how = "retrying"
    elif reply.metadata.get("status") == "dead":
        how = "dead"
    elif claim.status == "completed":
        how = "completed"
    elif claim.status == "timed_out":
        how = "timed_out"
    else:
        how = "failed"
    told = _told(how, held, since, why=claim.error or "", reply=None if reply is None else reply.topic)
    if settled.retry_at is None or claim.completed_at is None:
        return told
    pause = settled.retry_at - claim.completed_at  # both are the exchange's own time
    return replace(told, pause=max(pause.total_seconds(), 0.0))


def _told(how: How, held: ClaimedMessage, since: float, *, why: str = "", reply: str | None = None) -> Progress:
    return Progress(
        how=how,
        topic=held.message.topic,
        message_id=held.message.id,
        attempt=held.claim.attempt,
        seconds=time.monotonic() - since,
        why=why,
        reply=reply,
    )
