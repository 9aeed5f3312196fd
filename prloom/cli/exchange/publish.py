"""`prloom exchange publish`: publish a message on a topic."""

from __future__ import annotations

from typing import Any

import click

from prloom.cli import terminal
from prloom.cli.exchange import context, message_body, options
from prloom.cli.options import Options, json_option, pass_options


@click.command(
    "publish",
    epilog="Examples:  prloom exchange publish upper hello   |   git diff | prloom exchange publish review --meta pr=7",
)
@options.of_a_message
@json_option
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
    as_json: bool,
    **about: Any,  # noqa: ANN401 - click's options, which are the draft's
) -> None:
    """Publish a message on a TOPIC, and print its id. Without BODY, or with `-`, stdin is the body."""
    text = message_body.given(body, ctx)
    with context.open_exchange(given, database) as exchange:
        message = exchange.publish(topic, text, **about)
    if as_json:
        terminal.echo_json(message)
    else:
        click.echo(message.id)
