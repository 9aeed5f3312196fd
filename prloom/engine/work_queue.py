"""Keep which plans are to be reconciled before the next tick, and wait for the first of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable


class WorkQueue:
    """The plans to reconcile, by their ids; "" is the repository as a whole."""

    def __init__(self) -> None:
        self.tick_wanted = False
        self._plans: set[str] = set()
        self._changed = asyncio.Event()

    def __bool__(self) -> bool:
        return bool(self._plans)

    def add(self, *plan_ids: str | None) -> None:
        """Have plans reconciled before anything else happens; None is no plan, and ends a wait too."""
        self._plans.update(plan_id for plan_id in plan_ids if plan_id is not None)
        self._changed.set()

    def add_all(self, plan_ids: Iterable[str]) -> None:
        """Have these plans reconciled before anything else happens."""
        self.add(*plan_ids)

    def want_tick(self) -> None:
        """Have the next tick come at once."""
        self.tick_wanted = True
        self._changed.set()

    def drain(self) -> Collection[str]:
        """Return the plans in the queue, and empty it."""
        plans, self._plans = self._plans, set()
        self._changed.clear()
        return plans

    async def wait(self, end: float, due_in: Callable[[], float]) -> bool:
        """Wait until something is added; until the loop's time `end`, or until something is due, if nothing is.

        Return whether something was added; `due_in` returns in how many seconds something is due.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(min(end, loop.time() + due_in())):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True
