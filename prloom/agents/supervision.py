"""Supervise the program of a run from its start to the end of all that it started, within its limits."""

from __future__ import annotations

import fcntl
import math
import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from prloom import children, processes
from prloom.agents import disk_room, run_folder, tool_wait
from prloom.agents.agent import Agent, EndedBy
from prloom.agents.disk_room import CappedFile
from prloom.agents.limits import LimitDetector
from prloom.agents.run_folder import ProcessExit, ProcessWatch
from prloom.agents.run_spec import RunLimits
from prloom.agents.runner import Launch
from prloom.exchange.worker import command
from prloom.exchange.worker.job import WorkerIdentity
from prloom.exchange.worker.lease import Lease
from prloom.exchange.worker.supervisor import PAUSE, ProcessReaper, SignalPipe
from prloom.processes import Process

_CHUNK: Final = 1 << 16
_PIPE_ROOM: Final = 1 << 20
"""Bytes that a program may print before anything is read: the most that Linux gives without privileges."""
NOT_STARTED: Final = 127
"""The exit code of a program that could not be started, as a shell says it."""

_LONGEST_WAIT: Final = 60.0  # seconds; no system waits for years


@dataclass(frozen=True)
class SupervisingWorker:
    """What a supervision has of the worker that it is a part of."""

    lease: Lease
    signals: SignalPipe
    identity: WorkerIdentity


class Supervision:
    """One running program: its pipes, its clock, the claim that it runs for, and how it ends."""

    def __init__(
        self,
        folder: Path,
        launch: Launch,
        agent: Agent,
        limits: RunLimits,
        worker: SupervisingWorker,
        *,
        room_patience: float = math.inf,
    ) -> None:
        """Start the program; raises OSError where that is not possible.

        `room_patience` are the seconds for which a full disk is waited for when the program has ended.
        """
        self._folder = folder
        self._limits = limits
        self._room_patience = room_patience
        identity, signals = worker.identity, worker.signals
        self._lease = worker.lease
        self._signals = signals
        self._ended_by: EndedBy = "exit"
        self._ending = False
        self._code: int | None = None
        self._childless = False
        self._limit_detector = LimitDetector(agent.refusal, patience=limits.refused_seconds)
        self._reaper = ProcessReaper(
            identity.worker, adopted=identity.adopted, spared=identity.spared, grace_seconds=limits.grace_seconds
        )
        self._out = CappedFile(run_folder.open_new(folder, run_folder.OUTPUT), limits.output_bytes)
        self._err = CappedFile(run_folder.open_new(folder, run_folder.STDERR), limits.stderr_bytes)
        self._pipes: list[IO[bytes]] = []
        self._selector = selectors.DefaultSelector()
        self._listener = worker.lease.store.listen()
        self.started_at = datetime.now(tz=UTC)
        self._begun = self._heard_at = time.monotonic()
        try:
            self._process = _start(folder, launch, identity.worker)
        except BaseException:
            self._close()
            raise
        _announce(folder, self._process.pid, self.started_at)
        for pipe, file in ((self._process.stdout, self._out), (self._process.stderr, self._err)):
            self._attach(pipe, file)
        for descriptor in (*signals.descriptors, self._listener.fileno()):
            if descriptor is not None:
                self._selector.register(descriptor, selectors.EVENT_READ)

    def _attach(self, pipe: IO[bytes] | None, file: CappedFile) -> None:
        assert pipe is not None  # noqa: S101 - `_start` requests both
        self._pipes.append(pipe)
        os.set_blocking(pipe.fileno(), False)
        if file is self._out:
            _enlarge(pipe)
        self._selector.register(pipe, selectors.EVENT_READ, file)

    def run(self) -> ProcessExit:
        """Return how the program ended, when it and all that it started are gone; raises AgentError on a full disk."""
        try:
            while not self._over(time.monotonic()):
                for key, _ in self._selector.select(self._wait_limit(time.monotonic())):
                    self._serve(key)
                self._check_limits(time.monotonic())
            self._hear_signals()  # what has just ended is gone, and its end may not have been reported yet
            self._drain(time.monotonic() + self._limits.grace_seconds)
            for file in (self._out, self._err):
                disk_room.wait(self._lease, self._signals, file.flush, patience=self._room_patience)
        finally:
            self._close()
        code = self._code
        if code is None:
            code = -signal.SIGKILL
        return ProcessExit(
            code=code,
            ended_by=self._ended_by,
            started_at=self.started_at,
            ended_at=datetime.now(tz=UTC),
            duration_ms=int((time.monotonic() - self._begun) * 1000),
            truncated=self._out.full,
            stderr_truncated=self._err.full,
            left_over=self._reaper.left,
            refusal=self._limit_detector.current,
        )

    def _drain(self, until: float) -> None:
        """Take what is still in the pipes. Their other ends are gone; if one is not, it does not hold us for long."""
        while time.monotonic() < until:
            ready = [key for key, _ in self._selector.select(0) if isinstance(key.data, CappedFile)]
            if not ready:
                return
            for key in ready:
                self._take(key, key.data)

    def _close(self) -> None:
        self._selector.close()
        self._listener.close()
        for pipe in self._pipes:
            pipe.close()
        self._out.close()
        self._err.close()

    def _wait_limit(self, now: float) -> float:
        """Return the seconds until something has to be done even if nothing happens."""
        if self._ending or self._code is not None:
            return PAUSE
        due = min(
            self._begun + self._limits.wall_seconds,
            self._heard_at + self._limits.silence_seconds,
            self._limit_detector.due,
            self._lease.next_check(),
        )
        return min(max(due - now, 0.0), _LONGEST_WAIT)

    def _serve(self, key: selectors.SelectorKey) -> None:
        """Take a piece of what a pipe has for us, note the signals that have come, or check the claim."""
        if isinstance(key.data, CappedFile):
            self._take(key, key.data)
        elif key.fd == self._listener.fileno():
            self._listener.drain()
            self._lease.check()
        else:
            self._hear_signals()

    def _hear_signals(self) -> None:
        watched = set(self._signals.descriptors)
        self._signals.drain()
        for closed in watched - set(self._signals.descriptors):
            self._selector.unregister(closed)
        ends: dict[int, int] = {}
        self._childless = children.collect(ends)
        if self._process.pid in ends:
            self._code = self._process.returncode = os.waitstatus_to_exitcode(ends[self._process.pid])

    def _take(self, key: selectors.SelectorKey, file: CappedFile) -> None:
        """Keep a piece of output; an empty one is the pipe's end. Only one a turn, so that a flood stops no clock."""
        with suppress(BlockingIOError):
            chunk = os.read(key.fd, _CHUNK)
            if not chunk:
                self._selector.unregister(key.fileobj)
                return
            self._heard_at = time.monotonic()
            file.write(chunk)
            stderr = file is self._err
            self._limit_detector.hear(chunk, stderr=stderr, now=self._heard_at, at=datetime.now(tz=UTC).astimezone())
            if self._out.full and self._ended_by == "exit":
                self._ended_by, self._ending = "output", True

    def _check_limits(self, now: float) -> None:
        """Have the program ended where it is time; what ended by itself has ended by itself."""
        self._lease.renew_if_due(now)
        if self._lease.lost(now):
            self._hear_signals()  # it may have ended while this process was stopped, too
        if self._ending or self._code is not None:
            return
        if self._signals.stops > 1 or self._lease.lost(now):
            self._end("terminated")
        elif now >= self._limit_detector.due:
            self._end("limit")
        elif now >= self._begun + self._limits.wall_seconds:
            self._end("timeout")
        elif now >= self._heard_at + self._limits.silence_seconds and not self._has_waited(now):
            self._end("silence")

    def _has_waited(self, now: float) -> bool:
        """Whether the run has not been silent for long, without the time in which it waited for a tool of prloom's."""
        silent = tool_wait.seconds_since(self._folder)
        if silent >= self._limits.silence_seconds:
            return False
        self._heard_at = now - silent
        return True

    def _end(self, reason: EndedBy) -> None:
        self._ended_by, self._ending = reason, True

    def _over(self, now: float) -> bool:
        """Return whether all is gone; what should be and is not is asked to end, then killed."""
        if not self._ending and self._code is None:
            return False
        return self._reaper.all_gone(now, childless=self._childless, at_once=True)


