"""Work on one claimed message: run the command, keep the lease, watch the time, and return how to settle the claim."""

from __future__ import annotations

import os
import selectors
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from prloom.exchange.claim import Completed, Failed, Released, TimedOut
from prloom.exchange.worker import command
from prloom.exchange.worker.command import RunningCommand
from prloom.exchange.worker.job import JobLost
from prloom.exchange.worker.supervisor import PAUSE, ProcessReaper

if TYPE_CHECKING:
    from prloom.exchange.claim import Settlement
    from prloom.exchange.message import Metadata
    from prloom.exchange.worker.config import WorkerConfig
    from prloom.exchange.worker.job import WorkerIdentity
    from prloom.exchange.worker.lease import Lease
    from prloom.exchange.worker.supervisor import SignalPipe

_LONGEST_WAIT: Final = 60.0  # seconds; no system waits for years

JobEndedBy: TypeAlias = Literal["exit", "timeout", "lost", "stopped"]


@dataclass(frozen=True)
class JobEnd:
    """How a command ended: by itself, by its time-out, because the claim was lost, or because the worker stops."""

    by: JobEndedBy
    code: int
    stdout: str
    stderr: str
    why: str = ""


class CommandJobs:
    """Runs a command for each message."""

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config

    def run(self, lease: Lease, signals: SignalPipe, identity: WorkerIdentity) -> Settlement | JobLost:
        """Run the command for the message of a lease."""
        try:
            end = CommandJob(self._config, lease, signals, identity).run()
        except OSError as error:
            return never_ran(self._config, error)
        return settlement(end, self._config)


class CommandJob:
    """Works on one message, from the claim to the command's end."""

    def __init__(self, config: WorkerConfig, lease: Lease, signals: SignalPipe, identity: WorkerIdentity) -> None:
        """Start the command; raises OSError where that is not possible."""
        self._lease = lease
        self._signals = signals
        self._grace = config.grace.total_seconds()
        self._ended_by: JobEndedBy = "exit"
        self._childless = False
        self._stop_at: float | None = None
        self._reaper = ProcessReaper(identity.worker, adopted=identity.adopted, spared=identity.spared)
        claimed = lease.claimed
        environ = command.environment(
            os.environb,
            message=claimed.message,
            claim=claimed.claim,
            exchange=identity.exchange,
            worker=identity.worker,
        )
        self._selector = selectors.DefaultSelector()
        try:
            self._command = RunningCommand(
                config.command,
                environ=environ,
                body=claimed.message.body.encode(),
                max_output=config.max_output,
                selector=self._selector,
            )
        except BaseException:
            self._selector.close()
            raise
        for descriptor in signals.descriptors:
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._timeout_at = time.monotonic() + config.timeout.total_seconds()

    def run(self) -> JobEnd:
        """Return when the command and all that it started are gone."""
        try:
            while not self._over(time.monotonic()):
                for key, _ in self._selector.select(self._wait_limit(time.monotonic())):
                    self._serve(key)
                self._check_limits(time.monotonic())
            self._command.finish()
            return self._end()
        finally:
            self._command.close()
            self._selector.close()

    @property
    def _ending(self) -> bool:
        """Whether the command has ended, or is to be ended."""
        return self._command.code is not None or self._ended_by != "exit"

    def _serve(self, key: selectors.SelectorKey) -> None:
        if key.fd not in self._signals.descriptors:
            self._command.serve(key)
            return
        watched = set(self._signals.descriptors)
        self._signals.drain()
        for closed in watched - set(self._signals.descriptors):
            self._selector.unregister(closed)
        self._childless = self._command.collect()

    def _check_limits(self, now: float) -> None:
        """Have the command ended where it is time; what ended by itself has ended by itself."""
        self._lease.renew_if_due(now)
        if self._signals.stops and self._stop_at is None:
            self._stop_at = now + self._grace
        if self._ending:
            return
        grace_is_over = self._stop_at is not None and now >= self._stop_at
        if self._lease.lost(now):
            self._ended_by = "lost"
        elif now >= self._timeout_at:
            self._ended_by = "timeout"
        elif self._signals.stops > 1 or grace_is_over:
            self._ended_by = "stopped"

    def _over(self, now: float) -> bool:
        if not self._ending:
            return False
        gone = self._reaper.all_gone(now, childless=self._childless, at_once=self._ended_by != "exit")
        return gone and (self._command.code is not None or self._childless)

    def _wait_limit(self, now: float) -> float:
        if self._ending:
            return PAUSE
        due = min(self._timeout_at, self._lease.next_check(), self._stop_at or self._timeout_at)
        return min(max(due - now, 0.0), _LONGEST_WAIT)

    def _end(self) -> JobEnd:
        ended_by, code = self._ended_by, self._command.code
        why = self._lease.lost(time.monotonic())
        if why:
            ended_by = "lost"
        if code is None:
            code = -9
        stdout, stderr = self._command.stdout.text(), self._command.stderr.text()
        return JobEnd(by=ended_by, code=code, stdout=stdout, stderr=stderr, why=why)


def settlement(end: JobEnd, config: WorkerConfig) -> Settlement | JobLost:
    """Return how the claim is to be settled, unless another worker has it."""
    match end.by:
        case "lost":
            return JobLost(end.why)
        case "stopped":
            return Released(reason="the worker was stopped")
        case "timeout":
            error = f"command timed out after {config.timeout.total_seconds():g} seconds"
            return TimedOut(error=error, metadata=_metadata(config, None, end.stdout, end.stderr))
        case "exit":
            return _exited(end, config)


def _exited(end: JobEnd, config: WorkerConfig) -> Completed | Failed:
    """Return the settlement for a command that ended by itself: with code 0 it is completed, else it failed."""
    metadata = _metadata(config, end.code, end.stdout, end.stderr)
    if end.code == 0:
        return Completed(body=end.stdout, topic=config.success_topic, metadata=metadata)
    error = f"command exited with code {end.code}"
    body = next((text for text in (end.stderr, end.stdout) if text.strip()), error)
    return Failed(error=error, body=body, topic=config.failure_topic, metadata=metadata, retry=config.retry_failures)


def never_ran(config: WorkerConfig, error: OSError) -> Failed:
    """Return the settlement for a command that could not be started: the machine's fault, to be tried again."""
    text = f"{config.plugin} could not be started: {error.strerror or error}"
    return Failed(error=text, metadata=_metadata(config, None, "", ""), retry=True)


def _metadata(config: WorkerConfig, exit_code: int | None, stdout: str, stderr: str) -> Metadata:
    """Return the metadata of a reply, which stay small; the status is added where it is settled."""
    return {
        "plugin": config.plugin,
        "exit_code": exit_code,
        "stdout": command.shortened(stdout),
        "stderr": command.shortened(stderr),
    }
