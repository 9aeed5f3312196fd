"""Hold the event lines that appear in a plan's bus while a worker runs in its worktree, unless prloom wrote them.

The worker can write that file, and a line without an author counts as the operator's. What prloom appends itself is
remembered in memory until it is admitted; after a restart during a run, that is not known, and such lines are held too.
"""

from __future__ import annotations

import msgspec

from prloom.engine.plan.runtime import PlanRuntime
from prloom.model import record
from prloom.model.decision import Change, DecisionParts, Intake
from prloom.model.event import Event
from prloom.model.state import DispatchState

REASON = "it was appended to events.jsonl while a worker ran in the plan's worktree, and not by prloom"


def span(runtime: PlanRuntime, parts: DecisionParts) -> DecisionParts:
    """Return a step of the work with the part of the bus that it makes suspect: from a run's start to its end."""
    before, step = runtime.event_store.state.work, parts.get("work")
    if step is None:
        return parts
    was = before is not None and before.phase == "running"
    is_running = step.work is not None and step.work.phase == "running"
    if is_running and not was:
        return {**parts, "suspect_from": runtime.event_store.events.end()}
    if was and not is_running:
        return {**parts, "suspect_to": runtime.event_store.events.end()}
    return parts


def remember(runtime: PlanRuntime, event: Event) -> None:
    """Remember that prloom itself appends an event; only needed while a worker may append others."""
    state = runtime.event_store.state
    if state.suspect_from is None:
        runtime.appended.clear()
        return
    runtime.appended.add(_content(event))


def check(runtime: PlanRuntime, event: Event, came_in: Intake) -> Change | None:
    """Return the change that holds an event which a worker may have written; None for any other."""
    if not _is_suspect(runtime.event_store.state, came_in) or _content(event) in runtime.appended:
        return None
    return Change(event_id=event.id, verdict="held", state="held", reason=REASON, intake=came_in)


def _is_suspect(state: DispatchState, came_in: Intake) -> bool:
    begin, end = state.suspect_from, state.suspect_to
    if begin is None or came_in.position < begin[:2]:
        return False
    return end is None or came_in.position < end[:2]


def _content(event: Event) -> bytes:
    return msgspec.json.encode(event, enc_hook=record.encode_timestamp)
