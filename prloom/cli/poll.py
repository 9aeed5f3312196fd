"""`prloom poll`: ask the sources for feedback now."""

from __future__ import annotations

import click

from prloom.cli import completion, context
from prloom.cli.context import Options, pass_options


@click.command("poll")
@click.argument("plan", required=False, shell_complete=completion.plans)
@pass_options
def command(given: Options, plan: str | None) -> None:
    """Make the running dispatcher poll its sources now, whatever their intervals say.

    A source is polled for all plans at once, even if you name one PLAN.
    """
    from prloom.engine.operator import poll_request  # noqa: PLC0415 - `prloom poll --help` needs none

    where = context.repository(given)
    named = () if plan is None else (context.plan_id(where, plan),)
    click.echo(poll_request.send(where, named) or poll_request.NO_DISPATCHER)
