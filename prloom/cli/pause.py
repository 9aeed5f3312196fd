"""`prloom pause`: stop the work on plans."""

from __future__ import annotations

import click

from prloom.cli.options import Options, pass_options


@click.command("pause")
@click.argument("plans", metavar="[PLAN]...", nargs=-1)
@click.option("--all", "all_plans", is_flag=True, help="Pause all plans; the default if no plan is named.")
@pass_options
def command(given: Options, plans: tuple[str, ...], *, all_plans: bool) -> None:
    """Stop the work on plans until `prloom resume`.

    New feedback is still taken in and waits, and commands such as `/prloom status` still work. A run of an agent that
    has begun goes on, and replies that are queued are still sent.
    """
    from prloom.cli import pausing  # noqa: PLC0415 - `prloom pause --help` needs none

    pausing.switch(given, "pause", plans, all_plans=all_plans, done="Paused")
