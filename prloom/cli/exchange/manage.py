"""`prloom exchange cancel`, `retry` and `prune`: change messages that were published."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli.context import Options, duration, pass_options
from prloom.cli.exchange import context

if TYPE_CHECKING:
    from datetime import timedelta


@click.command("cancel", epilog="Example:  prloom exchange cancel 01m805j8em2w6qz6mjew --reason 'asked twice'")
@click.argument("message")
@click.option("--reason", metavar="TEXT", default="cancelled", show_default=True, help="The reason.")
@context.database_option
@pass_options
def cancel(given: Options, /, message: str, reason: str, database: str | None) -> None:
    """Cancel a MESSAGE that waits or is being worked on, and print the id of the published notice.

    A worker that is working on it notices within ten seconds, ends its command, and publishes nothing.
    """
    with context.open_exchange(given, database) as exchange:
        click.echo(exchange.cancel(message, reason).id)


@click.command("retry", epilog="Example:  prloom exchange retry 01m805j8em2w6qz6mjew")
@click.argument("message")
@context.database_option
@pass_options
def retry(given: Options, /, message: str, database: str | None) -> None:
    """Make a MESSAGE ready again at once, with all its attempts.

    This is for a message that failed, timed out, was cancelled, is dead, or waits for its next try.
    """
    with context.open_exchange(given, database) as exchange:
        delivery = exchange.retry(message)
    click.echo(f"{delivery.message_id} is ready again on {delivery.topic}.")


@click.command("prune", epilog="Example:  prloom exchange prune --older-than 30d")
@click.option("--older-than", type=duration, required=True, help="How long nothing must have happened in them.")
@context.database_option
@pass_options
def prune(given: Options, /, older_than: timedelta, database: str | None) -> None:
    """Remove conversations that have ended and in which nothing has happened since.

    A conversation in which something remains to be worked on stays. The keys go with the messages.
    """
    with context.open_exchange(given, database) as exchange:
        removed = exchange.prune(older_than)
    click.echo(f"{removed} {'message' if removed == 1 else 'messages'} removed.")
