"""Reconcile one plan: take in events, end waits, schedule what is to be done, deliver; wait for none of it."""

from __future__ import annotations

import logging
from datetime import datetime
from functools import partial

from prloom import errors
from prloom.core.commands import questions
from prloom.core.events.dispatch import Subscribers
from prloom.core.pull_requests import pull_request
from prloom.core.waits import deferral
from prloom.engine.bus.event_store import EventStore
from prloom.engine.plan import admission, delivery, plan_todos, scheduler
from prloom.engine.plan.action_hooks import ActionHooks
from prloom.engine.plan.admission import Observers
from prloom.engine.plan.dependencies import AgentRequests, PlanDependencies, Triager
from prloom.engine.plan.runtime import PlanRuntime, reply_target
from prloom.errors import PrloomError
from prloom.model.decision import Change
from prloom.model.state import DispatchState, OpenEvent

log = logging.getLogger(__name__)

SAVED_AFTER = 50
"""Decisions after which the projection is saved also where work goes on: so many are read again after a crash."""

LOOKUPS = 16
"""Look-ups of permissions that one plan has under way: each ends in a decision of its own."""


def reconcile(runtime: PlanRuntime, subscribers: Subscribers, dependencies: PlanDependencies) -> bool:
    """Do what can be done for the plan now; return whether to reconcile it again at once, because more may follow."""
    if runtime.plan.blocked or runtime.failure.active(runtime.clock()):
        return False
    try:
        runtime.reopen()
        moved = _advance(runtime, subscribers, dependencies)
        runtime.succeeded()
    except PrloomError as error:
        log.warning("plan %s: %s", runtime.id, error)
        runtime.fail(str(error))
        return False
    except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
        runtime.fail(errors.log_failure(log, error, f"plan {runtime.id} is tried again later"))
        return False
    return moved


def _advance(runtime: PlanRuntime, subscribers: Subscribers, dependencies: PlanDependencies) -> bool:
    store = runtime.event_store
    now = dependencies.horizon or store.clock()
    sign = dependencies.bridges.loaded.acknowledgement
    moved = admission.take_in(runtime, sign, Observers(subscribers, agents=dependencies.agents))
    if moved and store.unsaved < SAVED_AFTER:
        # What more there is comes before anything is scheduled, for a burst of comments is one run; but a burst so
        # long that its decisions are saved on the way is scheduled on the way, too.
        return True
    crowded = admission.full(store.state)
    moved |= _end_waits(store, now)
    moved |= _look_up_permissions(runtime, dependencies, now)
    if not runtime.has_lost_text:
        moved |= _go_on(runtime, subscribers, dependencies)
    hooks = ActionHooks(dependencies.plugin_set, dependencies.triager.services)
    moved |= delivery.begin(runtime, dependencies.bridges, dependencies.tasks, hooks, now)
    if not (moved or crowded) or store.unsaved >= SAVED_AFTER:  # else there is more to come at once
        store.save()
    return moved


def _go_on(runtime: PlanRuntime, subscribers: Subscribers, dependencies: PlanDependencies) -> bool:
    """Begin what is to be done with the plan's events, its TODOs and its pull request, all of which need its text."""
    moved = plan_todos.resolve(runtime)
    moved |= _take_answers(runtime, dependencies.people)
    moved |= _recover_runs(runtime, dependencies)
    moved |= scheduler.schedule(runtime, subscribers, dependencies)
    if dependencies.todo_worker is not None and dependencies.agents:
        moved |= dependencies.todo_worker.begin(runtime, dependencies)
        moved |= dependencies.todo_worker.keep_pull_request(runtime, dependencies)
    runtime.show_todos(runtime)
    return moved


def bound_reading(runtime: PlanRuntime) -> bool:
    """Take in what is on the plan's bus by now, and nothing that comes later; return whether that was not set yet."""
    if runtime.read_to is not None or runtime.failure.active(runtime.clock()):
        return False
    try:
        runtime.read_to = runtime.event_store.events.end()
    except PrloomError as error:
        runtime.fail(str(error))
    return True


