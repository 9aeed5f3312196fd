"""`prloom exchange stats`: print the statistics of each topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import layout, terminal
from prloom.cli.exchange import context
from prloom.cli.options import Options, json_option, pass_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prloom.exchange.claim import TopicStats

_HEADS = ("TOPIC", "READY", "DELAYED", "LEASED", "DONE", "DEAD", "OLDEST READY", "IN/MIN", "OUT/MIN")


@click.command("stats", epilog="Example:  prloom exchange stats --json")
@context.database_option
@json_option
@pass_options
def command(given: Options, /, database: str | None, *, as_json: bool) -> None:
    """Show each topic: messages by state, the age of the oldest ready one, and rates over five minutes."""
    with context.open_exchange(given, database) as exchange:
        topics = exchange.stats()
    if as_json:
        terminal.echo_json({"topics": [_document(each) for each in topics]})
    elif topics:
        click.echo("\n".join(_lines(topics)))
    else:
        click.echo("No messages yet; publish one with `prloom exchange publish`.")


def _lines(topics: Sequence[TopicStats]) -> list[str]:
    """Return a table; where that is too wide for the terminal, each topic with its figures below it."""
    rows = [_cells(each) for each in topics]
    table = terminal.table([[terminal.paint(head, "dim") for head in _HEADS], *rows])
    width = terminal.line_width()
    if width is None or all(terminal.columns_of(line) <= width for line in table):
        return table
    lines: list[str] = []
    for topic, *figures in rows:
        named = [f"{head.lower()} {figure}" for head, figure in zip(_HEADS[1:], figures, strict=True)]
        lines += layout.paragraph(topic)
        lines += layout.paragraph(", ".join(named), indent=layout.INDENT)
    return lines


def _cells(stats: TopicStats) -> list[str]:
    age = stats.oldest_ready_age
    return [
        terminal.paint(stats.topic, "name"),
        *(str(count) for count in (stats.ready, stats.delayed, stats.leased, stats.done)),
        terminal.paint(str(stats.dead), "bad") if stats.dead else "0",
        "-" if age is None else terminal.duration(age),
        f"{stats.published_per_minute:.1f}",
        f"{stats.ended_per_minute:.1f}",
    ]


def _document(stats: TopicStats) -> dict[str, object]:
    from datetime import timedelta  # noqa: PLC0415 - only `--json` needs them

    import msgspec  # noqa: PLC0415

    document: dict[str, object] = msgspec.to_builtins(stats)
    del document["oldestReadyAge"]
    age = stats.oldest_ready_age
    return document | {"oldestReadyAgeMs": None if age is None else age // timedelta(milliseconds=1)}
