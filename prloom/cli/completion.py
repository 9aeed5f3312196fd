"""`prloom completion`: print what makes a shell complete commands, options, and the ids of plans, events and TODOs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from click.shell_completion import CompletionItem

    from prloom.engine.views.snapshot import Snapshot

_SHELLS = ("bash", "zsh", "fish")
_HELP = 60


@click.command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(_SHELLS))
def command(shell: str) -> None:
    """Print the completion of a SHELL. For bash, add to ~/.bashrc: eval "$(prloom completion bash)"."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - the help needs none

    from prloom.cli import bash_completion, main  # noqa: F401, PLC0415 - the first replaces click's own for bash

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"{shell} is not known; choose one of {', '.join(_SHELLS)}")
    click.echo(found(main.cli, {}, "prloom", main.COMPLETION).source())


def plans(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the id of a plan."""
    return _matching(incomplete, ((each.plan.id, each.plan.title) for each in _snapshots(ctx)))


def events(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the id of an open event."""
    found = ((event.id, event.state) for each in _snapshots(ctx) for event in each.bus.state.open.values())
    return _matching(incomplete, found)


def todos(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the id of a TODO: of the plan that stands before it, or of any."""
    plan = ctx.params.get("plan")
    found = (
        (todo.id, todo.title)
        for each in _snapshots(ctx)
        if plan in {None, each.plan.id}
        for todo in each.todos
        if todo.id
    )
    return _matching(incomplete, found)


def events_and_todos(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the id of an open event or of a TODO."""
    return [*events(ctx, param, incomplete), *todos(ctx, param, incomplete)]


def _snapshots(ctx: click.Context) -> Iterator[Snapshot]:
    """Yield the plans of the repository that the command line names; none where there is no repository."""
    from prloom.cli import context  # noqa: PLC0415 - only the shell asks
    from prloom.engine.views import snapshot  # noqa: PLC0415 - likewise
    from prloom.errors import PrloomError  # noqa: PLC0415 - likewise

    given = context.Options(ctx.find_root().params.get("directory") or ".")
    try:
        where, _ = context.repository_to_read(given)
        yield from (each for each in snapshot.every(where) if each.plan.id)
    except PrloomError:  # a shell that completes has no place for an error; the command itself will tell it
        return


def _matching(incomplete: str, found: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    """Return what begins so, each with its help on one line: a line's end would end an item of the shell's list.

    A word that a terminal cannot show as it is cannot be completed either.
    """
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - likewise

    from prloom.cli.output import terminal  # noqa: PLC0415 - likewise

    return [
        CompletionItem(value, help=terminal.fit(terminal.clean(shown), _HELP))
        for value, shown in found
        if value.startswith(incomplete) and value == terminal.clean(value)
    ]
