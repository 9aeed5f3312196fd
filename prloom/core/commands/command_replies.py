"""Decide what a built-in command of a comment changes, and the text that answers it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from dataclasses import dataclass

from msgspec.structs import replace

from prloom.core.commands import comment_commands, permission, requests
from prloom.core.commands.comment_commands import SlashCommand
from prloom.core.delivery import outbox
from prloom.core.plans import plan_file
from prloom.core.plans.plan_file import TodoItem
from prloom.core.text import markdown
from prloom.core.work import work_requests
from prloom.model import record
from prloom.model.decision import Change, DecisionParts, DeliveryChange
from prloom.model.event import Event
from prloom.model.state import DispatchState, OpenEvent

_NAMED = 5


@dataclass(frozen=True)
class CommandReply:
    """The text that answers a command, and what the command changes.

    `work` is what it changes in the work on the plan, each part a decision of its own that may be repeated.
    """

    text: str
    changes: tuple[Change, ...] = ()
    deliveries: tuple[DeliveryChange, ...] = ()
    work: tuple[DecisionParts, ...] = ()


@dataclass(frozen=True)
class CommandContext:
    """The plan whose pull request a command was written on, with its TODOs; `plugin_commands` are for the help.

    Without `rebases`, the operator does not want any. `text_of` returns the text of an event that waits.
    """

    plan_id: str
    state: DispatchState
    todos: Sequence[TodoItem]
    plugin_commands: Mapping[str, str]
    rebases: bool = True
    text_of: Callable[[OpenEvent], Event | None] = lambda _: None


def reply(ctx: CommandContext, event: Event, command: SlashCommand) -> CommandReply:
    """Return what a built-in command comes to."""
    state = ctx.state
    match command.built_in:
        case "status":  # the question itself is none of what waits
            others = replace(state, open=record.without(state.open, event.id))
            return CommandReply(comment_commands.status_text(others, ctx.todos, ctx.text_of))
        case "retry":
            return _retry(state, ctx.todos)
        case "approve":
            return _approve(state, event, command)
        case "pause":
            return CommandReply("Paused. `/prloom resume` resumes work.", work=({"paused": True},))
        case "resume":
            return _resume(state, ctx.todos)
        case "go":
            return _go(state, ctx.todos, command.words[1:])
        case "rebase":
            return _rebase(ctx, event)
        case "allow" | "deny":  # where no dispatcher runs agents
            return CommandReply(permission.which_text(()))
        case "help":
            return CommandReply(comment_commands.help_text(ctx.plugin_commands))
        case _:
            word = "".join(command.words[:1])
            known = comment_commands.help_text(ctx.plugin_commands)
            return CommandReply(f"There is no command `{_plain(word)}`.\n\n{known}")


def _retry(state: DispatchState, todos: Sequence[TodoItem]) -> CommandReply:
    """Retry what waits or failed, and what blocks the plan unless a person has blocked it."""
    changes = requests.retried(state.open.values())
    revived = tuple(outbox.revived(action) for action in state.queue.values() if action.failed)
    text = f"Retrying {_counted(changes, 'event')} and {_counted(revived, 'failed action')}."
    if state.block is None or state.block.cause == "operator":
        return CommandReply(text, changes, revived)
    ended = plan_file.ended(todos)
    lifted = work_requests.unblocked(state, ended)
    return CommandReply(f"{text} {_lifted(state, ended)}".strip(), changes, revived, (lifted,))


def _resume(state: DispatchState, todos: Sequence[TodoItem]) -> CommandReply:
    ended = plan_file.ended(todos)
    resumed = work_requests.resumed(state, ended)
    return CommandReply(f"Resumed. {_lifted(state, ended)}".strip(), work=(resumed,) if resumed else ())


def _lifted(state: DispatchState, ended: Collection[str]) -> str:
    """Return what becomes of a block that is lifted."""
    block = state.block
    if block is None:
        return ""
    if block.todo is not None:
        if block.todo in ended:
            return "The TODO that blocked the plan has ended."
        return "The TODO that blocked the plan is tried again."
    if block.cause == "operator":
        return "The plan is not blocked any more."
    return f"What blocked the plan is checked again: {comment_commands.reason_text(block.reason)}"


def _go(state: DispatchState, todos: Sequence[TodoItem], named: Sequence[str]) -> CommandReply:
    """Allow the open TODOs whose ids are named, or all of them."""
    waiting = [todo for todo in todos if todo.state == "open" and todo.id is not None]
    unknown = [name for name in named if not any(todo.id == name for todo in waiting)]
    if unknown:
        return CommandReply(f"There is no open TODO {', '.join(f'`{_plain(name)}`' for name in unknown[:_NAMED])}.")
    chosen = [todo for todo in waiting if not named or todo.id in named]
    if not chosen:
        return CommandReply("No TODO waits to be allowed.")
    titles = "; ".join(markdown.escaped_comments(markdown.one_line(todo.title)) for todo in chosen[:_NAMED])
    more = ""
    if len(chosen) > _NAMED:
        more = f" and {len(chosen) - _NAMED} more"
    grants = (work_requests.granted(state, todo.id) for todo in chosen if todo.id is not None)
    return CommandReply(f"Allowed: {titles}{more}.", work=tuple(parts for parts in grants if parts))


def _rebase(ctx: CommandContext, event: Event) -> CommandReply:
    if not ctx.rebases:
        return CommandReply('prloom does not rebase this branch: the operator has set `[work] rebase = "never"`.')
    requested = work_requests.rebase_requested(ctx.state, ctx.plan_id, event.id)
    if not requested:
        return CommandReply("A rebase is requested already.")
    return CommandReply("There is a TODO now to rebase the branch onto its base.", work=(requested,))


def _approve(state: DispatchState, event: Event, command: SlashCommand) -> CommandReply:
    held = comment_commands.held_before(event, state.open.values(), command.words[1:])
    by, login = "by the operator", None
    if event.author:
        login = event.author.login
        by = f"by {login}"
    changes = requests.approved(held, by, login=login)
    text = "There is no held comment to approve."
    if changes:
        text = f"Approved {_counted(changes, 'held comment')}."
    return CommandReply(text, changes)


def _counted(things: Sized, what: str) -> str:
    return f"{len(things)} {what}{'' if len(things) == 1 else 's'}"


def _plain(word: str) -> str:
    """Return a word from a comment as it was written, without what could do anything in Markdown."""
    return "".join(letter for letter in word if letter.isalnum() or letter in "-_.,:;!?")[:40]
