"""`prloom todo`: list the TODOs of a plan, or change them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import layout, terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prloom.engine.operator.plan_texts import ListedTodo

_ACTIONS = ("add", "done", "block", "open", "drop", "go")
_COLOURS: Mapping[str, terminal.Role] = {"open": "name", "done": "good", "blocked": "bad", "dropped": "dim"}


@click.command("todo")
@click.argument("plan", metavar="PLAN", shell_complete=completion.plans)
@click.argument("action", type=click.Choice(_ACTIONS), metavar="[ACTION]", required=False)
@click.argument("todo", metavar="[TITLE|ID]", required=False, shell_complete=completion.todos)
@click.option("--context", "words", metavar="TEXT", help="With add: what a worker has to know.")
@click.option("--reason", metavar="TEXT", help="With block: why.")
@json_option
@pass_options
def command(
    given: Options,
    *,
    plan: str,
    action: str | None,
    todo: str | None,
    words: str | None,
    reason: str | None,
    as_json: bool,
) -> None:
    """List the TODOs of a plan or a draft, or change one.

    `add TITLE` appends a TODO, `done ID` checks it, `block ID` keeps it waiting for you, `open ID` requests it again,
    and `drop ID` strikes it out. `go ID` lets a TODO begin where each has to be allowed; without an ID, all of them.
    """
    _check(action, todo, words=words, reason=reason)
    from prloom.engine.operator import plan_texts, todo_changes  # noqa: PLC0415 - `prloom todo --help` needs none

    where = context.repository(given)
    named = plan_texts.find(where, plan)
    if action == "add":
        added = plan_texts.add_todo(where, named, todo or "", words or "")
        click.echo(f"Added: {terminal.clean(added)}.", err=as_json)
    elif action is not None:
        click.echo(todo_changes.change(where, named, action, todo, reason=reason), err=as_json)
    if as_json:
        terminal.echo_json({"todos": plan_texts.listed(where, named)})
    elif action is None:
        _print(plan_texts.listed(where, named))


def _check(action: str | None, todo: str | None, *, words: str | None, reason: str | None) -> None:
    """Refuse what does not belong together."""
    if action is not None and action != "go" and not (todo or "").strip():
        what = "a TITLE" if action == "add" else "the ID of a TODO"
        raise click.UsageError(f"{action} needs {what}", click.get_current_context())
    if words is not None and action != "add":
        raise click.UsageError("--context belongs to add", click.get_current_context())
    if reason is not None and action != "block":
        raise click.UsageError("--reason belongs to block", click.get_current_context())


def _print(items: Sequence[ListedTodo]) -> None:
    if not items:
        click.echo("There are no TODOs.")
    for item in items:
        details = []
        if item.reason:
            details.append(f"blocked: {item.reason}")
        if item.commit:
            details.append(f"commit {item.commit[:10]}")
        if item.attempts:
            details.append(f"attempts: {item.attempts}")
        state = terminal.paint(f"{item.state:8}", _COLOURS[item.state])
        lines = [*layout.paragraph(f"{state} {terminal.clean(item.id)}  {layout.title(item.title)}")]
        if details:
            lines += layout.paragraph(terminal.clean("; ".join(details)), indent=" " * 9)
        click.echo("\n".join(lines))
