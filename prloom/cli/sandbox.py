"""`prloom sandbox`: run a command exactly as a worker of a plan would be run."""

from __future__ import annotations

import os

import click

from prloom.cli import completion, context
from prloom.cli.context import Options, pass_options


@click.command("sandbox", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("plan", metavar="PLAN", shell_complete=completion.plans)
@click.argument("words", metavar="-- COMMAND", nargs=-1, required=True, type=click.UNPROCESSED)
@pass_options
def command(given: Options, plan: str, words: tuple[str, ...]) -> None:
    """Run COMMAND as a worker of PLAN would be run: in its clone, with its environment, in its sandbox.

    prloom does not work on the plan meanwhile. What the command changes in the clone is the next attempt's, or is gone
    with the next TODO. The exit code is the command's.
    """
    from prloom.engine.operator import sandboxed_command  # noqa: PLC0415 - `prloom sandbox --help` needs none

    where = context.repository(given)
    plan_id = context.plan_id(where, plan)
    argv = words[1:] if words[:1] == ("--",) else words
    code = sandboxed_command.run(where, context.config(given), plan_id, argv, os.environ)
    if code:
        raise click.exceptions.Exit(code)
