"""Let what says something go before what only acknowledges, at each bridge, whatever plans they are of."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """A bridge takes one request after another, at times with a pause between. So one courtesy at most is under way.

    And it is begun only while nothing else is on its way through the bridge: a reply waits for one courtesy at most.
    """

    def __init__(self) -> None:
        self._others: Counter[str] = Counter()
        self._one: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._free: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    @asynccontextmanager
    async def first(self, bridge: str) -> AsyncIterator[None]:
        """Hold courtesies back while something is on its way."""
        self._others[bridge] += 1
        try:
            yield
        finally:
            self._others[bridge] -= 1
            self._free[bridge].set()

    @asynccontextmanager
    async def last(self, bridge: str) -> AsyncIterator[None]:
        """Wait until nothing else is on its way, courtesies of others included."""
        async with self._one[bridge]:
            while self._others[bridge]:
                self._free[bridge].clear()
                await self._free[bridge].wait()
            yield
