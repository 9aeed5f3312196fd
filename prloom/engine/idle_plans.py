"""Know the plans with nothing left to do: hundreds of them cost one stat call each in a tick."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from math import inf
from typing import NamedTuple

from prloom.engine.plan import reconcile
from prloom.engine.plan.runtime import PlanRuntime
from prloom.model.plan import Plan
from prloom.model.state import DispatchState
from prloom.storage import file_stamp, paths, segments
from prloom.storage.file_stamp import FileStamp

_FEW = 9
"""Plans that are all worked through in each tick: it costs next to nothing."""

TEXTS_EACH = 5
"""Ticks in which the text of each plan is looked at once; where files can be watched, an edit is noticed at once."""


class StampedFile(NamedTuple):
    """A file as it was before its plan was worked through."""

    file: str
    stamp: FileStamp | None

    def is_current(self) -> bool:
        """Return whether the file is still the same."""
        return file_stamp.at(self.file) == self.stamp


class PlanStamp(NamedTuple):
    """The files that can bring work to a plan: its journal of events, its text, and a closed segment of the journal.

    A segment that was closed is there where a line may still come into it. People add TODOs to the text.
    """

    journal: StampedFile
    text: StampedFile
    closed: StampedFile | None


class IdlePlan(NamedTuple):
    """A plan with nothing left to do, until something happens to it or, at `until`, something is due.

    Whatever this process does to a plan makes it another state, or another plan: values that never change.
    """

    runtime: PlanRuntime
    state: DispatchState
    plan: Plan
    until: float
    file: str
    stamp: FileStamp | None
    closed: StampedFile | None
    text: StampedFile


class IdlePlans:
    """The idle plans, by their ids."""

    def __init__(self) -> None:
        self._idle: dict[str, IdlePlan] = {}
        self._next_checked = 0
        self._texts_checked = 0

    def stamp(self, runtime: PlanRuntime) -> PlanStamp:
        """Return the stamp of what can bring work to a plan; take it before the plan is worked through."""
        return _stamp(runtime.folders.local.path, runtime.event_store.state)

    def add(self, runtime: PlanRuntime, before: PlanStamp, since: datetime) -> None:
        """Add a plan with nothing left to do when it was worked through, at `since`; its stamp was taken before."""
        if runtime.torn_line is not None or not runtime.usable:
            self.drop(runtime.id)
            return
        due = reconcile.next_time(runtime, since)
        until = inf
        if due is not None:
            until = due.timestamp()
        self._idle[runtime.id] = IdlePlan(
            runtime, runtime.event_store.state, runtime.plan, until, *before.journal, before.closed, before.text
        )

    def drop(self, plan_id: str) -> None:
        """Have a plan worked through in the next tick."""
        self._idle.pop(plan_id, None)

    def clear(self) -> None:
        """Have every plan worked through in the next tick."""
        self._idle.clear()

    def changed(self, plan_ids: Sequence[str], now: datetime) -> Collection[str]:
        """Return which of these plans are not idle any more, and in turn one that is, whatever its files say."""
        if len(plan_ids) <= _FEW:
            return plan_ids
        self._next_checked = (self._next_checked + 1) % len(plan_ids)
        self._texts_checked = (self._texts_checked + 1) % TEXTS_EACH
        found = {plan_ids[self._next_checked], *_changed(self._idle, now.timestamp())}
        for plan_id in plan_ids[self._texts_checked :: TEXTS_EACH]:
            idle = self._idle.get(plan_id)
            if idle is not None and not idle.text.is_current():
                found.add(plan_id)
        if len(self._idle) < len(plan_ids):
            found.update(plan_id for plan_id in plan_ids if plan_id not in self._idle)
        return found

    def next_times(self, plans: Callable[[], Iterable[PlanRuntime]], count: int, since: datetime) -> Iterator[float]:
        """Yield when something of each of so many plans is due first after a time, in seconds since the epoch."""
        after = since.timestamp()
        yield from [idle.until for idle in self._idle.values() if after < idle.until < inf]
        if len(self._idle) >= count:
            return
        for runtime in plans():
            if runtime.id not in self._idle and (due := reconcile.next_time(runtime, since)) is not None:
                yield due.timestamp()


def watched(runtime: PlanRuntime) -> Iterator[tuple[str, str]]:
    """Yield the folder and the name of each file into which others write what brings work to a plan."""
    local = os.fspath(runtime.folders.local.path)
    yield f"{local}/{paths.BUS}", paths.EVENTS
    if runtime.id:
        yield local, paths.PLAN_TEXT


def _stamp(local: str, state: DispatchState) -> PlanStamp:
    """Return the stamp of the files of a plan with this `prloom/.local`."""
    bus = f"{local}/{paths.BUS}"
    closed = None
    if state.cursor.segment > 1:
        closed = _stamped(f"{bus}/{segments.archive(paths.EVENTS, state.cursor.segment - 1)}")
    return PlanStamp(_stamped(f"{bus}/{paths.EVENTS}"), _stamped(f"{local}/{paths.PLAN_TEXT}"), closed)


def _stamped(file: str) -> StampedFile:
    return StampedFile(file, file_stamp.at(file))


def _changed(plans: dict[str, IdlePlan], now: float) -> Iterator[str]:
    """Yield the ids of the plans to which something may have happened; hundreds of them are idle in each tick."""
    stamp_at = file_stamp.at
    for plan_id, (runtime, state, plan, until, file, stamp, closed, _) in plans.items():
        is_untouched = runtime.event_store.state is state and runtime.plan is plan and now < until
        if is_untouched and stamp_at(file) == stamp and (closed is None or closed.is_current()):
            continue
        yield plan_id
