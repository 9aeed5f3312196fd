"""`prloom exchange request`: publish a message, wait for its reply, and print that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prloom.cli.exchange import context, exit_codes, message_body, options, wait_reply
from prloom.cli.exchange.durations import duration
from prloom.cli.options import Options, pass_options

if TYPE_CHECKING:
    from datetime import timedelta


@click.command(
    "request",
    epilog="Example:  prloom exchange request review 'Is app.py sound?' --wait 10m",
)
@click.option("--success-topic", metavar="T", help="The topic on which a message counts as the reply.")
@click.option("--failure-topic", metavar="T", help="The same, if the work failed.")
@click.option("--wait", "patience", type=duration, help="How long to wait.  [default: for ever]")
@options.of_a_message
@pass_options
@click.pass_context
def command(
    ctx: click.Context,
    given: Options,
    /,
    topic: str,
    body: str | None,
    database: str | None,
    *,
    success_topic: str | None,
    failure_topic: str | None,
    patience: timedelta | None,
    **about: Any,  # noqa: ANN401 - click's options, which are the draft's
) -> None:
    """Publish a message on TOPIC, print its ids on stderr, wait for the first reply to it, and print that.

    The exit codes are those of `check`: 0 if the work succeeded, 3 failed, 4 timed out, 6 dead, 7 cancelled, and 5 if
    no reply came in time. The work continues then, and stderr says how to check later.
    """
    text = message_body.given(body, ctx)
    with context.open_exchange(given, database) as exchange:
        message = exchange.publish(topic, text, **about)
        try:
            click.echo(f"message {message.id}  conversation {message.conversation_id}", err=True)
            reply = wait_reply.wait(exchange, message, success_topic, failure_topic, patience)
        except KeyboardInterrupt:
            click.echo(wait_reply.later(message, database), err=True)
            raise
    if reply is None:
        click.echo(f"no reply yet; {wait_reply.later(message, database)}", err=True)
        raise click.exceptions.Exit(exit_codes.CODES["pending"])
    message_body.show(reply.body)
    raise click.exceptions.Exit(exit_codes.CODES[wait_reply.outcome_of(reply, failure_topic)])
