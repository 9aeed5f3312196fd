"""`prloom bridges`: list the bridges, and the targets that each claims."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import click

from prloom.cli import context
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.lazy import Lazy, LazyGroup
from prloom.cli.output import layout, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from prloom.engine.catalog import BridgeLine


COMMANDS: Mapping[str, Lazy] = {
    "list": Lazy("prloom.cli.bridges", "List the bridges, and the targets that they claim.", "list_bridges"),
}

command = LazyGroup("bridges", lazy=COMMANDS, help="List the bridges.")


@click.command("list")
@json_option
@pass_options
def list_bridges(given: Options, *, as_json: bool) -> None:
    """List the bridges: where each of them comes from, which targets it claims, and when it was last polled."""
    from datetime import UTC, datetime  # noqa: PLC0415 - `prloom bridges list --help` needs none

    from prloom.engine import catalog  # noqa: PLC0415

    with redirect_stdout(sys.stderr):  # a bridge's module may print
        found = catalog.bridges(*context.extensions(given))
    if as_json:
        terminal.echo_json({"bridges": found})
    elif found:
        click.echo("\n".join(_lines(found, datetime.now(UTC))))
    else:
        click.echo("There are no bridges; add one to prloom.toml as [bridges.NAME].")


def _lines(found: Sequence[BridgeLine], now: datetime) -> Iterator[str]:
    room = max(terminal.columns_of(terminal.clean(bridge.name)) for bridge in found) + 2
    for bridge in found:
        yield from layout.item(terminal.clean(bridge.name), _what(bridge, now), *_error(bridge), room=room)


def _what(bridge: BridgeLine, now: datetime) -> str:
    if not bridge.enabled:
        return terminal.paint("disabled", "dim")
    if bridge.error:
        state = terminal.paint("failed", "bad")
    else:
        state = terminal.paint("enabled", "good")
    targets = ", ".join(map(terminal.clean, bridge.targets)) or "no targets"
    return "  ".join(part for part in (state, terminal.clean(bridge.source), targets, _last_poll(bridge, now)) if part)


def _last_poll(bridge: BridgeLine, now: datetime) -> str:
    if bridge.idle:
        return f"not asked: {terminal.clean(bridge.idle)}"
    if bridge.last_poll_at is None and bridge.error:
        return ""
    if bridge.last_poll_at is None:
        return "never asked"
    return f"last asked {layout.when(bridge.last_poll_at, now)}"


def _error(bridge: BridgeLine) -> Iterator[str]:
    if bridge.error:
        yield terminal.paint(terminal.clean(bridge.error), "bad")
