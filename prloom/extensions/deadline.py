"""Limit how long a hook may take, not counting the time that an agent works for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Self


class Deadline:
    """An async context that ends in TimeoutError once its limit is used up; then `over` is true."""

    def __init__(self, limit: timedelta) -> None:
        self._left = limit.total_seconds()
        self._timeout = asyncio.timeout(self._left)
        self._pauses = 0
        self._open = False

    @property
    def over(self) -> bool:
        """Whether it was this limit that was used up."""
        return self._timeout.expired()

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        await self._timeout.__aexit__(kind, error, trace)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the limit stand still for as long as this lasts; pauses may overlap."""
        self._pauses += 1
        if self._pauses == 1:
            self._hold()
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0:
                self._go_on()

    def _hold(self) -> None:
        due = self._timeout.when()
        if self._running() and due is not None:
            self._left = due - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def _go_on(self) -> None:
        if self._running():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)

    def _running(self) -> bool:
        return self._open and not self._timeout.expired()