def not_started(reason: str | None, at: datetime, *, ended_by: EndedBy = "exit") -> ProcessExit:
    """Return the end of a run whose program could not be started, or was not because the run had been cancelled."""
    return ProcessExit(code=NOT_STARTED, ended_by=ended_by, started_at=at, ended_at=at, duration_ms=0, error=reason)


def _start(folder: Path, launch: Launch, worker: str) -> subprocess.Popen[bytes]:
    prompt = os.open(folder / run_folder.PROMPT, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # A session of its own: a signal to the worker's group goes to the worker alone, which decides.
        return subprocess.Popen(
            launch.argv,
            cwd=launch.cwd,
            env={**launch.env, command.MARK: command.mark(worker)},
            stdin=prompt,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    finally:
        os.close(prompt)


def _enlarge(pipe: IO[bytes]) -> None:
    """Give a pipe more room than 64 KiB, where the system can.

    A Node.js program that ends by `process.exit()`, as gemini does, loses what it printed and the pipe had no room for.
    """
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # the user's pipes have as much room together as they may
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_ROOM)


def _announce(folder: Path, agent: int, started_at: datetime) -> None:
    """Write which processes run and watch; an agent that is already gone has no identity left, and needs none."""
    me = processes.identity(os.getpid())
    it = processes.identity(agent) or Process(pid=agent, started="")
    if me is not None:
        watch = ProcessWatch(run=folder.name, supervisor=me, agent=it, started_at=started_at)
        with suppress(OSError):  # the agent may have removed the folder; its end is heard all the same
            run_folder.replace(folder, run_folder.SUPERVISOR, run_folder.encode(watch))
