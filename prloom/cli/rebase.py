"""`prloom rebase`: request a rebase of a plan's branch onto its base."""

from __future__ import annotations

import click

from prloom.cli import completion, context, submit
from prloom.cli.context import Options, pass_options


@click.command("rebase")
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True, shell_complete=completion.plans)
@pass_options
def command(given: Options, plans: tuple[str, ...]) -> None:
    """Rebase the branches of plans onto their base.

    The rebase becomes a TODO of the plan. If commits conflict, a worker resolves the conflict. If it cannot, the branch
    is put back to what it was, and the plan is blocked. Commits of people keep their author, date and message. With
    `[work] rebase = "never"`, it is refused.
    """
    from prloom.engine.operator import plan_rules  # noqa: PLC0415 - `prloom rebase --help` needs none

    where = context.repository(given)
    ids = [context.plan_id(where, plan) for plan in plans]
    plan_rules.refuse_rebases(where, context.config(given), ids)
    submit.submit_ids(where, "rebase", ids, done="Requested a rebase of")
