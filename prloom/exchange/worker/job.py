"""Work on one claimed message: run the command, keep the lease, watch the clock, and say how it ended."""

from __future__ import annotations

import os
import selectors
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from prloom.exchange import command_result
from prloom.exchange.claim import Released
from prloom.exchange.worker import environment
from prloom.exchange.worker.command import RunningCommand
from prloom.exchange.worker.process_reaper import PAUSE, ProcessReaper

if TYPE_CHECKING:
    import psutil

    from prloom.exchange.claim import Settlement
    from prloom.exchange.claimed_message import ClaimedMessage
    from prloom.exchange.worker.config import WorkerConfig
    from prloom.exchange.worker.lease import Lease
    from prloom.exchange.worker.signal_pipe import SignalPipe

_LOOK: Final = 60.0  # seconds; no system waits for years

EndedBy: TypeAlias = Literal["exit", "timeout", "lost", "stopped"]


@dataclass(frozen=True)
class JobEnd:
    """How a command ended: by itself, by its time-out, because the claim was lost, or because the worker stops."""

    by: EndedBy
    code: int
    stdout: str
    stderr: str
    why: str = ""


@dataclass(frozen=True)
class WorkerIdentity:
    """Where a worker works: its name, its exchange's name, whether orphans come to it, and whom it finds there.

    A program that becomes a worker (`exec`) may have children already, which are none of the worker's business.
    """

    worker: str
    exchange: str
    adopted: bool
    others: tuple[psutil.Process, ...] = ()


class Job:
    """One message, from the claim to the command's end."""

    def __init__(
        self, terms: WorkerConfig, held: ClaimedMessage, lease: Lease, bell: SignalPipe, place: WorkerIdentity
    ) -> None:
        """Start the command; raises OSError where that is not possible."""
        self._lease = lease
        self._bell = bell
        self._grace = terms.grace.total_seconds()
        self._by: EndedBy = "exit"
        self._childless = False
        self._stop_at: float | None = None
        self._left = ProcessReaper(place.worker, adopted=place.adopted, others=place.others)
        environ = environment.environment(
            os.environb, message=held.message, claim=held.claim, exchange=place.exchange, worker=place.worker
        )
        self._selector = selectors.DefaultSelector()
        try:
            self._command = RunningCommand(
                terms.command,
                environ=environ,
                body=held.message.body.encode(),
                max_output=terms.max_output,
                selector=self._selector,
            )
        except BaseException:
            self._selector.close()
            raise
        for descriptor in bell.descriptors:
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._timeout_at = time.monotonic() + terms.timeout.total_seconds()

    def work(self) -> JobEnd:
        """Return when the command and all that it started are gone."""
        try:
            while not self._over(time.monotonic()):
                for key, _ in self._selector.select(self._patience(time.monotonic())):
                    self._hear(key)
                self._watch(time.monotonic())
            self._command.finish()
            return self._end()
        finally:
            self._command.close()
            self._selector.close()

    def _hear(self, key: selectors.SelectorKey) -> None:
        if key.fd not in self._bell.descriptors:
            self._command.serve(key)
            return
        watched = set(self._bell.descriptors)
        self._bell.hear()
        for gone in watched - set(self._bell.descriptors):
            self._selector.unregister(gone)
        self._childless = self._command.collect()

    def _watch(self, now: float) -> None:
        """End the command where it is time; what ended by itself has ended by itself."""
        self._lease.tend(now)
        if self._bell.stops and self._stop_at is None:
            self._stop_at = now + self._grace
        if self._command.code is not None or self._by != "exit":
            return
        if self._lease.lost(now):
            self._by = "lost"
        elif now >= self._timeout_at:
            self._by = "timeout"
        elif self._bell.stops > 1 or (self._stop_at is not None and now >= self._stop_at):
            self._by = "stopped"

    def _over(self, now: float) -> bool:
        if self._command.code is None and self._by == "exit":
            return False
        gone = self._left.gone(now, childless=self._childless, at_once=self._by != "exit")
        return gone and (self._command.code is not None or self._childless)

    def _patience(self, now: float) -> float:
        if self._command.code is not None or self._by != "exit":
            return PAUSE
        due = min(self._timeout_at, self._lease.next(), self._stop_at or self._timeout_at)
        return min(max(due - now, 0.0), _LOOK)

    def _end(self) -> JobEnd:
        by = self._by
        why = self._lease.lost(time.monotonic())
        if self._command.code is None:
            code = -9
        else:
            code = self._command.code
        return JobEnd(
            by="lost" if why else by,
            code=code,
            stdout=self._command.stdout.text(),
            stderr=self._command.stderr.text(),
            why=why,
        )


def settlement(end: JobEnd, terms: WorkerConfig) -> Settlement | None:
    """Return how the claim is to be settled; None where it is not ours any more."""
    match end.by:
        case "lost":
            return None
        case "stopped":
            return Released(reason="the worker was stopped")
        case "timeout":
            return command_result.timed_out(terms.plugin, terms.timeout, stdout=end.stdout, stderr=end.stderr)
        case "exit":
            return command_result.ended(
                terms.plugin,
                end.code,
                stdout=end.stdout,
                stderr=end.stderr,
                success_topic=terms.success_topic,
                failure_topic=terms.failure_topic,
                retry=terms.retry_failures,
            )
