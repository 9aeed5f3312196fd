"""`prloom config`: show the values that are in effect, and where each comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from prloom.cli import context
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import layout, terminal
from prloom.core.text import naming
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from prloom.config.effective import EffectiveValue

_LEAST_VALUE = 20
"""The fewest columns of a value beside its key; with fewer it gets a line of its own."""


@click.command("config")
@click.argument("key", required=False)
@click.option("--preset", metavar="NAME", help="Show the values for plans with this preset of prloom.toml.")
@json_option
@pass_options
def command(given: Options, key: str | None, *, preset: str | None, as_json: bool) -> None:
    """Show the values that are in effect, and where each comes from; with KEY only those of a key or a table."""
    from prloom.config import effective  # noqa: PLC0415 - `prloom config --help` needs none

    chosen = effective.values(context.config(given, preset=preset))
    if key is not None:
        chosen = _of(key, chosen)
    if as_json:
        document = [{"key": each.key, "value": _masked(each), "origin": each.origin} for each in chosen]
        terminal.echo_json({"values": document})
        return
    click.echo("\n".join(_lines(chosen, whole=key is not None)))


def _lines(chosen: Sequence[EffectiveValue], *, whole: bool) -> Iterator[str]:
    """Yield the values as lines that fit the terminal; if not `whole`, one for each value, which is cut there.

    Where the terminal is narrow, a value and its origin are below the key.
    """
    heads = terminal.table([[terminal.clean(each.key), _origin(each.origin)] for each in chosen])
    taken = max(map(terminal.columns_of, heads), default=0) + len(layout.INDENT)
    width = terminal.line_width()
    is_narrow = width is not None and width - taken < _LEAST_VALUE
    for each, head in zip(chosen, heads, strict=True):
        start, text = head + " " * (taken - terminal.columns_of(head)), _shown(each)
        if is_narrow:
            yield layout.cut(terminal.clean(each.key), 0)
            start, text = layout.INDENT, f"{terminal.clean(each.origin)}: {text}"
        columns = terminal.columns_of(start)
        parts = [layout.cut(text, columns)]
        if whole:
            parts = layout.fitted(text, columns)
        for part in parts:
            yield start + part
            start = " " * columns


def _of(key: str, every: Sequence[EffectiveValue]) -> tuple[EffectiveValue, ...]:
    """Return the values of a key or of a table; raises PrloomError with the nearest key where there is none."""
    found = tuple(each for each in every if each.key == key or each.key.startswith(f"{key}."))
    if not found:
        names = [each.key for each in every]
        meant = context.did_you_mean(key, [*names, *dict.fromkeys(name.rpartition(".")[0] for name in names)])
        raise PrloomError(f"no value is set for {key}; {meant or '`prloom config` lists all keys'}")
    return found


def _shown(each: EffectiveValue) -> str:
    """Return a value as TOML spells it, closely enough to be copied."""
    return terminal.clean(json.dumps(_masked(each), ensure_ascii=False, default=str))


def _origin(origin: str) -> str:
    if origin == "default":
        return terminal.paint(origin, "dim")
    return terminal.clean(origin)


def _masked(each: EffectiveValue) -> object:
    """Return a value without the secrets in its texts."""
    from prloom.core.text import named_secrets  # noqa: PLC0415 - likewise

    return named_secrets.masked(_without_credentials(each.value), each.key.rpartition(".")[2])


def _without_credentials(value: object) -> object:
    if isinstance(value, str):
        return naming.mask_credentials(value, "***")
    if isinstance(value, list | tuple):
        return [_without_credentials(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _without_credentials(each) for name, each in value.items()}
    return value
