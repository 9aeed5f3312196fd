"""`prloom stop`: end a run of an agent."""

from __future__ import annotations

import click

from prloom.cli import context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal


@click.command("stop")
@click.argument("run")
@pass_options
def command(given: Options, run: str) -> None:
    """End a RUN of an agent, and pause its plan, so that prloom does not begin the same run again."""
    from prloom.engine.operator import run_stop  # noqa: PLC0415 - `prloom stop --help` needs none

    url = context.config(given).exchange.url
    stopped = run_stop.stop(context.repository(given), run, exchange_url=url, by="`prloom stop`")
    if stopped.pause is None:
        click.echo(f"Run {stopped.run} has ended already.")
        return
    click.echo(stopped.pause.message("Paused"))
    click.echo(f"Stopping {stopped.run}. To continue: prloom resume {terminal.clean(stopped.plan)}")
