"""`prloom plugins disable`: switch plugins off, in prloom.toml."""

from __future__ import annotations

import click

from prloom.cli import plugin_switch
from prloom.cli.options import Options, pass_options


@click.command("disable")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@pass_options
def command(given: Options, names: tuple[str, ...]) -> None:
    """Disable plugins in prloom.toml; its comments are kept."""
    plugin_switch.switch(given, names, "disable")
