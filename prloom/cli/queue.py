"""`prloom queue`: hand drafts to the dispatcher."""

from __future__ import annotations

import click

from prloom.cli import completion, context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal


@click.command("queue")
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True, shell_complete=completion.plans)
@pass_options
def command(given: Options, plans: tuple[str, ...]) -> None:
    """Hand drafts to the dispatcher, which makes a branch and a worktree for each."""
    from prloom.engine.operator import new_draft  # noqa: PLC0415 - likewise

    where, config = context.repository(given), context.config(given)
    for plan in plans:
        name = terminal.paint(terminal.clean(plan), "name")
        if new_draft.queue(where, config, plan):
            click.echo(f"Queued {name}.")
        else:
            click.echo(f"Nothing changed: {name} is queued already.")
