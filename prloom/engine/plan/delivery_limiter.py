"""Give each bridge a few actions at a time, and what only acknowledges after all that says something."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from prloom.core import acknowledgements

AT_ONCE = 8
"""Actions that are under way through one bridge: one that hangs keeps no other waiting, and none waits for hundreds."""


class DeliveryLimiter:
    """A bridge takes one request after another, at times with a pause between. So one courtesy at most is under way.

    And it is begun only while nothing else is on its way through the bridge: a reply waits for one courtesy at most.
    """

    def __init__(self) -> None:
        self._others: Counter[str] = Counter()
        self._room: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))
        self._one: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._free: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._sent: dict[str, tuple[datetime, ...]] = {}

    @asynccontextmanager
    async def first(self, bridge: str) -> AsyncIterator[None]:
        """Wait until there is room, and hold courtesies back while something waits or is on its way."""
        self._others[bridge] += 1
        try:
            async with self._room[bridge]:
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

    def count(self, bridge: str, now: datetime) -> bool:
        """Count one more courtesy, and return whether it may be sent: few are, for the others need the writes."""
        sent = acknowledgements.lately(self._sent.get(bridge, ()), now)
        if not acknowledgements.may_be_sent(sent, now):
            return False
        self._sent[bridge] = (*sent, now)
        return True
