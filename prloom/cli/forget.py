"""`prloom forget`: stop looking after a pull request or a branch."""

from __future__ import annotations

import click

from prloom.cli import options, places, terminal
from prloom.cli.options import Options, pass_options


@click.command("forget")
@click.argument("plan")
@pass_options
def command(given: Options, plan: str) -> None:
    """Stop looking after PLAN: its worktree goes, with its history and its feedback. Its branch stays.

    Nothing is removed while the worktree holds work that is nowhere else, or while an agent is at work on it.
    """
    from prloom.engine.adoption import forget  # noqa: PLC0415 - `prloom forget --help` needs none
    from prloom.workspace import repository  # noqa: PLC0415

    where = places.repository(given)
    plan_id = places.plan_id(where, plan)
    with terminal.progress(f"giving up {plan_id}"):
        forget.forget(repository.find(options.repo_root(given)), where, plan_id)
    click.echo(f"Plan {terminal.paint(terminal.clean(plan_id), 'name')} is given up. Its branch stays.")
