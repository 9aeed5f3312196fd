"""`prloom exchange check`: print the outcome of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import terminal
from prloom.cli.exchange import context, exit_codes
from prloom.cli.options import Options, json_option, pass_options

if TYPE_CHECKING:
    from prloom.exchange.exchange import Checked, Exchange


@click.command("check", epilog="Example:  prloom exchange check 01m805j8em2w6qz6mjew && echo done")
@click.argument("conversation")
@context.database_option
@json_option
@pass_options
def command(given: Options, /, conversation: str, database: str | None, *, as_json: bool) -> None:
    """Show the outcome of a CONVERSATION, which you can name by any of its messages.

    Exit codes: 0 success, 5 pending, 3 failure, 4 timed out, 6 dead (out of attempts), 7 cancelled.
    """
    with context.open_exchange(given, database) as exchange:
        checked = _checked(exchange, conversation)
    if as_json:
        terminal.echo_json(_document(checked))
    else:
        outcome = terminal.paint(checked.outcome.replace("_", " "), exit_codes.ROLES[checked.outcome])
        click.echo(f"{outcome}  {checked.conversation_id}  {_count(checked)}")
    raise click.exceptions.Exit(exit_codes.CODES[checked.outcome])


def _checked(exchange: Exchange, name: str) -> Checked:
    from prloom.exchange.errors import UnknownMessageError  # noqa: PLC0415 - `--help` needs none

    try:
        return exchange.check(name)
    except UnknownMessageError as error:
        try:
            conversation = exchange.message(name).conversation_id
        except UnknownMessageError:
            raise error from None
    return exchange.check(conversation)


def _count(checked: Checked) -> str:
    count = len(checked.entries)
    return f"{count} {'message' if count == 1 else 'messages'}"


def _document(checked: Checked) -> dict[str, object]:
    return {
        "conversationId": checked.conversation_id,
        "outcome": checked.outcome,
        "messages": [
            {
                "id": entry.message.id,
                "topic": entry.message.topic,
                "parentId": entry.message.parent_id,
                "state": entry.delivery.state,
                "ending": entry.delivery.ending,
                "attempts": entry.delivery.attempts,
                "error": entry.claims[-1].error if entry.claims else None,
            }
            for entry in checked.entries
        ],
    }
