"""Who is to be worked through again before the next tick, and whether somebody wants that at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection


class WorkQueue:
    """The plans that are woken, by their ids; "" is the repository as a whole."""

    def __init__(self) -> None:
        self.tick_wanted = False
        self._plans: set[str] = set()
        self._something = asyncio.Event()

    def __bool__(self) -> bool:
        return bool(self._plans)

    def add(self, *plan_ids: str | None) -> None:
        """Have plans worked through again before anything else happens; None is no plan, and ends a wait too."""
        self._plans.update(plan_id for plan_id in plan_ids if plan_id is not None)
        self._something.set()

    def want_tick(self) -> None:
        """Have the next tick come at once."""
        self.tick_wanted = True
        self._something.set()

    def drain(self) -> Collection[str]:
        """Return the plans that are woken, which they are no more."""
        plans, self._plans = self._plans, set()
        self._something.clear()
        return plans

    async def wait(self, end: float, due_in: Callable[[], float]) -> bool:
        """Wait until something is woken, or nothing is until the loop's time `end` or until what is due comes.

        Return whether it was woken; `due_in` says in how many seconds that is.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(min(end, loop.time() + due_in())):
                await self._something.wait()
        except TimeoutError:
            return False
        self._something.clear()
        return True
