"""Schedule what is to be done with a plan's pending events: a built-in command, a plugin's hook, an agent's run."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from typing import assert_never

from prloom import errors
from prloom.core.commands import command_replies, comment_commands
from prloom.core.commands.command_replies import CommandContext, CommandReply
from prloom.core.commands.comment_commands import SlashCommand
from prloom.core.delivery import outbox
from prloom.core.events import acknowledgements, admission, dispatch, hook_results
from prloom.core.events.dispatch import CompleteNotices, EventStep, RunCommand, RunHook, RunTriage, Subscribers
from prloom.core.work import automatic_todos
from prloom.core.work.work_steps import WorkContext
from prloom.engine.bus.event_store import EventStore
from prloom.engine.plan import hooks
from prloom.engine.plan.dependencies import PlanDependencies
from prloom.engine.plan.in_flight import InFlight
from prloom.engine.plan.runtime import PlanRuntime, is_triaging, reply_target
from prloom.errors import PrloomError
from prloom.model.action import Action, Comment
from prloom.model.decision import Change, DecisionParts
from prloom.model.event import Event
from prloom.model.hook_points import ON_GLOBAL_EVENT
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.work_report import RunningHook
from prloom.storage import plan_session

log = logging.getLogger(__name__)

COMMANDS = 10
"""Built-in commands that are carried out before another plan is worked through; each is a decision of its own."""

HOOKS = 32
"""Hook calls that one plan has under way; the others wait, so that the plan's backlog does not hold up other plans."""


def schedule(runtime: PlanRuntime, subscribers: Subscribers, dependencies: PlanDependencies) -> bool:
    """Begin all that can be done with the pending events; return whether there was anything."""
    store, in_flight = runtime.event_store, runtime.in_flight
    events = _pending(store, in_flight)
    unreadable = tuple(hook_results.park_unreadable(opened.id) for opened, event in events if event is None)
    if unreadable:
        store.commit("intake", "prloom", changes=unreadable)
        return True
    triaging = in_flight.agent_queued or is_triaging(store.state)
    steps = _steps(store.state, in_flight, events, subscribers, triaging=triaging)
    built_in = tuple(step for step in steps if isinstance(step, RunCommand))
    if built_in:  # a command may change what is to be done with all the others
        steps = built_in[:COMMANDS]
    begun = [step for step in steps if _begin(runtime, step, subscribers, dependencies)]
    return bool(begun)


def _pending(store: EventStore, in_flight: InFlight) -> list[tuple[OpenEvent, Event | None]]:
    """Return the pending events that nothing works on; None for one whose line in the journal has changed."""
    return [
        (event, store.texts.get(event))
        for event in store.state.open.values()
        if event.state == "pending" and event.run is None and event.id not in in_flight.event_ids
    ]


def _steps(
    state: DispatchState,
    in_flight: InFlight,
    events: Iterable[tuple[OpenEvent, Event | None]],
    subscribers: Subscribers,
    *,
    triaging: bool,
) -> tuple[EventStep, ...]:
    return dispatch.steps(
        [(opened, comment_commands.parse(event)) for opened, event in events if event is not None],
        subscribers,
        busy=in_flight.event_ids,
        alone=in_flight.isolated,
        paused=state.paused,
        triaging=triaging,
    )


def _begin(runtime: PlanRuntime, step: EventStep, subscribers: Subscribers, dependencies: PlanDependencies) -> bool:
    """Begin a step; return False for one that has to wait: for the end of other hook calls, or of a session."""
    store, in_flight = runtime.event_store, runtime.in_flight
    match step:
        case RunCommand(event_id=event_id):
            _run_command(runtime, event_id, dependencies)
        case RunHook() if len(in_flight.hooks) >= HOOKS:
            return False
        case RunHook(plugin=plugin, hook=hook, event_ids=ids):
            since = Timestamp.of(runtime.clock())
            running = RunningHook(plan=runtime.id, plugin=plugin, hook=hook, events=ids, since=since)
            in_flight.hooks += (running,)
            dependencies.tasks.begin(runtime, ids, partial(_run_hook, runtime, step, dependencies, running))
        case CompleteNotices(event_ids=ids):
            store.commit("notice", "prloom", changes=dispatch.complete_notices(ids))
        case RunTriage(event_ids=ids) if not dependencies.agents:
            ends = tuple(_without_agent(store, event_id, subscribers) for event_id in ids)
            store.commit(ON_GLOBAL_EVENT, "prloom", changes=ends)
        case RunTriage(event_ids=ids) if _made_todos(runtime, ids, dependencies):
            pass
        case RunTriage() if _is_open(runtime):  # an agent does not look at what a person is about to change
            return False
        case RunTriage():
            in_flight.agent_queued = True
            dependencies.tasks.spawn(runtime, partial(_run_triage, runtime, subscribers, dependencies))
        case _:
            assert_never(step)
    return True


def _is_open(runtime: PlanRuntime) -> bool:
    """Whether a person has the plan's worktree."""
    with plan_session.working(runtime.folders.repo_root, runtime.id) as free:
        return not free


