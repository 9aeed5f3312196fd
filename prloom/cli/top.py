"""`prloom top`: the status on a full screen, live, with a key for each action."""

from __future__ import annotations

import sys

import click

from prloom.cli import context
from prloom.cli.context import Options, pass_options
from prloom.errors import PrloomError


@click.command("top")
@pass_options
def command(given: Options) -> None:
    """Show what needs you, what goes on, what waits, and all plans, on a full screen; act on them with keys.

    The screen changes as soon as something happens. `?` shows the keys.
    """
    where = context.repository(given)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise PrloomError("`prloom top` needs a terminal; use `prloom status`, or `prloom status --watch`")
    from prloom.top.actions import Operator  # noqa: PLC0415 - Textual takes longer to import than a status takes
    from prloom.top.app import TopApp  # noqa: PLC0415 - likewise

    TopApp(Operator(where, given)).run()
