"""Print for people and for programs; the one place through which text from outside reaches a terminal."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Literal

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Role = Literal["good", "bad", "warn", "dim", "strong", "name"]

_STYLES: Mapping[Role, Mapping[str, str | bool]] = {
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "warn": {"fg": "yellow"},
    "dim": {"dim": True},
    "strong": {"bold": True},
    "name": {"fg": "cyan"},
}
_DEFAULT_WIDTH = 100
_NARROWEST = 40
_NO_COLUMN = frozenset({"Mn", "Me", "Cf"})
"""The categories of marks and joiners, which are painted over the character before them."""


def clean(text: str) -> str:
    """Return text from outside on one line, with what a terminal would obey or hide written out."""
    from prloom.core.text import shown_text  # noqa: PLC0415 - `prloom --help` needs none

    return shown_text.clean(text)


def clean_block(text: str, *, prefix: str = "") -> str:
    """Return text from outside with its lines kept, else as `clean` does; a prefix before each line."""
    from prloom.core.text import shown_text  # noqa: PLC0415 - likewise

    return shown_text.clean_block(text, prefix=prefix)


def duration(span: timedelta, *, units: int = 2) -> str:
    """Return a span for people, in its largest units: `450 ms`, `30 s`, `2 h 5 min`."""
    from prloom.core.text import time_text  # noqa: PLC0415 - likewise

    return time_text.duration(span, units=units)


def age(milliseconds: int, *, units: int = 1) -> str:
    """Return an age for people, in whole seconds: `0 s`, `40 min`; with two units `4 min 10 s`."""
    return duration(timedelta(seconds=milliseconds // 1000), units=units)


def when(moment: datetime, now: datetime, *, units: int = 2) -> str:
    """Return where a moment lies as seen from now: `in 30 s`, `2 h 5 min ago`, `now`."""
    from prloom.core.text import time_text  # noqa: PLC0415 - likewise

    return time_text.when(moment, now, units=units)


def paint(text: str, role: Role) -> str:
    """Return text of ours in the role's colours; click takes them away where the output is no terminal."""
    return click.style(text, **_STYLES[role])  # type: ignore[arg-type]


def wants_colour(environ: Mapping[str, str]) -> bool | None:
    """Whether the user asked for colours, asked for none (https://no-color.org), or leaves it to the terminal."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR") or environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    if environ.get("TERM") == "dumb":
        return False
    return None


def width() -> int:
    """Return how many columns a line may fill: COLUMNS, else the terminal's, else 100."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        return max(int(columns), _NARROWEST)
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):  # no terminal; or a stdout without a file, as in tests
        return _DEFAULT_WIDTH
    if found == 0:  # a terminal that does not say
        return _DEFAULT_WIDTH
    return max(found, _NARROWEST)


def height() -> int | None:
    """Return the rows of the terminal; None where there is none, or where it does not say."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines or None
    except OSError:
        return None


def line_width() -> int | None:
    """Return how many columns a line may fill; None in a pipe, where a program reads whole lines."""
    if sys.stdout.isatty():
        return width()
    return None


def columns_of(text: str) -> int:
    """Return how many columns a text fills on a terminal, its colours aside."""
    plain = click.unstyle(text)
    if plain.isascii():
        return len(plain)
    from unicodedata import category, east_asian_width  # noqa: PLC0415 - most text is ASCII

    return sum(0 if category(char) in _NO_COLUMN else 2 if east_asian_width(char) in "WF" else 1 for char in plain)


COMMAND = "`prloom "
"""How a command to copy begins."""


def fit(text: str, columns: int) -> str:
    """Return a text without colours, cut to the columns; what was cut away is marked with `…`.

    A command to copy is not cut in its middle: a part of it would be another command.
    """
    if columns_of(text) <= columns:
        return text
    kept = ""
    for char in text:
        if columns_of(kept + char) >= columns:
            break
        kept += char
    before, begun, command = kept.rpartition(COMMAND)
    if begun and before and "`" not in command:
        kept = before
    return kept.rstrip() + "…"


def table(rows: Sequence[Sequence[str]], *, gap: int = 2) -> list[str]:
    """Return rows of cells as lines with aligned columns; cells may be painted, and rows may differ in length."""
    widths: list[int] = []
    for row in rows:
        sizes = [columns_of(cell) for cell in row]
        longest = max(len(widths), len(sizes))
        padded = (part + [0] * (longest - len(part)) for part in (widths, sizes))
        widths = [max(pair) for pair in zip(*padded, strict=True)]
    return [
        "".join(cell + " " * (size - columns_of(cell) + gap) for cell, size in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]


def clock(moment: datetime, zone: tzinfo | None = None) -> str:
    """Return an aware moment as date and time in the zone, by default the machine's."""
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")


def echo_json(document: object) -> None:
    """Print one JSON document on stdout; whatever msgspec can write as JSON may be in it.

    It is pure ASCII: no program minds, and no terminal can be made to obey what stands in it.
    """
    import json  # noqa: PLC0415 - only `--json` needs them

    from prloom.model import record  # noqa: PLC0415

    click.echo(json.dumps(record.to_builtins(document), indent=2))


def echo_json_line(document: object) -> None:
    """Print one JSON document on one line of stdout, for programs that read a line at a time; likewise pure ASCII."""
    import json  # noqa: PLC0415 - likewise

    from prloom.model import record  # noqa: PLC0415

    click.echo(json.dumps(record.to_builtins(document)))


@contextmanager
def progress(label: str) -> Iterator[Callable[[str], None]]:
    """Show a person at stderr that a long step is under way; yields a function that prints a line above that.

    Elsewhere than on a terminal, nothing is printed.
    """
    if not sys.stderr.isatty():
        yield lambda _line: None
        return
    # 30 ms that a pipe and a short command never pay.
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415
    from rich.spinner import Spinner  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    # As Text, for rich takes a str for markup. stdout is left alone: it may be a pipe while stderr is a terminal.
    spinner = Spinner("dots", Text(clean(label)))
    screen = Console(stderr=True)
    with Live(spinner, console=screen, transient=True, redirect_stdout=False, redirect_stderr=False):
        yield lambda line: screen.print(Text(clean(line)), soft_wrap=True)
