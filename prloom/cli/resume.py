"""`prloom resume`: go on with the work on plans."""

from __future__ import annotations

import click

from prloom.cli.options import Options, pass_options


@click.command("resume")
@click.argument("plans", metavar="[PLAN]...", nargs=-1)
@click.option("--all", "all_plans", is_flag=True, help="Resume all plans; the default if no plan is named.")
@pass_options
def command(given: Options, plans: tuple[str, ...], *, all_plans: bool) -> None:
    """Resume the work on plans that were paused."""
    from prloom.cli import pausing  # noqa: PLC0415 - `prloom resume --help` needs none

    pausing.switch(given, "resume", plans, all_plans=all_plans, done="Resumed")
