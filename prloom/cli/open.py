"""`prloom open`: work in a plan's worktree oneself, with a shell or with the agent."""

from __future__ import annotations

import os
import sys

import click

from prloom.cli import completion, context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import layout, terminal
from prloom.errors import PrloomError


@click.command("open")
@click.argument("plan", metavar="PLAN", shell_complete=completion.plans)
@click.option("--shell", "wanted", flag_value="shell", default="shell", help="Open your shell there; the default.")
@click.option("--agent", "wanted", flag_value="agent", help="Open the worker's agent, which continues its session.")
@pass_options
def command(given: Options, plan: str, wanted: str) -> None:
    """Open a shell in the worktree of PLAN; prloom does not work on the plan until you leave it.

    While prloom works on it, this is refused: wait, or pause the plan. The agent continues its session in the clone
    where it worked, and in its sandbox; what it changes is brought into the worktree when it ends. What you change and
    do not commit stays there, and keeps the plan from going on only where prloom's next commit changes the same files.
    """
    from prloom.engine.operator import sandboxed_command, session  # noqa: PLC0415 - `prloom open --help` needs none

    where = context.repository(given)
    plan_id = context.plan_id(where, plan)
    shown = terminal.clean(str(where.worktree(plan_id)))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise PrloomError(f"`prloom open` needs a terminal; the worktree of plan {plan_id} is {shown}")
    if wanted == "agent":
        code, is_brought = sandboxed_command.run_agent(where, context.config(given), plan_id, os.environ)
        if is_brought:
            click.echo(f"What was changed is in the worktree now, not committed: {shown}")
    else:
        click.echo(f"This is the worktree of plan {terminal.paint(terminal.clean(plan_id), 'name')}: {shown}")
        click.echo("prloom does not work on it until you leave this shell.")
        code = session.run(where, plan_id, "shell", session.shell(os.environ))
    click.echo(f"Left plan {terminal.paint(terminal.clean(plan_id), 'name')}: prloom may work on it again.")
    if code:
        click.echo(f"It ended with exit code {code}.", err=True)
    click.echo(f"If you changed files, commit them, or run {layout.to_run('resume', plan_id, ('--commit',))}.")
