"""Slow down the reading of lines that would take too much of the dispatcher's time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from prloom.extensions.jsonrpc.pace import Pace

_PER_LINE: Final = 20e-6
_PER_BYTE: Final = 20e-9
"""Seconds that reading and decoding take, on a slow machine."""

_IN_A_ROW: Final = 16
"""Lines that are read before everything else in the dispatcher goes on."""


class LinePace:
    """Counts how long the dispatcher reads the lines of one client, and has the next ones wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace = Pace(clock)
        self._lines = 0

    @property
    def pause(self) -> float:
        """Return how many seconds the next line has to wait."""
        return self._pace.pause

    async def wait(self) -> None:
        """Wait until the next line may be read; often enough, let everything else go on."""
        self._lines += 1
        if self.pause or not self._lines % _IN_A_ROW:
            await asyncio.sleep(self.pause)

    def spend(self, size: int) -> None:
        """Count the reading of a line of so many bytes."""
        self._pace.spend(_PER_LINE + _PER_BYTE * size)
