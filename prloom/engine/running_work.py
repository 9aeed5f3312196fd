"""Report what is under way for the plans: hooks, and what waits until one more agent may run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from prloom.config.models import DispatcherSection
from prloom.engine.plan.runtime import PlanRuntime, is_triaging
from prloom.model import record
from prloom.model.work_report import RunningWork, RunWait


def report(
    runtimes: Collection[PlanRuntime],
    run_waits: Mapping[str, RunWait],
    draft_waits: Mapping[str, RunWait],
    config: DispatcherSection,
) -> Mapping[str, Any]:
    """Return what is under way now, for `prloom status`; the agents' runs stand in the decision logs.

    `run_waits` are the runs that nobody has begun, by their ids, and `draft_waits` the drafts that become plans later.

    How often it ticks, and when a person is told that nothing moves, is what readers have to know of its configuration.
    """
    busy = [each for each in runtimes if each.in_flight.is_reported]  # hundreds are asked in each tick
    under_way = [(each.id, each.in_flight) for each in busy]
    queued = [each for each in busy if each.in_flight.agent_queued]
    running = RunningWork(
        hooks=tuple(hook for each in busy for hook in each.in_flight.hooks),
        waiting=tuple(each.id for each in queued if not is_triaging(each.event_store.state)),
        limits={plan: each.waits_for for plan, each in under_way if each.waits_for is not None},
        todo_limits={plan: each.todo_limit for plan, each in under_way if each.todo_limit is not None},
        run_waits=dict(run_waits),
        draft_waits=dict(draft_waits),
    )
    found: Mapping[str, Any] = record.to_wire(running)
    return {**found, "stallAfterMs": _milliseconds(config.stall_after), "tickMs": _milliseconds(config.tick_interval)}


def _milliseconds(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)
