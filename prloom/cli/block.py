"""`prloom block` and `prloom unblock`: keep the TODOs of a plan from being worked on, with a reason."""

from __future__ import annotations

import click

from prloom.cli import completion, context, submit
from prloom.cli.context import Options, pass_options


@click.command("block")
@click.argument("plan", metavar="PLAN", shell_complete=completion.plans)
@click.option("--reason", required=True, metavar="TEXT", help="Why; `prloom status` shows it.")
@pass_options
def block(given: Options, plan: str, reason: str) -> None:
    """Stop the work on a plan's TODOs until `prloom unblock`; feedback is still answered."""
    where = context.repository(given)
    submit.submit_ids(where, "block", [context.plan_id(where, plan)], done="Blocked", reason=reason)


@click.command("unblock")
@click.argument("plan", metavar="PLAN", shell_complete=completion.plans)
@pass_options
def unblock(given: Options, plan: str) -> None:
    """Let the TODOs of a blocked plan be worked on again, whatever has blocked it."""
    where = context.repository(given)
    submit.submit_ids(where, "unblock", [context.plan_id(where, plan)], done="Unblocked")
