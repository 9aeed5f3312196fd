"""Let so many workers run at the same time, and prepare no more plans ahead than will have one soon."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from prloom.engine.plan.in_flight import InFlight

SETTING: Final = "agents.workers"


class WorkerSlots:
    """The slots of workers, which plans get in the order in which they request them.

    A plan is prepared for its run before it has a slot, so that no worker has to wait for git. Only as many plans as
    there are slots have a turn to be prepared: hundreds at once would keep git from the runs that go on.
    """

    def __init__(self, workers: int) -> None:
        self._free = asyncio.Semaphore(workers)
        self._preparing = asyncio.Semaphore(workers)

    async def begin_preparing(self, in_flight: InFlight) -> None:
        """Wait until a plan may be prepared; it has its turn until it has a slot, or until `end_preparing`."""
        if not in_flight.preparing:
            await _acquire(self._preparing, in_flight)
            in_flight.preparing = True

    def end_preparing(self, in_flight: InFlight) -> None:
        """Let the next plan be prepared, if this one has a turn."""
        if in_flight.preparing:
            in_flight.preparing = False
            self._preparing.release()

    @asynccontextmanager
    async def slot(self, in_flight: InFlight) -> AsyncIterator[None]:
        """Wait for a free slot, and have it until the block ends."""
        await _acquire(self._free, in_flight)
        self.end_preparing(in_flight)
        try:
            yield
        finally:
            self._free.release()


async def _acquire(places: asyncio.Semaphore, in_flight: InFlight) -> None:
    """Get one of the places; the setting that says how many there are is noted while there is none."""
    with in_flight.waiting_for(SETTING if places.locked() else None):
        await places.acquire()