async def _run_hook(runtime: PlanRuntime, step: RunHook, dependencies: PlanDependencies, running: RunningHook) -> None:
    plugin, services = dependencies.plugin_set[step.plugin], dependencies.triager.services(runtime)
    try:
        await hooks.run_hook(runtime, step, plugin, services)
    finally:
        runtime.in_flight.hooks = tuple(each for each in runtime.in_flight.hooks if each is not running)


def _without_agent(store: EventStore, event_id: str, subscribers: Subscribers) -> Change:
    """Return the end of an event that concerns the whole repository: every plugin saw it, and no agent does.

    One that is for a plan which is not there, and that no plugin sees either, waits for a person.
    """
    event, reason = store.texts.get(store.state.open[event_id]), None
    if event is not None and dispatch.has_no_receiver(event, subscribers, agents=False):
        reason = admission.misdirected(event)
    if reason is not None:
        return hook_results.park(event_id, reason)
    return Change(event_id=event_id, verdict="handled", state="handled", reason="shown to every plugin")


async def _run_triage(runtime: PlanRuntime, subscribers: Subscribers, dependencies: PlanDependencies) -> None:
    """Wait for a slot, and let an agent triage all that is ready by then: a burst of comments is one run."""
    in_flight = runtime.in_flight
    try:
        async with dependencies.triager.slot():
            if runtime.failure.active(runtime.clock()):
                return
            state, events = runtime.event_store.state, _pending(runtime.event_store, in_flight)
            steps = _steps(state, in_flight, events, subscribers, triaging=is_triaging(state))
            step = next((step for step in steps if isinstance(step, RunTriage)), None)
            if step is not None and not _made_todos(runtime, step.event_ids, dependencies):
                with (
                    plan_session.working(runtime.folders.repo_root, runtime.id) as free,
                    in_flight.working_on(step.event_ids),
                ):
                    if free:
                        await dependencies.triager.triage(runtime, step)
    finally:
        in_flight.agent_queued = False


def _made_todos(runtime: PlanRuntime, event_ids: Iterable[str], dependencies: PlanDependencies) -> bool:
    """Commit what becomes of failed checks and conflicts; return whether there were any.

    Where TODOs are not worked on, an agent decides about them as about all other events.
    """
    store = runtime.event_store
    if dependencies.todo_worker is None or runtime.rules.work.mode == "off":
        return False
    opened = [store.state.open[each] for each in event_ids if each in store.state.open]
    events = [event for each in opened if (event := store.texts.get(each)) is not None]
    ctx = WorkContext(runtime.id, runtime.rules.work, runtime.clock())
    parts = automatic_todos.settle(ctx, runtime.plan, store.state, events)
    if parts:
        store.commit("todo", "prloom", **parts)
    return bool(parts)


# ---- the built-in commands


def _run_command(runtime: PlanRuntime, event_id: str, dependencies: PlanDependencies) -> None:
    """Carry out the built-in command of a comment; park the comment if that fails."""
    store = runtime.event_store
    event = store.texts.get(store.state.open[event_id])
    if event is None:
        return
    command = comment_commands.parse(event)
    if command is None:
        return
    try:
        _answer_command(runtime, event, command, dependencies)
    except PrloomError:
        raise
    except Exception as error:  # noqa: BLE001 - this one event must not keep all others from being worked on
        reason = errors.log_failure(log, error, f"event {event_id} of plan {runtime.id} is parked")
        store.commit("command", "prloom", changes=(hook_results.park(event_id, reason),))


def _answer_command(runtime: PlanRuntime, event: Event, command: SlashCommand, dependencies: PlanDependencies) -> None:
    """Carry out a command and queue its answer, by one decision; what goes before it may be repeated after a crash."""
    store = runtime.event_store
    rebases = runtime.rules.work.rebase != "never"
    plugin_commands = dependencies.plugin_set.command_help()
    todos, text_of = runtime.text.todos(), store.texts.get
    about = CommandContext(runtime.id, store.state, todos, plugin_commands, rebases=rebases, text_of=text_of)
    if command.built_in in {"allow", "deny"} and dependencies.people is not None:
        allow = command.built_in == "allow"
        reply = CommandReply(dependencies.people.decide(runtime, event, command.words[1:], allow=allow))
    else:
        reply = command_replies.reply(about, event, command)
    work: DecisionParts = {}
    for each in reply.work:
        if work:
            store.commit("command", "prloom", **work)
        work = each
    opened = store.state.open[event.id]
    answer = Action(
        id=outbox.action_id(event.id, "prloom", opened.actions),
        target=event.reply_to or reply_target(runtime.plan),
        payload=Comment(reply.text),
        related_event_id=event.id,
    )
    answers: tuple[Action, ...] = (answer,)
    if event.kind.control:
        answers = ()
    lifted = tuple(each for each in work.get("changes", ()) if each not in reply.changes)
    done = Change(event_id=event.id, verdict="handled", state="handled", reason=f"/prloom {command.built_in}".strip())
    signs = acknowledgements.for_approved(reply.changes, store.state)
    work["changes"] = (*lifted, *reply.changes, done)
    work["actions"] = (*answers, *signs)
    work["courtesies"] = tuple(action.id for action in signs)
    work["deliveries"] = (*work.get("deliveries", ()), *reply.deliveries)
    store.commit("command", "prloom", **work)
