"""Run one agent, in a process of its own: `python -m prloom.agents.supervisor RUN_FOLDER [LOCK_DESCRIPTOR]`.

It has its own session and no pipe to the dispatcher, so the run and its limits survive the dispatcher's death. It holds
the lock on `running.lock` as long as it lives, which is how others know. Its own environment is what the agent gets, so
that no key is written to disk. SIGTERM ends the run; whatever the run had started, in whatever session, is gone when
`exit.json` is written.
"""

from __future__ import annotations

import errno
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

import msgspec

from prloom import children, flock, processes
from prloom.agents import command, registry, run_folder
from prloom.agents.agent import EndedBy
from prloom.agents.environment import RUN_VARIABLE
from prloom.agents.limits import LimitDetector
from prloom.agents.run_folder import ProcessExit, ProcessWatch
from prloom.agents.run_spec import RunLimits, RunSpec
from prloom.processes import Process

_CHUNK: Final = 1 << 16
_PAUSE: Final = 0.05
_NOT_STARTED: Final = 127  # as a shell says it
_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Capped:
    """A file that takes a certain number of bytes; what comes after is dropped, and that is remembered."""

    def __init__(self, fd: int, limit: int) -> None:
        self._fd = fd
        self._room = limit
        self.full = False

    def write(self, chunk: bytes) -> None:
        """Keep what there is room for; a full disk counts as no room."""
        kept = memoryview(chunk)[: self._room]
        self.full = self.full or len(kept) < len(chunk)
        while kept:
            try:
                written = os.write(self._fd, kept)
            except OSError:
                self._room, self.full = 0, True
                return
            self._room -= written
            kept = kept[written:]


class Supervised:
    """One running agent: its pipes, its clock, and how it ends."""

    def __init__(self, folder: Path, spec: RunSpec) -> None:
        self.limits: RunLimits = spec.limits
        self.ended_by: EndedBy = "exit"
        self.ending = False
        self.code: int | None = None
        self.begun = self.heard = time.monotonic()
        self.look_at = 0.0
        self.termination: processes.Termination | None = None
        self.left_over = 0
        self.out = Capped(run_folder.open_new(folder, run_folder.OUTPUT), spec.limits.output_bytes)
        self.err = Capped(run_folder.open_new(folder, run_folder.STDERR), spec.limits.stderr_bytes)
        self.refusals = _limit_detector(spec)
        self.selector = selectors.DefaultSelector()
        self.wake = _wakeup()
        self.selector.register(self.wake, selectors.EVENT_READ)
        self.agent = _start(folder, spec)
        for pipe, file in ((self.agent.stdout, self.out), (self.agent.stderr, self.err)):
            self._listen(pipe, file)

    def _listen(self, pipe: IO[bytes] | None, file: Capped) -> None:
        if pipe is not None:
            os.set_blocking(pipe.fileno(), False)
            self.selector.register(pipe, selectors.EVENT_READ, file)

    def watch(self) -> None:
        """Watch until the agent and all that it has started are gone."""
        while not self._over():
            for key, _ in self.selector.select(self._patience()):
                self._hear(key)
            self._collect()
            if self.code is None and not self.ending:
                self._check(time.monotonic())
        self._drain(time.monotonic() + self.limits.grace_seconds)

    def _drain(self, until: float) -> None:
        """Take what is still in the pipes. Their other ends are gone; if one is not, it does not hold us for long."""
        while (ready := self.selector.select(0)) and time.monotonic() < until:
            for key, _ in ready:
                self._hear(key)

    def _patience(self) -> float:
        """Return the seconds until something has to be done even if nothing happens."""
        if self.ending or self.code is not None:
            return _PAUSE
        due = min(self.begun + self.limits.wall_seconds, self.heard + self.limits.silence_seconds, self.refusals.due)
        return max(0.0, due - time.monotonic())

    def _hear(self, key: selectors.SelectorKey) -> None:
        """Take all that a pipe has for us, or note the signals that have come."""
        if key.fileobj == self.wake:
            caught = os.read(self.wake, _CHUNK)
            if any(number in caught for number in _STOP_SIGNALS):
                self._end("terminated")
            return
        with suppress(BlockingIOError):
            self._take(key, os.read(key.fd, _CHUNK))

    def _take(self, key: selectors.SelectorKey, chunk: bytes) -> None:
        """Keep a piece of output; an empty one is the pipe's end. Only one a turn, so that a flood stops no clock."""
        if not chunk:
            self.selector.unregister(key.fileobj)
            return
        self.heard = time.monotonic()
        key.data.write(chunk)
        stderr = key.data is self.err
        self.refusals.hear(chunk, stderr=stderr, now=self.heard, at=datetime.now(tz=UTC).astimezone())
        if self.out.full and self.ended_by == "exit":
            self.ended_by, self.ending = "output", True

    def _collect(self) -> bool:
        """Collect every dead child; return whether none is left, and keep how the agent ended."""
        ends: dict[int, int] = {}
        childless = children.collect(ends)
        if self.agent.pid in ends:
            self.code = self.agent.returncode = os.waitstatus_to_exitcode(ends[self.agent.pid])
        return childless

    def _check(self, now: float) -> None:
        if now >= self.refusals.due:
            self._end("limit")
        elif now >= self.begun + self.limits.wall_seconds:
            self._end("timeout")
        elif now >= self.heard + self.limits.silence_seconds:
            self._end("silence")

    def _end(self, reason: EndedBy) -> None:
        """Note why the run ends; an agent that has ended by itself, or for another reason, keeps that one."""
        if self.code is None and not self.ending:
            self.ended_by, self.ending = reason, True

    def _over(self) -> bool:
        """Return whether all is gone; if it should be and is not, ask once, then kill, until it is."""
        now = time.monotonic()
        if (self.code is None and not self.ending) or now < self.look_at:
            return False
        self.look_at = now + _PAUSE
        if self.termination is None:
            self.termination = processes.Termination(now, grace_seconds=self.limits.grace_seconds)
        left = processes.below(os.getpid())
        if self._collect() or self.termination.given_up(now):  # a list may miss what comes and goes
            self.left_over = len(left)
            return True
        self.termination.signal(left, now)
        return False


