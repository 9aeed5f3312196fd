"""`prloom exchange publish` and `request`: publish a message, and wait for its reply."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from prloom.cli.context import Options, duration, json_option, pass_options
from prloom.cli.exchange import context, output
from prloom.cli.output import terminal
from prloom.exchange.protocol import MessageFilter

if TYPE_CHECKING:
    from datetime import timedelta

    from prloom.exchange.exchange import Exchange
    from prloom.exchange.message import Message


@click.command(
    "publish",
    epilog="Examples:  prloom exchange publish upper hello   |   git diff | prloom exchange publish review --meta pr=7",
)
@context.message_options
@json_option
@pass_options
@click.pass_context
def publish(
    ctx: click.Context,
    given: Options,
    /,
    topic: str,
    body: str | None,
    database: str | None,
    *,
    as_json: bool,
    **about: Any,  # noqa: ANN401 - click's options, which are the draft's
) -> None:
    """Publish a message on a TOPIC, and print its id. Without BODY, or with `-`, stdin is the body."""
    text = output.read_body(body, ctx)
    with context.open_exchange(given, database) as exchange:
        message = exchange.publish(topic, text, **about)
    if as_json:
        terminal.echo_json(message)
    else:
        click.echo(message.id)


@click.command(
    "request",
    epilog="Example:  prloom exchange request review 'Is app.py sound?' --wait 10m",
)
@click.option("--success-topic", metavar="T", help="The topic on which a message counts as the reply.")
@click.option("--failure-topic", metavar="T", help="The same, if the work failed.")
@click.option("--wait", "patience", type=duration, help="How long to wait.  [default: for ever]")
@context.message_options
@pass_options
@click.pass_context
def request(
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
    text = output.read_body(body, ctx)
    with context.open_exchange(given, database) as exchange:
        message = exchange.publish(topic, text, **about)
        try:
            click.echo(f"message {message.id}  conversation {message.conversation_id}", err=True)
            reply = wait_for_reply(exchange, message, success_topic, failure_topic, patience)
        except KeyboardInterrupt:
            click.echo(how_to_check_later(message, database), err=True)
            raise
    if reply is None:
        click.echo(f"no reply yet; {how_to_check_later(message, database)}", err=True)
        raise click.exceptions.Exit(output.CODES["pending"])
    output.print_body(reply.body)
    raise click.exceptions.Exit(output.CODES[reply_outcome(reply, failure_topic)])


def wait_for_reply(
    exchange: Exchange, request: Message, success: str | None, failure: str | None, patience: timedelta | None
) -> Message | None:
    """Return the first reply to a message; None where none came in time.

    A reply is what a worker published by settling the message, or any message on one of the two topics with this one as
    its parent.
    """
    topics = {success, failure} - {None}

    def find_reply() -> Message | None:
        return exchange.find_reply(request.id) or _poll_for_reply(exchange, request, topics)

    return exchange.wait_for(find_reply, patience=patience)


def _poll_for_reply(exchange: Exchange, request: Message, topics: set[str | None]) -> Message | None:
    if not topics:
        return None
    after = exchange.store.read(MessageFilter(conversation_id=request.conversation_id, since=request.id))
    return next((each for each in after if each.parent_id == request.id and each.topic in topics), None)


def reply_outcome(reply: Message, failure: str | None) -> str:
    """Return the outcome that a reply reports, by its status, or by its topic where it has none."""
    outcome = output.outcome_of_status(str(reply.metadata.get("status", "")))
    if outcome in output.CODES:
        return outcome
    if reply.topic == failure:
        return "failure"
    return "success"


def how_to_check_later(message: Message, database: str | None) -> str:
    """Return the text that says that the work continues, and how to check it."""
    # A URL may contain a password, which must not be printed.
    named = database if database is None or "://" not in database else "URL"
    where = ""
    if named:
        where = f" --database {quote(named)}"
    check = f"prloom exchange check {message.conversation_id}{where}"
    cancel = f"prloom exchange cancel {message.id}{where}"
    return f"the work continues; check it later with `{check}`, or cancel it with `{cancel}`"
