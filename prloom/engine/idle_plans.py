"""Know which desks there was nothing left to do at: hundreds of them cost one look each in a tick."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from math import inf

from prloom.engine.bus import stillness
from prloom.engine.bus.stillness import IdlePlan, PlanStamp
from prloom.engine.plan import reconcile
from prloom.engine.plan.runtime import PlanRuntime

_FEW = 9
"""Desks that are all worked through in each tick: it costs next to nothing."""


class IdlePlans:
    """The desks at rest, by their plans' ids."""

    def __init__(self) -> None:
        self._still: dict[str, IdlePlan] = {}
        self._turn = 0

    def see(self, runtime: PlanRuntime) -> PlanStamp:
        """Look at what can bring work to a plan, before it is worked through."""
        return stillness.see(runtime.folders.local.path, runtime.event_store.state)

    def add(self, runtime: PlanRuntime, seen: PlanStamp, since: datetime) -> None:
        """Let a plan rest that there was nothing left to do for when it was worked through, at `since`."""
        if runtime.torn_line is not None or not runtime.usable:
            self.drop(runtime.id)
            return
        due = reconcile.next_time(runtime, since)
        self._still[runtime.id] = stillness.still(runtime, seen, inf if due is None else due.timestamp())

    def drop(self, plan_id: str) -> None:
        """Take a plan to be at rest no more."""
        self._still.pop(plan_id, None)

    def clear(self) -> None:
        """Take no plan to be at rest."""
        self._still.clear()

    def stirring(self, plan_ids: Sequence[str], now: datetime) -> Collection[str]:
        """Return which of these plans something may have happened to, and in turn one more, whatever is known of it."""
        if len(plan_ids) <= _FEW:
            return plan_ids
        self._turn = (self._turn + 1) % len(plan_ids)
        if len(self._still) < len(plan_ids):
            restless = plan_ids
        else:
            restless = ()
        return {
            plan_ids[self._turn],
            *(plan_id for plan_id in restless if plan_id not in self._still),
            *stillness.stirred(self._still, now.timestamp()),
        }

    def next_times(self, runtimes: Collection[PlanRuntime], since: datetime) -> Iterator[float]:
        """Yield when something of each plan is due first after a time, in seconds since the epoch."""
        after = since.timestamp()
        yield from [still.until for still in self._still.values() if after < still.until < inf]
        for runtime in runtimes if len(self._still) < len(runtimes) else ():
            if runtime.id not in self._still and (due := reconcile.next_time(runtime, since)) is not None:
                yield due.timestamp()
