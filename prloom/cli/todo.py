"""`prloom todo`: list the TODOs of a plan, or change them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context, layout, submit, terminal
from prloom.cli.context import Options, json_option, pass_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prloom.core.plan_reader import TodoState
    from prloom.core.requests import Verb
    from prloom.engine.operator.plan_texts import ListedTodo, NamedPlan
    from prloom.storage.paths import RepositoryPaths

_STATES: Mapping[str, TodoState] = {"done": "done", "block": "blocked", "open": "open", "drop": "dropped"}
_REQUESTS: Mapping[str, Verb] = {"open": "todo_open", "go": "todo_go"}
"""What the dispatcher decides, for it knows which TODOs were done."""
_DONE = {"done": "Done", "block": "Blocked", "open": "Opened", "drop": "Dropped", "go": "Allowed"}
_COLOURS: Mapping[str, terminal.Role] = {"open": "name", "done": "good", "blocked": "bad", "dropped": "dim"}


@click.command("todo")
@click.argument("plan", metavar="PLAN", shell_complete=completion.plans)
@click.argument("action", type=click.Choice(["add", *_DONE]), metavar="[ACTION]", required=False)
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
    from prloom.engine.operator import plan_texts  # noqa: PLC0415 - `prloom todo --help` needs none

    where = context.repository(given)
    named = plan_texts.find(where, plan)
    if action == "add":
        added = plan_texts.add_todo(where, named, todo or "", words or "")
        click.echo(f"Added: {terminal.clean(added)}.", err=as_json)
    elif action is not None:
        _change(where, named, action, todo, reason=reason, quiet=as_json)
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


def _change(
    where: RepositoryPaths, named: NamedPlan, action: str, todo: str | None, *, reason: str | None, quiet: bool
) -> None:
    from prloom.core import plan_file  # noqa: PLC0415 - likewise
    from prloom.engine.operator import plan_texts  # noqa: PLC0415 - likewise
    from prloom.errors import PrloomError  # noqa: PLC0415 - likewise

    items = plan_texts.listed(where, named)
    if action == "go" and todo is None:
        chosen = [item.id for item in items if item.state == "open"]
    else:
        chosen = [_find(items, named.id, todo or "").id]
    request = _REQUESTS.get(action)
    if request is not None and not named.is_draft:
        submit.submit_ids(where, request, chosen, done=_DONE[action], plan=named.id, err=quiet)
        return
    if action == "go":
        raise PrloomError(
            f"{named.id} is a draft, and nothing works on it; hand it over with `prloom queue {named.id}`"
        )
    item = _find(items, named.id, todo or "")

    def edit(text: str) -> str:
        text = plan_file.set_state(text, item.id, _STATES[action])
        if reason is not None:
            text = plan_file.set_reason(text, item.id, reason)
        return text

    plan_texts.change(where, named, edit)
    click.echo(f"{_DONE[action]}: {terminal.clean(item.title)}.", err=quiet)


def _find(items: Sequence[ListedTodo], plan_id: str, todo: str) -> ListedTodo:
    """Return the TODO with this id, or with the only one that begins so."""
    from prloom.errors import PrloomError  # noqa: PLC0415 - likewise

    exact = [item for item in items if item.id == todo]
    found = exact or [item for item in items if item.id.startswith(todo)]
    if len(found) == 1:
        return found[0]
    shown = terminal.clean(todo)
    if found:
        names = ", ".join(item.id for item in found)
        raise PrloomError(f"several TODOs of plan {plan_id} begin with {shown}: {names}; write more of the id")
    raise PrloomError(f"plan {plan_id} has no TODO {shown}; `prloom todo {plan_id}` lists them")


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
        lines = [*layout.paragraph(f"{state} {terminal.clean(item.id)}  {terminal.clean(item.title)}")]
        if details:
            lines += layout.paragraph(terminal.clean("; ".join(details)), indent=" " * 9)
        click.echo("\n".join(lines))