def next_time(runtime: PlanRuntime, since: datetime) -> datetime | None:
    """Return when something of the plan is due first after a time, if it is to be worked on at all."""
    if runtime.plan.blocked:
        return None
    state = runtime.event_store.state
    waits = [event.deferral for event in state.open.values() if event.deferral is not None]
    times: set[datetime] = {min(wait.deferred_until, wait.deadline) for wait in waits}
    times |= {action.next_try for action in state.queue.values() if action.next_try and not action.failed}
    if state.work is not None and state.work.retry_at is not None:
        times.add(state.work.retry_at)
    shown = pull_request.next_time(state)
    if shown is not None:
        times.add(shown)
    if runtime.failure.until:
        times.add(runtime.failure.until)
    return min((time for time in times if time > since), default=None)


# ---- waits and runs that are over


def _end_waits(store: EventStore, now: datetime) -> bool:
    changes = deferral.due(store.state.open.values(), now, clock=store.clock())
    if changes:
        store.commit("wait", "prloom", changes=changes)
    return bool(changes)


def _take_answers(runtime: PlanRuntime, people: AgentRequests | None) -> bool:
    """Settle the questions of agents, and open TODOs again whose questions are answered; return whether any were."""
    store, found_any = runtime.event_store, False
    asked = people is not None and people.has_question(runtime)
    for opened in tuple(store.state.open.values()):
        if not (store.state.questions or asked):
            break
        if opened.state != "pending" or opened.run is not None or opened.id in runtime.in_flight.event_ids:
            continue
        event = store.texts.get(opened)
        if event is None:
            continue
        request = None
        if people is not None and asked:
            request = people.answered(runtime, opened, event)
        if request is not None:
            store.commit("tool", "prloom", changes=(_answer(opened, request),))
            found_any = True
            continue
        found = questions.find(store.state.questions, opened, event)
        if found is not None:
            store.commit("work", "prloom", **questions.answered(store.state, found, event))
            found_any = True
    for parts in tuple(questions.moves(store.state.questions, reply_target(runtime.plan), store.state.cursor)):
        store.commit("work", "prloom", **parts)
        found_any = True
    return found_any


def _answer(opened: OpenEvent, request: str) -> Change:
    reason = f"it answers the question {request} of an agent"
    return Change(event_id=opened.id, verdict="handled", state="handled", reason=reason)


def _recover_runs(runtime: PlanRuntime, dependencies: PlanDependencies) -> bool:
    """Find out what became of the runs that no job waits for: those of an earlier dispatcher, as a rule."""
    state, triager = runtime.event_store.state, dependencies.triager
    found = False
    if not runtime.orphans_stopped:
        runtime.orphans_stopped = True
        orphans = triager.orphans(runtime.folders, state)
        if orphans:
            dependencies.tasks.spawn(runtime, partial(triager.stop, orphans))
    for run, ids in _runs(state).items():
        if runtime.in_flight.event_ids.isdisjoint(ids):
            dependencies.tasks.begin(runtime, ids, partial(_recover_run, runtime, run, ids, triager))
            found = True
    return found


async def _recover_run(runtime: PlanRuntime, run: str, ids: tuple[str, ...], triager: Triager) -> None:
    await triager.recover(runtime, run, ids)
    if run in _runs(runtime.event_store.state):  # or it would be recovered again at once, and for ever
        raise PrloomError(
            f"the result of run {run} cannot be processed; check its folder, then `prloom drop` its events, or wait"
        )


def _runs(state: DispatchState) -> dict[str, tuple[str, ...]]:
    """Return the agent runs that open events are in, with their events."""
    runs: dict[str, tuple[str, ...]] = {}
    for event in state.open.values():
        if event.run is not None:
            runs[event.run] = (*runs.get(event.run, ()), event.id)
    return runs


def _look_up_permissions(runtime: PlanRuntime, dependencies: PlanDependencies, now: datetime) -> bool:
    """Begin to look up the permissions of authors that are not known, each in a job of its own."""
    clock, in_flight = runtime.clock(), runtime.in_flight.event_ids
    due: list[OpenEvent] = []
    running = 0
    for event in runtime.event_store.state.open.values():
        if event.state != "held" or event.deferral is None:
            continue
        if event.id in in_flight:
            running += 1
            continue
        is_first = event.deferral.attempts <= 1 and deferral.lookup_due(event, clock)
        if is_first or deferral.lookup_due(event, now, clock=clock):
            due.append(event)
    begun = due[: max(LOOKUPS - running, 0)]
    for event in begun:
        look_up = partial(dependencies.bridges.look_up, runtime, event.id)
        dependencies.tasks.begin(runtime, (event.id,), look_up)
    return bool(begun)
