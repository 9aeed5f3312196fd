"""Supervise processes: hear signals and ended children, end what a command leaves running, and survive SIGKILL."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from prloom import processes
from prloom.exchange.worker import command

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import psutil

PAUSE: Final = 0.05
"""Seconds between two searches for processes that are left."""

_STOP: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PIPE_SIZE: Final = 1 << 16
_LINGER: Final = 0.2  # seconds in which what ends by itself just after the command (a `tee`) may do so
_GRACE: Final = 2.0  # seconds between SIGTERM and SIGKILL
_ALL_WELL: Final = b"."
_MOST_DESCRIPTORS: Final = 65536


class SignalPipe:
    """Writes signals as bytes to a pipe, so that one wait hears everything; for the main thread only.

    `stops` counts the requests to stop. `leash` is a pipe whose other end the pool holds: when that end is closed, the
    pool is gone, and the worker is to stop too.
    """

    def __init__(self, leash: int | None = None) -> None:
        self.stops = 0
        self._leash = leash
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *_STOP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup`, or a shell's `&`, has it
                signal.signal(number, lambda *_: None)

    def close(self) -> None:
        """Close the pipes, in a process that hears signals of its own."""
        signal.set_wakeup_fd(-1)
        for descriptor in (*self.descriptors, self._writer):
            os.close(descriptor)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors that become readable when a signal came or the pool is gone."""
        if self._leash is None:
            return (self._reader,)
        return (self._reader, self._leash)

    def wake(self) -> None:
        """Wake the main thread; may be called from any thread."""
        with suppress(BlockingIOError):
            os.write(self._writer, b"\0")

    def drain(self) -> None:
        """Count the requests to stop that have come, without waiting."""
        with suppress(BlockingIOError):
            while received := os.read(self._reader, _PIPE_SIZE):
                self.stops += sum(received.count(number) for number in _STOP)
        if self._leash is not None and _readable((self._leash,), 0):
            os.close(self._leash)
            self._leash = None
            self.stops += 1

    def wait(self, seconds: float, other: int | None = None) -> None:
        """Wait until something comes, here or at another descriptor, at most for so many seconds."""
        descriptors = self.descriptors
        if other is not None:
            descriptors += (other,)
        _readable(descriptors, seconds)
        self.drain()


def _readable(descriptors: Iterable[int], seconds: float) -> bool:
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(seconds, 0) * 1000))


class ProcessReaper:
    """Ends what a command leaves running, in whatever session, before its claim is settled.

    These are all processes below this one, which adopts orphans where the system can do that; it works on one message
    at a time. `spared` were below it before; they stay alone, with what is below them. `left` is how many there were
    when they were last looked for.
    """

    def __init__(
        self, worker: str, *, adopted: bool, spared: Sequence[psutil.Process] = (), grace_seconds: float = _GRACE
    ) -> None:
        self.left = 0
        self._grace = grace_seconds
        self._worker = worker
        self._adopted = adopted
        self._spared = spared
        self._begin_at = 0.0
        self._next_search = 0.0
        self._termination: processes.Termination | None = None

    def all_gone(self, now: float, *, childless: bool, at_once: bool) -> bool:
        """Whether nothing is left; what is left gets SIGTERM, and SIGKILL where that does not help.

        `childless` says that the system knows no child of ours: then, orphans being ours, nothing can be left.
        """
        if childless and self._adopted:
            self.left = 0
            return True
        if self._termination is None:
            self._begin_at = now
            if not at_once:
                self._begin_at += _LINGER
            self._termination = processes.Termination(self._begin_at, grace_seconds=self._grace)
        if now < self._next_search:
            return False
        self._next_search = now + PAUSE
        left = self._left()
        self.left = len(left)
        if now >= self._begin_at:
            self._termination.signal(left, now)
        return not left or self._termination.given_up(now)

    def _left(self) -> list[psutil.Process]:
        found = {each.pid: each for each in processes.below(os.getpid())}
        if not self._adopted:
            found |= {each.pid: each for each in processes.tagged(command.MARK, command.mark(self._worker))}
        spared = {each.pid for process in self._spared for each in (process, *processes.below(process.pid))}
        return [each for pid, each in found.items() if pid not in spared]


class Watchdog:
    """A second process, in a session of its own, that ends what a worker started when the worker is killed.

    Nothing that a process does can help it against SIGKILL. So the watchdog holds the end of a pipe: when the other
    end is closed without a word, the worker is gone, and everything with its mark in its environment is ended. Else
    its command would continue beside that of the worker that takes the message over. Start it before anything is
    opened, because it inherits what is open by then.
    """

    def __init__(self, worker: str) -> None:
        reader, self._writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                _watch(reader, worker)
            finally:
                os._exit(0)
        os.close(reader)
        os.waitpid(child, 0)

    def dismiss(self) -> None:
        """Say that the worker ends by itself and leaves nothing behind."""
        os.write(self._writer, _ALL_WELL)
        os.close(self._writer)


def _watch(pipe: int, worker: str) -> None:
    os.setsid()
    if os.fork() != 0:  # an orphan is no child of the worker, which waits for all of its children
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.dup2(pipe, 3)
    os.closerange(4, _MOST_DESCRIPTORS)
    if os.read(3, 1) != _ALL_WELL:
        processes.clean_up(command.MARK, command.mark(worker))
