"""Lay out what a person reads: labelled items, times, and commands to copy; as wide as the terminal is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime

from prloom.cli import terminal
from prloom.model import record

INDENT = "  "
_NARROWEST = 20


def item(label: str, *texts: str, room: int = 9) -> Iterator[str]:
    """Yield a label with its texts, each on a line of its own or more; `room` are the columns for the label."""
    start = INDENT + terminal.paint(label, "dim") + " " * (room - terminal.columns_of(label))
    for text in texts:
        for line in wrap(text, room + len(INDENT)):
            yield start + line
            start = INDENT + " " * room


def wrap(text: str, taken: int) -> list[str]:
    """Return a text, which may be painted, as lines that fit beside what is taken; in a pipe it stays one line."""
    if not sys.stdout.isatty():
        return [text]
    room = max(terminal.width() - taken, _NARROWEST)
    lines = [""]
    used = 0
    for word in text.split(" "):
        size = terminal.columns_of(word)
        if used and used + 1 + size > room:
            lines.append(word)
            used = size
        else:
            lines[-1] += f" {word}" if used else word
            used += size + (1 if used else 0)
    return lines


def cut(text: str, taken: int) -> str:
    """Return a text without colours that fits beside what is taken; in a pipe it stays whole."""
    return terminal.fit(text, max(terminal.width() - taken, _NARROWEST)) if sys.stdout.isatty() else text


def quoted(text: str, at_most: int | None = None) -> Iterator[str]:
    """Yield a text from outside, each line behind a bar; past `at_most` lines it is cut, and that is said."""
    lines = terminal.clean_block(text.rstrip(), prefix=f"{INDENT}│ ").split("\n") if text.strip() else []
    shown = lines if at_most is None or len(lines) <= at_most else lines[:at_most]
    yield from shown
    if len(shown) < len(lines):
        yield f"{INDENT}… {len(lines) - len(shown)} more lines; --json has them all"


def when(text: str, now: datetime) -> str:
    """Return where a time from a file lies as seen from now; a time that cannot be read is shown as it is."""
    try:
        return terminal.when(record.moment(text), now)
    except ValueError:
        return terminal.clean(text)


def clock(text: str) -> str:
    """Return a time from a file as date and time on the machine's clock; one that cannot be read as it is."""
    try:
        return terminal.clock(record.moment(text))
    except ValueError:
        return terminal.clean(text)


def shown_id(text: str) -> str:
    """Return an id as it stands in a list."""
    return terminal.paint(terminal.clean(text), "strong")


def to_run(verb: str, *names: str) -> str:
    """Return a command to copy: a name from outside is one quoted word in it, whatever it holds."""
    from shlex import quote  # noqa: PLC0415 - only where something is to be done

    return f"`{' '.join(['prloom', verb, *(quote(terminal.clean(name)) for name in names)])}`"
