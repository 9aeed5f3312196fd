"""The options that publishing commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prloom.cli.exchange import context
from prloom.cli.exchange.durations import duration

if TYPE_CHECKING:
    from collections.abc import Callable


def _pairs(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    for each in given:
        if "=" not in each:
            raise click.BadParameter(f"{each} is not KEY=VALUE", ctx, param)
    return dict(tuple(each.split("=", 1)) for each in given)  # type: ignore[misc]


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--parent", metavar="ID", help="The message that this one follows, in the same conversation."),
    click.option("--conversation", metavar="ID", help="The conversation that it belongs to."),
    click.option("--producer", metavar="P", help="Which program publishes it."),
    click.option(
        "--meta", "metadata", multiple=True, metavar="K=V", callback=_pairs, help="Metadata; may be repeated."
    ),
    click.option("--delay", type=duration, help="How long workers cannot take it yet."),
    click.option("--key", metavar="K", help="Publish nothing if a message with this key exists."),
    click.option("--concurrency-key", metavar="K", help="Work on one message with this key at a time."),
    click.option("--max-attempts", type=click.IntRange(1, 1_000_000), metavar="N", help="How often it may be tried."),
    click.option("--track/--no-track", default=True, help="Whether `notify` reports its end.  [default: track]"),
)


def of_a_message(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command what makes a message: its topic, its body, what more may be said about it, and where it goes."""
    command = context.database_option(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return click.argument("topic")(click.argument("body", required=False)(command))