def _limit_detector(spec: RunSpec) -> LimitDetector:
    agent = registry.AGENTS.get(spec.agent, command)
    return LimitDetector(agent.refusal, patience=spec.limits.refused_seconds)


def _wakeup() -> int:
    """Return a descriptor that becomes readable with each signal of interest; its bytes are the signals' numbers."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *_STOP_SIGNALS):
        signal.signal(number, lambda *_: None)
    # The dispatcher starts us with these blocked: one sent in our first moments is not our end, but is heard now.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
    return readable


def _start(folder: Path, spec: RunSpec) -> subprocess.Popen[bytes]:
    prompt = os.open(folder / run_folder.PROMPT, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return subprocess.Popen(
            spec.argv,
            cwd=spec.cwd,
            env=os.environ | {RUN_VARIABLE: folder.name},
            stdin=prompt,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    finally:
        os.close(prompt)


def supervise(folder: Path) -> ProcessExit:
    """Run what the folder's `invocation.json` says and return how it ended."""
    started, begun = datetime.now(tz=UTC), time.monotonic()
    ended = ProcessExit(code=_NOT_STARTED, ended_by="exit", started_at=started, ended_at=started, duration_ms=0)
    spec = run_folder.load(folder, run_folder.INVOCATION, RunSpec)
    if spec is None:
        return msgspec.structs.replace(ended, error=f"{folder / run_folder.INVOCATION} cannot be read")
    try:
        run = Supervised(folder, spec)
    except OSError as error:
        return msgspec.structs.replace(ended, error=f"{spec.argv[0]}: {error.strerror} ({error.filename})")
    _announce(folder, run.agent.pid)
    run.watch()
    return msgspec.structs.replace(
        ended,
        code=-signal.SIGKILL if run.code is None else run.code,
        ended_by=run.ended_by,
        ended_at=datetime.now(tz=UTC),
        duration_ms=int((time.monotonic() - begun) * 1000),
        truncated=run.out.full,
        stderr_truncated=run.err.full,
        left_over=run.left_over,
        refusal=run.refusals.standing,
    )


def _announce(folder: Path, agent: int) -> None:
    """Write who runs; an agent that is already gone has no identity left, and needs none."""
    me = processes.identity(os.getpid())
    it = processes.identity(agent) or Process(pid=agent, started="")
    if me is not None:
        run_folder.replace(
            folder, run_folder.SUPERVISOR, run_folder.encode(ProcessWatch(run=folder.name, supervisor=me, agent=it))
        )


def _hold_lock(folder: Path, inherited: int | None) -> None:
    """Hold the run's lock until this process ends: the dispatcher's descriptor, or our own when started by hand."""
    if inherited is None:
        inherited = os.open(folder / run_folder.LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        if not flock.try_lock(inherited):
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK))
    os.set_inheritable(inherited, False)  # noqa: FBT003 - the only form it has


def main(argv: list[str]) -> int:
    """Supervise the run of the folder; whatever happens, nothing that was started stays behind."""
    folder = Path(argv[1])
    _hold_lock(folder, int(argv[2]) if argv[2:] else None)
    with suppress(PermissionError):  # already the leader of a session
        os.setsid()
    processes.adopt_orphans()
    try:
        run_folder.replace(folder, run_folder.EXIT, run_folder.encode(supervise(folder)))
    finally:
        processes.kill_descendants({})
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))
