"""Work through one plan: take in, let waits end, hand out what is to be done, deliver; never wait for any of it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from functools import partial

from prloom import errors
from prloom.core import deferral, dispatch, issued, plan_file, triage
from prloom.core.dispatch import Subscribers
from prloom.engine.plan import admission, delivery, scheduler
from prloom.engine.plan.dependencies import PlanDependencies
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.event import Event
from prloom.model.state import OpenEvent

log = logging.getLogger(__name__)

SAVED_AFTER = 50
"""Decisions after which the projection is saved also where work goes on: so many are read again after a crash."""

LOOKUPS = 16
"""Look-ups of permissions that one plan has under way: each ends in a decision of its own."""


def reconcile(runtime: PlanRuntime, roster: Subscribers, dependencies: PlanDependencies) -> bool:
    """Do what can be done for the plan now; return whether to ask again, for there may be more by that."""
    if runtime.plan.blocked or runtime.resting(runtime.clock()):
        return False
    try:
        runtime.reopen()
        moved = _advance(runtime, roster, dependencies)
    except PrloomError as error:
        log.warning("plan %s: %s", runtime.id, error)
        runtime.trouble(str(error))
        return False
    except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
        runtime.trouble(errors.log_failure(log, error, f"plan {runtime.id} is tried again later"))
        return False
    runtime.well()
    return moved


def _advance(runtime: PlanRuntime, roster: Subscribers, dependencies: PlanDependencies) -> bool:
    now = dependencies.horizon or runtime.clock()
    moved = admission.take_in(
        runtime, dependencies.bridges.acknowledgement, partial(_unseen, runtime, roster, dependencies)
    )
    if moved and runtime.event_store.unsaved < SAVED_AFTER:
        # What more there is comes before anything is handed out, for a burst of comments is one run; but a burst so
        # long that its decisions are saved on the way is handed out on the way, too.
        return True
    crowded = admission.full(runtime)
    moved |= _end_waits(runtime, now)
    moved |= resolve_todos(runtime)
    moved |= _recover(runtime, dependencies)
    moved |= _look_up(runtime, dependencies, now)
    moved |= scheduler.schedule(runtime, roster, dependencies)
    moved |= delivery.begin(runtime, dependencies, now)
    if not (moved or crowded) or runtime.event_store.unsaved >= SAVED_AFTER:  # else there is more to come at once
        runtime.event_store.save()
    return moved


def _unseen(runtime: PlanRuntime, roster: Subscribers, dependencies: PlanDependencies, event: Event) -> bool:
    return not runtime.paused and dispatch.unseen(event, roster, agents=dependencies.agents)


def next_time(runtime: PlanRuntime, since: datetime) -> datetime | None:
    """Return when something of the plan is due first after a time, if it is to be worked on at all."""
    if runtime.plan.blocked:
        return None
    state = runtime.event_store.state
    waits = [event.deferral for event in state.open.values() if event.deferral is not None]
    times = {min(wait.deferred_until, wait.deadline) for wait in waits}
    times |= {action.next_try for action in state.queue.values() if action.next_try and not action.failed}
    if runtime.rest_until:
        times |= {record.iso(runtime.rest_until)}
    else:
        times |= set()
    # Times on disk are all of one form, so that they sort as texts.
    ahead = min((time for time in times if time > record.iso(since)), default=None)
    if ahead is None:
        return None
    return record.moment(ahead)


# ---- waits and runs that are over


def _end_waits(runtime: PlanRuntime, now: datetime) -> bool:
    changes = deferral.due(runtime.event_store.state.open.values(), now, clock=runtime.clock())
    if changes:
        runtime.event_store.commit("wait", "prloom", changes=changes)
    return bool(changes)


def _recover(runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
    """Find out what became of the runs that are in nobody's hands: those of an earlier dispatcher, as a rule."""
    found = False
    if not runtime.swept:
        runtime.swept = True
        dependencies.triager.sweep(runtime)
    for run, ids in _runs(runtime.event_store.state.open.values()).items():
        if runtime.busy.isdisjoint(ids):
            dependencies.begin(runtime, ids, partial(_recovering, runtime, run, ids, dependencies))
            found = True
    return found


async def _recovering(runtime: PlanRuntime, run: str, ids: tuple[str, ...], dependencies: PlanDependencies) -> None:
    await dependencies.triager.recover(runtime, run, ids)
    if run in _runs(runtime.event_store.state.open.values()):  # or it would be recovered again at once, and for ever
        raise PrloomError(
            f"the result of run {run} cannot be processed; check its folder, then `prloom drop` its events, or wait"
        )


def _runs(opened: Iterable[OpenEvent]) -> dict[str, tuple[str, ...]]:
    """Return the agent runs that open events are in, with their events."""
    runs: dict[str, tuple[str, ...]] = {}
    for event in opened:
        if event.run is not None:
            runs[event.run] = (*runs.get(event.run, ()), event.id)
    return runs


def _look_up(runtime: PlanRuntime, dependencies: PlanDependencies, now: datetime) -> bool:
    """Ask for the permissions of authors that are not known, each beside everything else."""
    waits = [event for event in runtime.event_store.state.open.values() if event.deferral is not None]
    held = [event for event in waits if event.state == "held" and event.id not in runtime.busy]
    clock = runtime.clock()
    due = [event for event in held if deferral.lookup_due(event, now, clock=clock) or _never_looked_up(event, clock)]
    running = sum(event.state == "held" and event.id in runtime.busy for event in waits)
    begun = due[: max(LOOKUPS - running, 0)]
    for event in begun:
        dependencies.begin(runtime, (event.id,), partial(dependencies.lookup, runtime, event.id))
    return bool(begun)


def _never_looked_up(event: OpenEvent, now: datetime) -> bool:
    return event.deferral is not None and event.deferral.attempts <= 1 and deferral.lookup_due(event, now)


def resolve_todos(runtime: PlanRuntime) -> bool:
    """Commit which TODOs have ended, and which the log does not know; return whether there were any.

    An unchanged plan costs one look at its file. A file that is not there, or is empty, tells nothing: somebody may be
    writing it, or removing the worktree.
    """
    state = runtime.event_store.state
    if state.rebase_requested and state.rebase_todo is None:  # by a prloom that only noted it
        runtime.event_store.commit("todo", "prloom", todos=(triage.rebase_todo(runtime.id),))
        return True
    if not state.todos and runtime.todos_seen_at is not None:
        return False
    changed_at = runtime.text.changed_at()
    if changed_at is None or changed_at == runtime.todos_seen_at:
        text = ""
    else:
        text = runtime.text.read()
    if not text.strip():
        return False
    items = plan_file.todos(text)
    done, dropped = issued.ended_todos(state.todos, items)
    unknown = issued.unknown_todos(state.todos, items, runtime.issued.posts().todos)
    if done or dropped or unknown:
        runtime.event_store.commit(
            "todo",
            "prloom",
            actions=issued.resolve_threads(state.todos, done, dropped),
            todos=unknown,
            todos_done=done,
            todos_dropped=dropped,
            rebase_requested=issued.rebase_requested(state.rebase_todo, dropped, unknown),
        )
    runtime.todos_seen_at = changed_at
    return bool(done or dropped or unknown)
