"""Take turns at writing, fairly: SQLite lets the one write who asks at the right moment, and starves others."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prloom.exchange.errors import StoreBusyError

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 30.0  # seconds
_FIRST_PAUSE = 0.001
_SHORTEST_PAUSE = 0.0001


class WriterLock:
    """An flock on a file beside the database; the kernel gives it back when its holder is killed.

    The file is also what listeners watch: `poke` writes a byte to it.
    """

    def __init__(self, path: str, *, patience: float = PATIENCE) -> None:
        self.path = path
        self._patience = patience
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        self._fd = os.open(path, flags, 0o600)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the turn; raises StoreBusyError where that takes longer than one is patient (seconds)."""
        self.take()
        try:
            yield
        finally:
            self.give_back()

    def give_back(self) -> None:
        """Let the next one have it."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def notify(self) -> None:
        """Be heard by all listeners."""
        os.pwrite(self._fd, b"!", 0)

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def take(self) -> None:
        """Wait for the turn, and hold it until `give_back`; raises StoreBusyError, as `held` does."""
        end = None
        pause = _FIRST_PAUSE
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                end = end or time.monotonic() + self._patience
            else:
                return
            if time.monotonic() >= end:
                raise StoreBusyError(
                    f"{self.path} has been locked by another process for {self._patience:g} s; "
                    "find out which one, and try again"
                )
            time.sleep(pause)
            # Who waits longer asks more often, so nobody is overtaken for long.
            pause = max(pause * 0.8, _SHORTEST_PAUSE)
