"""Hand out what is to be done with a plan's pending events: to a command, to a plugin's hook, to an agent."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from msgspec.structs import replace

from prloom import errors
from prloom.core import acknowledgements, commands, dispatch, hook_results, outbox, requests
from prloom.core.activity import RunningHook
from prloom.core.commands import SlashCommand
from prloom.core.dispatch import CompleteNotices, RunCommand, RunHook, RunTriage, Step, Subscribers
from prloom.engine.plan import hooks
from prloom.engine.plan.dependencies import PlanDependencies
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.action import Action, Comment
from prloom.model.decision import Change, DeliveryChange
from prloom.model.event import Event
from prloom.model.state import DispatchState, OpenEvent

log = logging.getLogger(__name__)

COMMANDS = 10
"""Built-in commands that are carried out before another plan is worked through; each is a decision of its own."""

HOOKS = 32
"""Hook calls that one plan has under way; the others wait, so that the plan's backlog does not hold up other plans."""


def schedule(runtime: PlanRuntime, roster: Subscribers, dependencies: PlanDependencies) -> bool:
    """Begin all that can be done with the pending events; return whether there was anything."""
    opened, busy = runtime.event_store.state.open.values(), runtime.busy
    pending = [event for event in opened if event.state == "pending" and event.run is None and event.id not in busy]
    texts = [(event, runtime.event_store.texts.of(event)) for event in pending]
    if _park_unreadable(runtime, [event for event, text in texts if text is None]):
        return True
    steps = dispatch.steps(
        [(event, None if text is None else commands.parse(text)) for event, text in texts],
        roster,
        busy=busy,
        alone=runtime.alone,
        paused=runtime.paused,
        triaging=runtime.in_run or runtime.awaits_agent,
    )
    orders = [step for step in steps if isinstance(step, RunCommand)]
    if orders:  # a command may change what is to be done with all the others
        steps = tuple(orders[:COMMANDS])
    begun = [step for step in steps if _begin(runtime, step, roster, dependencies)]
    return bool(begun)


def _park_unreadable(runtime: PlanRuntime, unreadable: Sequence[OpenEvent]) -> bool:
    """Leave events to a person whose text in the journal is not the one that came in."""
    if unreadable:
        reason = "its text in events.jsonl has changed since prloom read it"
        runtime.event_store.commit(
            "intake", "prloom", changes=tuple(hook_results.park(event.id, reason) for event in unreadable)
        )
    return bool(unreadable)


def _begin(runtime: PlanRuntime, step: Step, roster: Subscribers, dependencies: PlanDependencies) -> bool:
    """Begin a step; return False for a hook call that has to wait until others are over."""
    match step:
        case RunCommand(event_id=event_id):
            _obey(runtime, event_id, dependencies)
        case RunHook() if len(runtime.hooks_running) >= HOOKS:
            return False
        case RunHook(plugin=plugin, hook=hook, event_ids=ids):
            since = record.iso(runtime.clock())
            running = RunningHook(plan=runtime.id, plugin=plugin, hook=hook, events=ids, since=since)
            runtime.hooks_running += (running,)
            dependencies.begin(runtime, ids, partial(_show, runtime, step, dependencies, running))
        case CompleteNotices(event_ids=ids):
            runtime.event_store.commit("notice", "prloom", changes=dispatch.complete_notices(ids))
        case RunTriage(event_ids=ids) if not dependencies.agents:
            _finish(runtime, ids)
        case RunTriage():
            runtime.awaits_agent = True
            dependencies.spawn(runtime, partial(_triage, runtime, roster, dependencies))
        case _:
            assert_never(step)
    return True


async def _show(runtime: PlanRuntime, step: RunHook, dependencies: PlanDependencies, running: RunningHook) -> None:
    try:
        await hooks.run_hook(
            runtime, step, dependencies.plugin_set[step.plugin], dependencies.triager.services(runtime)
        )
    finally:
        runtime.hooks_running = tuple(each for each in runtime.hooks_running if each is not running)


def _obey(runtime: PlanRuntime, event_id: str, dependencies: PlanDependencies) -> None:
    opened = runtime.event_store.state.open[event_id]
    event = runtime.event_store.texts.of(opened)
    if event is None:
        command = None
    else:
        command = commands.parse(event)
    if event is None or command is None:
        return
    try:
        run_command(runtime, event, command, dependencies.plugin_set.command_help())
    except PrloomError:
        raise
    except Exception as error:  # noqa: BLE001 - this one event must not keep all others from being worked on
        reason = errors.log_failure(log, error, f"event {event_id} of plan {runtime.id} is parked")
        runtime.event_store.commit("command", "prloom", changes=(hook_results.park(event_id, reason),))


