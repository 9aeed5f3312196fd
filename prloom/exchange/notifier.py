"""Listen, look, wait: the one loop of everything that waits for the exchange, and listeners within one process."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from prloom.exchange.protocol import ExchangeStore, Listener

T = TypeVar("T")

RECHECK = timedelta(seconds=5)
"""The longest wait before looking again, if the listener heard nothing."""

DEAF_RECHECK = timedelta(milliseconds=250)
"""The same for a store that cannot be listened to."""


@dataclass(frozen=True)
class ListenerWait:
    """Nothing was found: the loop's caller is to wait for the listener, at most for `limit`, and then to continue."""

    listener: Listener
    limit: timedelta


Steps: TypeAlias = Generator[T | ListenerWait, None, None]
"""What a loop does: it yields what it found, or has its caller wait in the caller's own way."""


def poll(
    store: ExchangeStore,
    find: Callable[[], T | None],
    *,
    topics: Sequence[str] = (),
    patience: timedelta | None = None,
) -> Steps[T]:
    """Yield what `find` returns, as it comes, and a `ListenerWait` whenever that is None.

    It ends when nothing was found for as long as `patience`; without one it never does. `topics` are those whose
    delayed messages end a wait. It listens first, so that it misses nothing that comes in between.
    """
    with closing(store.listen()) as listener:
        deadline = _deadline(patience)
        while True:
            found = find()
            if found is not None:
                yield found
                deadline = _deadline(patience)
            elif deadline is not None and time.monotonic() >= deadline:
                return
            else:
                yield ListenerWait(listener, wait_limit(store, listener, topics, deadline))


def block(steps: Steps[T]) -> Iterator[T]:
    """Yield what a loop finds, and block the thread while it waits."""
    with closing(steps):
        for step in steps:
            if isinstance(step, ListenerWait):
                wait(step.listener, step.limit)
            else:
                yield step


def wait_limit(
    store: ExchangeStore, listener: Listener, topics: Sequence[str], deadline: float | None = None
) -> timedelta:
    """Return how long to wait for the listener before looking again; `deadline` is a time of `time.monotonic`."""
    limit = RECHECK
    if listener.fileno() is None:
        limit = DEAF_RECHECK
    next_at = store.availability(topics).next_at
    if next_at is not None:
        limit = min(limit, max(next_at - store.now(), timedelta(0)))
    if deadline is not None:
        limit = min(limit, timedelta(seconds=max(deadline - time.monotonic(), 0)))
    return limit


def wait(listener: Listener, limit: timedelta) -> None:
    """Block until the listener hears something, at most for `limit`."""
    fd = listener.fileno()
    seconds = max(limit.total_seconds(), 0)
    if fd is None:
        time.sleep(seconds)
        return
    readable = select.poll()
    readable.register(fd, select.POLLIN)
    if readable.poll(seconds * 1000):
        listener.drain()


def _deadline(patience: timedelta | None) -> float | None:
    if patience is None:
        return None
    return time.monotonic() + patience.total_seconds()


class PipeListener:
    """Hears the notifications of its own process through a pipe."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
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

    def notify(self) -> None:
        """Make the pipe readable; a full pipe is readable already."""
        with suppress(BlockingIOError):
            os.write(self._fds[1], b"!")

    def close(self) -> None:
        """Close the pipe; a second call does nothing."""
        if self._notifier.forget(self):
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

    def notify(self) -> None:
        """Wake all listeners."""
        with self._lock:
            for listener in self._listeners:
                listener.notify()

    def forget(self, listener: PipeListener) -> bool:
        """Remove a listener; return False if it was removed before."""
        with self._lock:
            registered = listener in self._listeners
            self._listeners.discard(listener)
            return registered

    def close(self) -> None:
        """Close all listeners."""
        for listener in tuple(self._listeners):
            listener.close()
