"""The file beside the database that writers lock, and that listeners watch."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from prloom import flock
from prloom.exchange.errors import StoreBusyError

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

_IN_MODIFY: Final = 0x2  # inotify(7)
PATIENCE = 30.0  # seconds
_FIRST_PAUSE = 0.001
_SHORTEST_PAUSE = 0.0001


class WriterLock:
    """An flock on a file beside the database; the kernel gives it back when its holder is killed.

    The file is also what listeners watch: `notify` writes a byte to it.
    """

    def __init__(self, path: str, *, patience: float = PATIENCE) -> None:
        self.path = path
        self._patience = patience
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        self._fd = os.open(path, flags, 0o600)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock; raises StoreBusyError where it is not free for `patience` seconds."""
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Release the lock."""
        flock.unlock(self._fd)

    def notify(self) -> None:
        """Wake all listeners, by writing a byte to the file."""
        os.pwrite(self._fd, b"!", 0)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def acquire(self) -> None:
        """Wait for the lock, and hold it until `release`; raises StoreBusyError, as `locked` does."""
        # A writer that waits longer tries more often, so none is overtaken for long.
        pauses = flock.shrinking_pauses(_FIRST_PAUSE, 0.8, _SHORTEST_PAUSE)
        if not flock.lock_within(self._fd, self._patience, pauses=pauses):
            raise StoreBusyError(
                f"{self.path} has been locked by another process for {self._patience:g} s; "
                "find out which one, and try again"
            )


class FileListener:
    """Hears each change of a file; where the system cannot watch it, it hears nothing."""

    def __init__(self, path: str) -> None:
        self._fd = _watch(path)

    def fileno(self) -> int | None:
        """Return the watch's descriptor."""
        return self._fd

    def drain(self) -> None:
        """Take what came, without waiting."""
        if self._fd is not None:
            with suppress(BlockingIOError):
                while os.read(self._fd, 65536):
                    pass

    def close(self) -> None:
        """Close the watch; a second call does nothing."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


def _watch(path: str) -> int | None:
    """Return a watch on the file: two calls, for which a library would load asyncio into every command that waits."""
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 (only a program that waits needs it)

    libc = ctypes.CDLL(None, use_errno=True)
    fd: int = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    if fd >= 0 and libc.inotify_add_watch(fd, os.fsencode(path), _IN_MODIFY) >= 0:
        return fd
    log.info("%s cannot be watched (%s); prloom checks it from time to time", path, os.strerror(ctypes.get_errno()))
    if fd >= 0:
        os.close(fd)
    return None
