"""`prloom exchange read`: print messages, and follow what comes."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.exchange import context, output
from prloom.cli.output import terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prloom.exchange.exchange import Exchange
    from prloom.exchange.message import Message

_PAGE = 100  # messages at a time: bodies may be long


@click.command(
    "read",
    epilog="Examples:  prloom exchange read --topic upper.completed   |   prloom exchange read --follow --json",
)
@click.option("--topic", metavar="T", help="Only messages on this topic.")
@click.option("--conversation", metavar="C", help="Only messages of this conversation.")
@click.option("--since", metavar="ID", help="Only messages that were published after this one.")
@click.option("--follow", is_flag=True, help="Continue with new messages until interrupted.")
@click.option("--body", "only_bodies", is_flag=True, help="Print only the bodies.")
@context.database_option
@json_option
@pass_options
def command(
    given: Options,
    /,
    topic: str | None,
    conversation: str | None,
    since: str | None,
    database: str | None,
    *,
    follow: bool,
    only_bodies: bool,
    as_json: bool,
) -> None:
    """Print messages in the order of their publication.

    In a pipe, bodies are printed unchanged; on a terminal, control characters in them have no effect. --json prints one
    document; with --follow, one for each message, on its own line.
    """
    from prloom.exchange import validation  # noqa: PLC0415 - `--help` needs none

    if topic is not None and conversation is not None:
        raise click.UsageError("give --topic or --conversation, not both")
    if topic is not None:
        validation.checked_topic(topic)
    with context.open_exchange(given, database) as exchange:
        if since is not None:
            exchange.message(since)  # report a mistyped one before waiting for anything
        if follow:
            reading = exchange.follow
        else:
            reading = partial(_there, exchange)
        found = reading(topic=topic, conversation=conversation, since=since)
        if as_json and not follow:
            _document(found)
        else:
            _each(found, _as_json if as_json else _body if only_bodies else _for_people)


def _there(exchange: Exchange, *, topic: str | None, conversation: str | None, since: str | None) -> Iterator[Message]:
    while page := exchange.read(topic=topic, conversation=conversation, since=since, limit=_PAGE):
        yield from page
        since = page[-1].id


def _each(messages: Iterable[Message], show: Callable[[Message], None]) -> None:
    for message in messages:
        show(message)
        sys.stdout.flush()


def _document(messages: Iterable[Message]) -> None:
    """Print one document, a message at a time, for there may be many."""
    between = '{"messages": ['
    for message in messages:
        click.echo(between)
        click.echo(_encoded(message), nl=False)
        between = ","
    click.echo("]}" if between == "," else between + "]}")


def _as_json(message: Message) -> None:
    click.echo(_encoded(message))


def _encoded(message: Message) -> str:
    import json  # noqa: PLC0415 - only `--json` needs them

    import msgspec  # noqa: PLC0415

    return json.dumps(msgspec.to_builtins(message, str_keys=True))


def _for_people(message: Message) -> None:
    about = [terminal.paint(message.id, "strong"), terminal.paint(message.topic, "name")]
    about.append(terminal.clock(message.created_at))
    if message.producer:
        about.append(f"by {terminal.clean(message.producer)}")
    if message.parent_id:
        about.append(f"answers {terminal.clean(message.parent_id)}")
    click.echo("  ".join(about))
    output.print_body(message.body, whole_lines=True)


def _body(message: Message) -> None:
    output.print_body(message.body)
