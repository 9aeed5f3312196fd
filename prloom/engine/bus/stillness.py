"""Tell at the cost of a look at one file that nothing has happened to a plan since it was worked through."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from prloom.engine.bus.event_store import EventStore
from prloom.model.plan import Plan
from prloom.model.state import DispatchState
from prloom.storage import paths, segments

Stamp = tuple[int, int, int] | None
"""A file's number, size and time of change; None where there is none."""


class IdleCandidate(Protocol):
    """As much of a desk as tells whether it is at rest."""

    event_store: EventStore
    plan: Plan


class PlanStamp(NamedTuple):
    """The files that can bring work to a plan, as they were before it was worked through."""

    files: tuple[str, ...]
    stamps: tuple[Stamp, ...]


def see(local: str, state: DispatchState) -> PlanStamp:
    """Look at the files of a plan whose `prloom/.local` is there.

    Those are its journal of events, the segment before where that one was closed (a line may still come there), and
    its text where a TODO is waited for.
    """
    bus = f"{local}/{paths.BUS}"
    files = [f"{bus}/{paths.EVENTS}"]
    if state.cursor.segment > 1:
        files.append(f"{bus}/{segments.archive(paths.EVENTS, state.cursor.segment - 1)}")
    if state.todos:
        files.append(f"{local}/{paths.PLAN_TEXT}")
    return PlanStamp(tuple(files), tuple(map(_stamp, files)))


class IdlePlan(NamedTuple):
    """A plan that there was nothing left to do for, until something happens to it or, at `until`, something is due.

    Whatever this process does to a plan makes it another state, or another plan: values that never change.
    """

    runtime: IdleCandidate
    state: DispatchState
    plan: Plan
    until: float
    file: str
    stamp: Stamp
    more: PlanStamp


def still(runtime: IdleCandidate, seen: PlanStamp, until: float) -> IdlePlan:
    """Return a plan that was worked through, for as long as nothing changes; seconds are since the epoch."""
    more = PlanStamp(seen.files[1:], seen.stamps[1:])
    return IdlePlan(runtime, runtime.event_store.state, runtime.plan, until, seen.files[0], seen.stamps[0], more)


def stirred(plans: Mapping[str, IdlePlan], now: float) -> Iterator[str]:
    """Yield the ids of those that something may have happened to; one loop, for hundreds are at rest in each tick."""
    look = os.lstat
    for plan_id, (runtime, state, plan, until, file, stamp, more) in plans.items():
        if runtime.event_store.state is state and runtime.plan is plan and now < until:
            try:
                found = look(file)
            except OSError:
                same = stamp is None
            else:
                same = stamp == (found.st_ino, found.st_size, found.st_mtime_ns)
            if same and (not more.files or tuple(map(_stamp, more.files)) == more.stamps):
                continue
        yield plan_id


def _stamp(file: str) -> Stamp:
    try:
        found = os.lstat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
