"""Hold what appears in a plan's folder while a worker, a check or a hook's agent runs in its worktree.

Such a program can write there, and an event line without an author, or an item of `review.md`, counts as the
operator's. So the span in which one runs is recorded: bridges read the plan's files right before it begins and right
before it ends, and all lines that were appended meanwhile are held, unless prloom has them from elsewhere. What it
appended itself is remembered in memory until it is admitted; after a restart, such lines are held too. The boxes of
`plan.md` that such a program may have set do not count, and are put back; see `prloom.core.work.believed_boxes`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from prloom.core.work import believed_boxes
from prloom.engine.bus import emitted
from prloom.engine.plan import plan_todos
from prloom.engine.plan.runtime import PlanRuntime
from prloom.model import record
from prloom.model.decision import Change, Intake
from prloom.model.event import Event
from prloom.model.state import DispatchState

REASON = "it appeared in the plan's folder while a worker ran there, and the worker may have written it"


@asynccontextmanager
async def watching(runtime: PlanRuntime) -> AsyncIterator[None]:
    """Hold what appears in the plan's folder until the block ends; blocks may overlap.

    Where the block is broken off, what it ran may still go on: the span stays open until `close`.
    """
    runtime.in_flight.writers += 1
    try:
        await _open(runtime)
        yield
    finally:
        runtime.in_flight.writers -= 1
    await close(runtime)


async def close(runtime: PlanRuntime) -> None:
    """End a span in which nothing runs any more: what was written by now is appended first, and held."""
    if not is_left_open(runtime):
        return
    await runtime.read_files()
    if is_left_open(runtime):  # else another program began meanwhile
        plan_todos.put_back(runtime)
        runtime.event_store.commit("work", "prloom", suspect_to=runtime.event_store.events.end())


def is_left_open(runtime: PlanRuntime) -> bool:
    """Whether a span is open in which nothing runs any more: the program has ended, or the dispatcher before us."""
    return _is_open(runtime.event_store.state) and not runtime.in_flight.writers


def remember(runtime: PlanRuntime, event: Event) -> None:
    """Remember that prloom appends an event that it has from elsewhere; only needed while a program may append too."""
    if _is_open(runtime.event_store.state):
        runtime.appended.add(_content(event))


def check(runtime: PlanRuntime, event: Event, came_in: Intake) -> Change | None:
    """Return the change that holds an event which a worker may have written; None for any other."""
    if not _is_suspect(runtime.event_store.state, came_in):
        return None
    if _content(event) in runtime.appended or emitted.was_emitted(runtime.folders.repo_root, event):
        return None
    return Change(event_id=event.id, verdict="held", state="held", reason=REASON, intake=came_in)


async def _open(runtime: PlanRuntime) -> None:
    store = runtime.event_store
    if _is_open(store.state):
        return
    await runtime.read_files()
    state = store.state
    if _is_open(state):  # for another program, meanwhile
        return
    start = store.events.end()
    if state.suspect_from is not None and state.suspect_to is not None and state.cursor[:2] < state.suspect_to[:2]:
        start = state.suspect_from  # the last span is not taken in yet, and goes on
    else:
        runtime.appended.clear()
    plan_todos.resolve(runtime)  # the boxes that people have set by now count
    blocked = believed_boxes.blocked(runtime.text.todos())
    store.commit("work", "prloom", suspect_from=start, suspect_blocked=blocked)


def _is_open(state: DispatchState) -> bool:
    return state.suspect_from is not None and state.suspect_to is None


def _is_suspect(state: DispatchState, came_in: Intake) -> bool:
    begin, end = state.suspect_from, state.suspect_to
    if begin is None or came_in.position < begin[:2]:
        return False
    return end is None or came_in.position < end[:2]


def _content(event: Event) -> bytes:
    return msgspec.json.encode(event, enc_hook=record.encode_timestamp)
