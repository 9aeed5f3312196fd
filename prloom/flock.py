"""Lock an open file or folder with flock(2): the kernel releases the lock when its last descriptor is closed."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterable, Iterator


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Lock a descriptor's file if that is free; return whether it was."""
    try:
        fcntl.flock(fd, _kind(shared=shared) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(fd: int) -> bool:
    """Return whether somebody else holds a descriptor's file locked for itself, by trying to share it for a moment.

    False where nobody can tell, as on a file system without locks. The descriptor may be one for reading only.
    """
    try:
        if not try_lock(fd, shared=True):
            return True
        unlock(fd)
    except OSError:
        return False
    return False


def wait_and_lock(fd: int) -> None:
    """Lock a descriptor's file, however long that takes: for locks that are never held for longer than a moment."""
    fcntl.flock(fd, fcntl.LOCK_EX)


def lock_within(fd: int, seconds: float, *, pauses: Iterable[float] | None = None, shared: bool = False) -> bool:
    """Lock a descriptor's file, trying again after each pause; return False if it is not free in time."""
    end = time.monotonic() + seconds
    for pause in growing_pauses() if pauses is None else pauses:
        if try_lock(fd, shared=shared):
            return True
        if time.monotonic() >= end:
            break
        time.sleep(pause)
    return False


def unlock(fd: int) -> None:
    """Release a lock before its descriptor is closed."""
    fcntl.flock(fd, fcntl.LOCK_UN)


def growing_pauses(first: float = 0.0005, factor: float = 2.0, longest: float = 0.01) -> Iterator[float]:
    """Yield pauses in seconds, each longer than the one before, up to a longest one."""
    pause = first
    while True:
        yield pause
        pause = min(pause * factor, longest)


def shrinking_pauses(first: float, factor: float, shortest: float) -> Iterator[float]:
    """Yield pauses in seconds, each shorter than the one before: a process that waits longer tries more often."""
    pause = first
    while True:
        yield pause
        pause = max(pause * factor, shortest)


def _kind(*, shared: bool) -> int:
    if shared:
        return fcntl.LOCK_SH
    return fcntl.LOCK_EX
