"""Wait until there may be something new, for a bounded time."""

from __future__ import annotations

import os
import select
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

    from prloom.exchange.protocol import Listener


def wait(listener: Listener, limit: timedelta) -> None:
    """Return when the listener hears something, at the latest after `limit`."""
    fd = listener.fileno()
    seconds = max(limit.total_seconds(), 0)
    if fd is None:
        time.sleep(seconds)
        return
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if poll.poll(seconds * 1000):
        listener.drain()


class PipeListener:
    """Hears the pokes of its own process through a pipe."""

    def __init__(self, pokes: Notifier) -> None:
        self._pokes = pokes
        self._fds = os.pipe()
        for fd in self._fds:
            os.set_blocking(fd, False)

    def fileno(self) -> int | None:
        """Return the pipe's end to wait for."""
        return self._fds[0]

    def drain(self) -> None:
        """Empty the pipe."""
        with suppress(BlockingIOError):
            while os.read(self._fds[0], 4096):
                pass

    def poke(self) -> None:
        """Be heard; a full pipe says it already."""
        with suppress(BlockingIOError):
            os.write(self._fds[1], b"!")

    def close(self) -> None:
        """Let go of the pipe; a second call does nothing."""
        if self._pokes.forget(self):
            for fd in self._fds:
                os.close(fd)


class Notifier:
    """The listeners of one process's store."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._listeners: set[PipeListener] = set()

    def listen(self) -> PipeListener:
        """Return a new listener."""
        with self._lock:
            listener = PipeListener(self)
            self._listeners.add(listener)
            return listener

    def poke(self) -> None:
        """Wake all of them."""
        with self._lock:
            for listener in self._listeners:
                listener.poke()

    def forget(self, listener: PipeListener) -> bool:
        """Poke this one no more; False if that is so already."""
        with self._lock:
            known = listener in self._listeners
            self._listeners.discard(listener)
            return known

    def close(self) -> None:
        """Close all listeners."""
        for listener in tuple(self._listeners):
            listener.close()
