"""Find the cockpit in a text that people edit too, replace it, and read and clear the boxes in it.

A marker counts where it is a line of its own. The cockpit is what stands between a begin marker and the next marker,
if that is an end marker. Every other marker is a part of the people's text, which keeps every byte: so a marker that
somebody deleted, doubled or moved never costs a line of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from prloom.core.text import markdown, rendered

BEGIN = "<!-- prloom:begin -->"
END = "<!-- prloom:end -->"

_BOX = re.compile(r"<!-- prloom:box ([a-z]{1,20}) -->")
_TICKS = frozenset("xX")


class _Range(NamedTuple):
    """A cockpit in a text: from its begin marker to the end of its end marker."""

    start: int
    end: int


class _Tick(NamedTuple):
    """A box that is ticked, and where its mark stands in the text."""

    box: str
    position: int


def merge(existing: str, cockpit: str) -> str:
    """Return the existing text with this cockpit in place of the first one in it, and without any others.

    Where there is none, the cockpit comes after the text. A cockpit that is the same but for its ends of line stays.
    """
    found = list(_cockpits(existing))
    if not found:
        return _appended(existing, cockpit)
    first, *others = found
    if not others and _same(existing[first.start : first.end], cockpit):
        return existing
    parts, position = [existing[: first.start], cockpit], first.end
    for other in others:
        parts.append(existing[position : other.start])
        position = other.end
    return "".join([*parts, existing[position:]])


def ticked(body: str) -> tuple[str, ...]:
    """Return the names of the boxes that are ticked in the cockpits of a text, each once."""
    return tuple(dict.fromkeys(tick.box for tick in _ticks(body)))


def cleared(body: str) -> str:
    """Return the text with no box of its cockpits ticked; every other byte is as it was."""
    parts, position = [], 0
    for tick in _ticks(body):
        parts += [body[position : tick.position], " "]
        position = tick.position + 1
    return "".join([*parts, body[position:]])


def _appended(existing: str, cockpit: str) -> str:
    if not existing.strip():
        return f"{existing}{cockpit}"
    if existing.endswith(("\n\n", "\r\n\r\n")):
        return f"{existing}{cockpit}"
    if existing.endswith("\n"):
        return f"{existing}\n{cockpit}"
    return f"{existing}\n\n{cockpit}"


def _same(old: str, new: str) -> bool:
    return old.replace("\r\n", "\n") == new


def _cockpits(text: str) -> Iterator[_Range]:
    start, position = None, 0
    for line in rendered.LINE.findall(text):
        marker = line.strip()
        if marker == BEGIN:
            start = position + line.index(BEGIN)
        elif marker == END:
            if start is not None:
                yield _Range(start, position + line.index(END) + len(END))
            start = None
        position += len(line)


def _ticks(text: str) -> Iterator[_Tick]:
    for start, end in _cockpits(text):
        position = start
        for line in rendered.LINE.findall(text[start:end]):
            box, found = markdown.checkbox(line), _BOX.search(line)
            if box is not None and found is not None and line[box] in _TICKS:
                yield _Tick(found[1], position + box)
            position += len(line)
