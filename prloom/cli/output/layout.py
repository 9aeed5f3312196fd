"""Lay out what a person reads: labelled items, times, and commands to copy; as wide as the terminal is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from prloom.cli.output import terminal
from prloom.core.text import one_line
from prloom.core.text.shown_text import to_run
from prloom.model import record

__all__ = [
    "INDENT",
    "NARROW",
    "clock",
    "cut",
    "fitted",
    "item",
    "paragraph",
    "quoted",
    "rows",
    "shown_id",
    "title",
    "to_run",
    "when",
    "wrap",
]

INDENT = "  "
NARROW = 60
"""A terminal with fewer columns gets lines in place of columns."""
_LEAST = 20

_WORDS = re.compile(r"`[^`]*`[^ ]*|[^ ]*")  # a command to copy counts as one word


def item(label: str, *texts: str, room: int = 9) -> Iterator[str]:
    """Yield a label with its texts, each on a line of its own or more; `room` are the columns for the label."""
    width = terminal.line_width()
    start = INDENT + terminal.paint(label, "dim") + " " * (room - terminal.columns_of(label))
    indent = INDENT + " " * room
    if width is not None and width < NARROW:
        yield from paragraph(terminal.paint(label, "dim"), indent=INDENT)
        start = indent = INDENT * 2
    for text in texts:
        for line in wrap(text, terminal.columns_of(indent)):
            yield start + line
            start = indent


def paragraph(text: str, *, indent: str = "") -> Iterator[str]:
    """Yield a text, which may be painted, as lines that fit the terminal, each behind the indent."""
    for line in wrap(text, len(indent)):
        yield indent + line


def rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows of cells as a table; where that is too wide for the terminal, as a name with its lines below it."""
    width = terminal.line_width()
    table = [INDENT + line for line in terminal.table(rows)]
    if width is None or all(terminal.columns_of(line) <= width for line in table):
        yield from table
        return
    room = max(terminal.columns_of(row[0]) for row in rows) + len(INDENT)
    for name, *texts in rows:
        yield from item(name, *filter(None, texts), room=room)


def wrap(text: str, taken: int) -> list[str]:
    """Return a text, which may be painted, as lines that fit beside what is taken; in a pipe it stays one line.

    A line is broken between words, and within a command to copy only if that does not fit on a line of its own.
    """
    width = terminal.line_width()
    if width is None:
        return [text]
    room = max(width - taken, _LEAST)
    lines = [""]
    used = 0
    for word in _words(text, room):
        size = terminal.columns_of(word)
        if used and used + 1 + size > room:
            lines.append(word)
            used = size
        else:
            if used:
                lines[-1] += f" {word}"
            else:
                lines[-1] += word
            used += size + (1 if used else 0)
    return lines


def _words(text: str, room: int) -> Iterator[str]:
    rest = text
    while True:
        found = _WORDS.match(rest)
        assert found is not None  # noqa: S101 - it matches the empty text too
        word = found[0]
        rest = rest[len(word) :]
        if terminal.columns_of(word) <= room:
            yield word
        else:
            yield from word.split(" ")
        if not rest:
            return
        rest = rest[1:]


def cut(text: str, taken: int) -> str:
    """Return a text without colours, cut to what fits beside what is taken; whole in a pipe, or if too little fits."""
    width = terminal.line_width()
    if width is None or width - taken < _LEAST:
        return text
    return terminal.fit(text, width - taken)


def fitted(text: str, taken: int) -> list[str]:
    """Return a text without colours as lines that fit beside what is taken.

    Only a word too long for one is cut, and no word of a command to copy.
    """
    if terminal.COMMAND in text:
        return wrap(text, taken)
    return [cut(part, taken) for part in wrap(text, taken)]


def quoted(text: str, at_most: int | None = None) -> Iterator[str]:
    """Yield a text from outside, each line behind a bar; past `at_most` lines it is cut, and that is said."""
    lines = []
    if text.strip():
        lines = terminal.clean_block(text.rstrip()).split("\n")
    shown = lines[:at_most]
    bar = f"{INDENT}│ "
    for line in shown:
        lead = " " * (len(line) - len(line.lstrip(" ")))
        for part in wrap(line.lstrip(" "), len(bar) + len(lead)):
            yield f"{bar}{lead}{part}".rstrip()
    if len(shown) < len(lines):
        yield f"{INDENT}… {len(lines) - len(shown)} more lines; --json shows all of them"


def when(time: datetime | str, now: datetime, *, units: int = 2) -> str:
    """Return where a time lies as seen from now; a text from outside that is no time is shown as it is."""
    if isinstance(time, datetime):
        return terminal.when(time, now, units=units)
    read = record.read_time(time)
    if read is None:
        return terminal.clean(time)
    return terminal.when(read, now, units=units)


def clock(time: datetime | str) -> str:
    """Return a time as date and time on the machine's clock; a text from outside that is no time as it is."""
    if isinstance(time, datetime):
        return terminal.clock(time)
    read = record.read_time(time)
    if read is None:
        return terminal.clean(time)
    return terminal.clock(read)


def title(text: str) -> str:
    """Return a title, or the first line of another text, as it stands in a list, also in a pipe."""
    return terminal.clean(one_line.title(text))


def shown_id(text: str) -> str:
    """Return an id as it stands in a list."""
    return terminal.paint(terminal.clean(text), "strong")
