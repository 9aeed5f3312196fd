"""Select what a command acts on: events by their ids, all of an author, or all of a plan; and ask before it does."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from prloom.cli import completion, context
from prloom.cli.output import layout
from prloom.core.text import event_names
from prloom.core.text.event_names import ByAuthor, ById
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from prloom.engine.views.request_targets import RequestTarget
    from prloom.storage.paths import RepositoryPaths

plan_option = click.option(
    "--plan",
    metavar="PLAN",
    shell_complete=completion.plans,
    help="Act only on this plan; without an EVENT, on all of its events that qualify.",
)
yes_option = click.option("--yes", is_flag=True, help="Act on more than one without asking.")


class Selection(NamedTuple):
    """What the command line selects: these names, each of an event or an @AUTHOR, of all plans or of one.

    `yes` is not to ask first, and `options` are what else the command was given.
    """

    names: Sequence[str]
    plan: str | None = None
    yes: bool = False
    options: Sequence[str] = ()


def find(
    where: RepositoryPaths,
    wanted: Selection,
    states: Collection[str],
    *,
    actions: str | None = None,
    todos: bool = False,
) -> list[RequestTarget]:
    """Return what is selected, each once. What is not named by its own id must be in one of these states.

    A whole plan includes its actions in the state `actions`; with `todos`, a name may be that of a TODO.

    Raises PrloomError for a name that means nothing, or where nothing qualifies; UsageError where nothing is selected.
    """
    from prloom.engine.views import request_targets  # noqa: PLC0415 - the help of commands needs none

    if not wanted.names and wanted.plan is None:
        raise click.UsageError("name an event or an @AUTHOR, or use --plan", click.get_current_context())
    plan = None
    if wanted.plan is not None:
        plan = context.plan_id(where, wanted.plan)
    found: list[RequestTarget] = []
    for name in map(event_names.read, wanted.names):
        match name:
            case ByAuthor(login):
                found += request_targets.by_author(where, login, states, plan=plan)
            case ById(event_id):
                found += request_targets.named(where, [event_id], plan=plan, todos=todos)
    if not wanted.names:
        found += request_targets.in_state(where, states, plan=plan)
        if actions is not None:
            found += request_targets.actions(where, actions, plan=plan)
        if not found:
            raise PrloomError(_nothing(plan, states, actions))
    return list({(target.plan, target.id): target for target in found}.values())


def _nothing(plan: str | None, states: Collection[str], actions: str | None) -> str:
    events = f"no event of plan {plan} is {_any_of(states)}"
    if actions is None:
        return events
    return f"{events}, and no action is {actions}"


def _any_of(states: Collection[str]) -> str:
    *others, last = states
    if not others:
        return last
    return f"{', '.join(others)} or {last}"


_PAST: Mapping[str, str] = {"approve": "approved", "drop": "dropped", "retry": "retried"}


def confirm(verb: str, wanted: Selection, found: Sequence[RequestTarget]) -> None:
    """Ask before a command acts on more than one thing; a refusal ends the command.

    Where nobody can be asked, what was named by its own id counts as confirmed. Raises PrloomError for more than one
    thing that was not.
    """
    if wanted.yes or len(found) <= 1:
        return
    unnamed = [target for target in found if event_names.of(target.id) not in wanted.names]
    if not sys.stdin.isatty():
        if len(unnamed) <= 1:
            return
        options = [tuple(wanted.options), ("--yes",)]
        if wanted.plan is not None:
            options = [("--plan", wanted.plan), *options]
        again = layout.to_run(verb, *wanted.names, *options)
        raise PrloomError(
            f"{_counted(unnamed)} match, and nothing was {_PAST[verb]}; to {verb} all of them, run {again}"
        )
    if not click.confirm(f"{verb.capitalize()} these {_counted(found)}?"):
        raise PrloomError(f"nothing was {_PAST[verb]}, because the answer was no")


def _counted(found: Sequence[RequestTarget]) -> str:
    """Return how many events and actions these are: `2 events and 1 action`."""
    actions = sum(target.action is not None for target in found)
    words = []
    for number, noun in ((len(found) - actions, "event"), (actions, "action")):
        if number == 1:
            words.append(f"1 {noun}")
        elif number:
            words.append(f"{number} {noun}s")
    return " and ".join(words)
