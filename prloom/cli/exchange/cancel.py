"""`prloom exchange cancel`: end a message that is not wanted any more."""

from __future__ import annotations

import click

from prloom.cli.exchange import places
from prloom.cli.options import Options, pass_options


@click.command("cancel", epilog="Example:  prloom exchange cancel 01m805j8em2w6qz6mjew --reason 'asked twice'")
@click.argument("message")
@click.option("--reason", metavar="TEXT", default="cancelled", show_default=True, help="Why; the reply says it.")
@places.database_option
@pass_options
def command(given: Options, /, message: str, reason: str, database: str | None) -> None:
    """End a MESSAGE that waits or is worked on, and print the id of what is published about that.

    A worker that is at it learns so within ten seconds, ends its command, and publishes nothing.
    """
    with places.opened(given, database) as exchange:
        click.echo(exchange.cancel(message, reason).id)
