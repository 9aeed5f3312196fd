"""Slow down a client that requests so much that the dispatcher would have little time for anything else."""

from __future__ import annotations

import asyncio
import time
import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

SHARE: Final = 0.1
"""The part of the dispatcher's time that one client may have in the long run."""

BURST: Final = 0.25
"""Seconds of work that it may request at once."""


T = TypeVar("T")


class Pace:
    """Counts how long the dispatcher works for one client, and has its further requests wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = BURST
        self._queue = asyncio.Lock()
        self._at = clock()

    @property
    def pause(self) -> float:
        """Return how many seconds the next request has to wait."""
        self._earn()
        return max(-self._left / SHARE, 0)

    async def wait(self) -> None:
        """Wait until the next request may be worked on; the other side waits too, for nothing more is read."""
        async with self._queue:
            await asyncio.sleep(self.pause)

    @contextmanager
    def worked(self) -> Iterator[None]:
        """Count the time of a block that waits for nothing."""
        begun = self._clock()
        try:
            yield
        finally:
            self.spend(self._clock() - begun)

    def spend(self, seconds: float) -> None:
        """Count a time of work."""
        self._earn()
        self._left -= seconds

    @types.coroutine
    def metered(self, coroutine: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Run a coroutine, and count the time that it really works; not that for which it waits."""
        step: Callable[[], Any] = partial(coroutine.send, None)
        while True:
            try:
                with self.worked():
                    future = step()
            except StopIteration as done:
                result: T = done.value
                return result
            try:
                yield future
            except BaseException as error:  # noqa: BLE001 - it is raised in the coroutine
                step = partial(coroutine.throw, error)
            else:
                step = partial(coroutine.send, None)

    def _earn(self) -> None:
        now = self._clock()
        self._left = min(self._left + (now - self._at) * SHARE, BURST)
        self._at = now
