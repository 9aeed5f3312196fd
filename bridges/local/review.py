"""Read `review.md`: its items, wherever they stand, and where prloom's own replies stand.

A reply of prloom is a quotation that begins with the marker of its action. Such lines are taken out before anything
else is looked at: whatever a reply says, the file reads as if it were not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import markdown
from .item import ItemDraft, ReviewItem, is_marker, looks_like_item

READY = "ready"
REPLIES = "replies"

_SECTION = 2  # the level of the headings that begin and end sections


@dataclass(frozen=True)
class Ignored:
    """A line that looks like an unchecked item, and why it is not read as one."""

    line: int
    reason: str


@dataclass(frozen=True)
class ReviewFile:
    """The file: its lines with their ends, and what they mean.

    `replies` is the line before which the next reply goes under `## replies`, if there is that heading. `unclosed` is
    the line of a block of code, or a comment, that never ends. `ignored` are the lines that look like an item and are
    not read as one.
    """

    lines: tuple[str, ...]
    newline: str
    items: tuple[ReviewItem, ...]
    replies: int | None
    unclosed: int | None
    ignored: tuple[Ignored, ...] = ()


def parse(text: str) -> ReviewFile:
    """Return what the file says; any text is some review."""
    lines = markdown.split(text)
    reader = _Reader(lines)
    for index in range(len(lines)):
        reader.read(index)
    reader.end_item()
    newline = "\n"
    if lines and lines[0].endswith("\r\n"):
        newline = "\r\n"
    items = tuple(item for item in reader.items if item.text)  # one without words is still being written
    return ReviewFile(lines, newline, items, reader.replies, reader.unclosed, tuple(reader.ignored))


class _Reader:
    """Goes through the lines once, and knows in which section, block and item it is."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.items: list[ReviewItem] = []
        self.ignored: list[Ignored] = []
        self.replies: int | None = None
        self.unclosed: int | None = None
        self._lines = [line.rstrip("\r\n") for line in lines]
        if self._lines:
            self._lines[0] = self._lines[0].removeprefix("\ufeff")  # some editors begin a file with it
        self._own = _own(self._lines)
        self._section = ""
        self._until = ""
        self._opened = 0
        self._item: ItemDraft | None = None

    def read(self, index: int) -> None:
        """Look at the next line."""
        line = self._lines[index]
        if self._own[index]:
            if self._item is not None:
                self._item.add_reply(index, line)
        elif self._until:
            if markdown.closes(line, self._until):
                self._until, self.unclosed = "", None
            elif looks_like_item(line):
                self._ignore(index, f"it is in the block of code or the comment that begins in line {self._opened + 1}")
        elif self._item is not None and self._item.takes(line):
            self._item.add(index, line)
        else:
            self._begin(index, line)
        if line.strip() and self._section == REPLIES:
            self.replies = index + 1

    def end_item(self) -> None:
        """Take the item down as it is; nothing more belongs to it."""
        if self._item is not None:
            self.items.append(self._item.item())
        self._item = None

    def _begin(self, index: int, line: str) -> None:
        self.end_item()
        following = ""
        if index + 1 < len(self._lines):
            following = self._lines[index + 1]
        heading = markdown.heading(line, following)
        self._until = markdown.opens(line)
        if self._until:
            self.unclosed = self._opened = index
        elif heading is not None:
            level, title = heading
            if level <= _SECTION:
                if level == _SECTION:
                    self._section = title.casefold()
                else:
                    self._section = ""
        else:
            self._item = ItemDraft.begun(index, line)
            if self._item is None and looks_like_item(line):
                self._ignore(index, "an item begins with `- [ ] `")
            elif looks_like_item(markdown.quoted(line) or ""):
                self._ignore(index, "it is in a quotation")

    def _ignore(self, index: int, reason: str) -> None:
        self.ignored.append(Ignored(index, reason))


def _own(lines: Sequence[str]) -> list[bool]:
    """Return for each line whether it is part of a reply: from a marker on, as far as the quotation goes."""
    own: list[bool] = []
    column: int | None = None
    for line in lines:
        said = markdown.quoted(line)
        if said is not None and is_marker(said):
            column = markdown.indent(line)
        elif said is None or markdown.indent(line) != column:
            column = None
        own.append(column is not None)
    return own
