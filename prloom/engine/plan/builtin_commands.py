"""Carry out a built-in command of a comment, and answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass

from msgspec.structs import replace

from prloom.core import acknowledgements, commands, marker, outbox, requests
from prloom.core.commands import SlashCommand
from prloom.engine.plan.runtime import PlanRuntime
from prloom.model import record
from prloom.model.action import Action, Comment
from prloom.model.decision import Change, DeliveryChange
from prloom.model.event import Event
from prloom.model.state import DispatchState


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
        id=marker.action_id(event.id, "prloom", opened.actions),
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