def _finish(runtime: PlanRuntime, ids: tuple[str, ...]) -> None:
    """End events that concern the whole repository once every plugin has seen them: no agent looks at them."""
    changes = tuple(
        Change(event_id=event_id, verdict="handled", state="handled", reason="shown to every plugin")
        for event_id in ids
    )
    runtime.event_store.commit("onGlobalEvent", "prloom", changes=changes)


async def _triage(runtime: PlanRuntime, roster: Subscribers, dependencies: PlanDependencies) -> None:
    """Wait for an agent's turn, and let it deal with all that is ready by then: a burst of comments is one run."""
    try:
        async with dependencies.triager.turn():
            if runtime.resting(runtime.clock()):
                step = None
            else:
                step = _batch(runtime, roster)
            if step is not None:
                await dependencies.hold(runtime, step.event_ids, partial(dependencies.triager.triage, runtime, step))
    finally:
        runtime.awaits_agent = False


def _batch(runtime: PlanRuntime, roster: Subscribers) -> RunTriage | None:
    pending = [event for event in runtime.event_store.state.open.values() if event.state == "pending"]
    texts = [(event, runtime.event_store.texts.of(event)) for event in pending]
    steps = dispatch.steps(
        [(event, commands.parse(text)) for event, text in texts if text is not None],
        roster,
        busy=runtime.busy,
        alone=runtime.alone,
        paused=runtime.paused,
        triaging=runtime.in_run,
    )
    return next((step for step in steps if isinstance(step, RunTriage)), None)


@dataclass(frozen=True)
class Reply:
    """What a command says, and what it does besides."""

    text: str
    changes: tuple[Change, ...] = ()
    deliveries: tuple[DeliveryChange, ...] = ()
    paused: bool | None = None


def run_command(runtime: PlanRuntime, event: Event, command: SlashCommand, plugin_commands: Mapping[str, str]) -> None:
    """Carry out a command and queue its answer, by one decision."""
    reply = _reply(runtime, event, command, plugin_commands)
    opened = runtime.event_store.state.open[event.id]
    answer = Action(
        id=outbox.action_id(event.id, "prloom", opened.actions),
        target=event.reply_to or runtime.plan_target,
        payload=Comment(reply.text),
        related_event_id=event.id,
    )
    done = Change(event_id=event.id, verdict="handled", state="handled", reason=f"/prloom {command.built_in}".strip())
    signs = acknowledgements.owed(reply.changes, runtime.event_store.state)
    runtime.event_store.commit(
        "command",
        "prloom",
        changes=(*reply.changes, done),
        actions=(answer, *signs),
        courtesies=tuple(action.id for action in signs),
        deliveries=reply.deliveries,
        paused=reply.paused,
    )


def _reply(runtime: PlanRuntime, event: Event, command: SlashCommand, plugin_commands: Mapping[str, str]) -> Reply:
    match command.built_in:
        case "status":
            return Reply(commands.status_text(_without(runtime.event_store.state, event.id)))
        case "retry":
            return _retry(runtime)
        case "approve":
            return _approve(runtime, event, command)
        case "pause":
            return Reply("Paused. `/prloom resume` resumes work.", paused=True)
        case "resume":
            return Reply("Resumed.", paused=False)
        case "help":
            return Reply(commands.help_text(plugin_commands))
        case _:
            verb = ""
            if command.words:
                verb = command.words[0]
            return Reply(f"There is no command `{_plain(verb)}`.\n\n{commands.help_text(plugin_commands)}")


def _without(state: DispatchState, event_id: str) -> DispatchState:
    """Return the state but for one event: who asks what waits does not mean the question."""
    return replace(state, open=record.without(state.open, event_id))


def _retry(runtime: PlanRuntime) -> Reply:
    changes = requests.retried(runtime.event_store.state.open.values())
    revived = tuple(outbox.revived(action) for action in runtime.event_store.state.queue.values() if action.failed)
    text = f"Retrying {_counted(changes, 'event')} and {_counted(revived, 'failed action')}."
    return Reply(text, changes, revived)


def _approve(runtime: PlanRuntime, event: Event, command: SlashCommand) -> Reply:
    held = commands.held_before(event, runtime.event_store.state.open.values(), command.words[1:])
    who = "by the operator"
    if event.author:
        who = f"by {event.author.login}"
    changes = requests.vouched(held, who)
    text = "There is no held comment to approve."
    if changes:
        text = f"Approved {_counted(changes, 'held comment')}."
    return Reply(text, changes)


def _counted(things: Sized, what: str) -> str:
    return f"{len(things)} {what}{'' if len(things) == 1 else 's'}"


def _plain(word: str) -> str:
    """Return a word that somebody typed so that it cannot do anything in Markdown."""
    return "".join(letter for letter in word if letter.isalnum() or letter in "-_")[:40]
