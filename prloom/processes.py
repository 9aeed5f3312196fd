"""Recognise processes again, find all that one of them has started or who has connected, and end them."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import psutil

from prloom import children

_UCRED: Final = struct.Struct("3i")  # pid, uid, gid: SO_PEERCRED, unix(7)
_PAUSE: Final = 0.05
_SHORT_PAUSE: Final = 0.005
ENDLESS: Final = 30.0
"""Seconds after which a process that survives SIGKILL (stuck in the kernel) is given up."""


class Process(msgspec.Struct, frozen=True):
    """A process that can be recognised again: its id alone would soon be another's."""

    pid: int
    started: str


def adopt_orphans() -> bool:
    """Make this process the parent of every orphan below it, so that nothing started here can get away.

    Only Linux can do that (prctl PR_SET_CHILD_SUBREAPER); elsewhere orphans are found by their environment.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(children.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def identity(pid: int) -> Process | None:
    """Return what the process can be recognised by, or None when there is none of that id.

    On Linux that is its start in clock ticks since boot: unlike a time of day, no correction of the clock moves it.
    """
    try:
        if sys.platform.startswith("linux"):
            # The name in the second field may hold spaces and brackets; the start is the 22nd field (proc(5)).
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            return Process(pid=pid, started=fields[19])
        return Process(pid=pid, started=repr(psutil.Process(pid).create_time()))
    except (OSError, IndexError, psutil.Error):
        return None


def peer(connected: socket.socket) -> tuple[int, int]:
    """Return the ids of the process at the other end of a Unix socket and of its user, as Linux tells them.

    The process's is 0 where it is none that this one could see. Raises OSError.
    """
    pid, uid, _ = _UCRED.unpack(connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    return pid, uid


def alive(process: Process) -> bool:
    """Return whether this very process is still there and not a dead one that nobody has collected."""
    return identity(process.pid) == process and living(process.pid)


def living(pid: int) -> bool:
    """Return whether there is a process of that id that is not a dead one which nobody has collected."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def below(pid: int) -> list[psutil.Process]:
    """Return every living descendant of the process."""
    try:
        return _living(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []


def tagged(name: str, value: str) -> list[psutil.Process]:
    """Return every process of this user that has the variable in its environment, and all their descendants."""
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        if process.pid != os.getpid() and variable(process, name) == value:
            found[process.pid] = process
            found |= {child.pid: child for child in below(process.pid)}
    found.pop(os.getpid(), None)
    return _living(found.values())


def variable(process: psutil.Process, name: str) -> str | None:
    """Return what a variable was when a process was started; None where it is not set, or cannot be read."""
    try:
        return process.environ().get(name)
    except (psutil.Error, OSError):
        return None


def _living(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    kept = []
    for process in processes:
        try:
            if process.status() != psutil.STATUS_ZOMBIE:
                kept.append(process)
        except psutil.Error:
            continue
    return kept


def terminate(processes: Iterable[psutil.Process]) -> None:
    """Send SIGTERM to each that is still the same process."""
    _each(processes, psutil.Process.terminate)


def kill(processes: Iterable[psutil.Process]) -> None:
    """Send SIGKILL to each that is still the same process."""
    _each(processes, psutil.Process.kill)


def _each(processes: Iterable[psutil.Process], act: Callable[[psutil.Process], None]) -> None:
    for process in processes:
        try:
            act(process)
        except psutil.Error:
            continue


def kill_descendants(ends: dict[int, int]) -> bool:
    """Kill every descendant of this process, which has adopted the orphans among them; return whether none is left.

    The children are collected, with how they ended, until the system knows none any more: a list of processes that is
    read while they come and go may miss one, but no descendant lives without a child of ours above it.
    """
    given_up = time.monotonic() + ENDLESS
    while not (over := children.collect(ends)) and time.monotonic() < given_up:
        kill(below(os.getpid()))
        time.sleep(_SHORT_PAUSE)
    return over


class Termination:
    """Ends processes: each gets SIGTERM once, and SIGKILL after the grace."""

    def __init__(self, begun: float, *, grace_seconds: float) -> None:
        self._kill_at = begun + grace_seconds
        self._terminated: set[int] = set()

    def signal(self, left: Sequence[psutil.Process], now: float) -> None:
        """Send those that are left the signal that is due."""
        if now >= self._kill_at:
            kill(left)
            return
        terminate(process for process in left if process.pid not in self._terminated)
        self._terminated |= {process.pid for process in left}

    def given_up(self, now: float) -> bool:
        """Whether SIGKILL has not helped for so long that it never will."""
        return now > self._kill_at + ENDLESS


def clean_up(variable: str, value: str, *, grace_seconds: float = 2.0) -> int:
    """End all that has the variable in its environment, its parent being gone; return how many survived even that.

    Takes as long as the grace when something does not want to end, so call it in a thread.
    """
    termination = Termination(time.monotonic(), grace_seconds=grace_seconds)
    while left := tagged(variable, value):
        now = time.monotonic()
        if termination.given_up(now):
            return len(left)
        termination.signal(left, now)
        time.sleep(_PAUSE)
    return 0
