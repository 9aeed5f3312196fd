"""`prloom exchange cancel`: end a message that is not wanted any more."""

from __future__ import annotations

import click

from prloom.cli.exchange import context
from prloom.cli.options import Options, pass_options


@click.command("cancel", epilog="Example:  prloom exchange cancel 01m805j8em2w6qz6mjew --reason 'asked twice'")
@click.argument("message")
@click.option("--reason", metavar="TEXT", default="cancelled", show_default=True, help="The reason.")
@context.database_option
@pass_options
def command(given: Options, /, message: str, reason: str, database: str | None) -> None:
    """Cancel a MESSAGE that waits or is being worked on, and print the id of the published notice.

    A worker that is working on it notices within ten seconds, ends its command, and publishes nothing.
    """
    with context.open_exchange(given, database) as exchange:
        click.echo(exchange.cancel(message, reason).id)
