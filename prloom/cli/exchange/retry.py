"""`prloom exchange retry`: have a message worked on again."""

from __future__ import annotations

import click

from prloom.cli.exchange import context
from prloom.cli.options import Options, pass_options


@click.command("retry", epilog="Example:  prloom exchange retry 01m805j8em2w6qz6mjew")
@click.argument("message")
@context.database_option
@pass_options
def command(given: Options, /, message: str, database: str | None) -> None:
    """Make a MESSAGE ready again at once, with all its attempts.

    This is for a message that failed, timed out, was cancelled, is dead, or waits for its next try.
    """
    with context.open_exchange(given, database) as exchange:
        delivery = exchange.retry(message)
    click.echo(f"{delivery.message_id} is ready again on {delivery.topic}.")
