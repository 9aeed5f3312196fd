"""`prloom exchange prune`: remove conversations that ended long ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli.exchange import context
from prloom.cli.exchange.durations import duration
from prloom.cli.options import Options, pass_options

if TYPE_CHECKING:
    from datetime import timedelta


@click.command("prune", epilog="Example:  prloom exchange prune --older-than 30d")
@click.option("--older-than", type=duration, required=True, help="How long nothing must have happened in them.")
@context.database_option
@pass_options
def command(given: Options, /, older_than: timedelta, database: str | None) -> None:
    """Remove conversations that have ended and in which nothing has happened since.

    A conversation in which something remains to be worked on stays. The keys go with the messages.
    """
    with context.open_exchange(given, database) as exchange:
        removed = exchange.prune(older_than)
    click.echo(f"{removed} {'message' if removed == 1 else 'messages'} removed.")
