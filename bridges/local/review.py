"""Read `review.md`: the items that are feedback, and prloom's own replies.

Feedback is what is under `## ready`, and what is above every heading but the title that prloom gives a new file. What
is under another heading belongs to the person, and what is under `## replies` talks with prloom about its messages.
A reply of prloom is a quotation that begins with the marker of its action. Such lines are taken out before anything
else is read: whatever a reply says, the file reads as if it were not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prloom.api import marked, marker

from . import item_line, markdown

TITLE = "feedback"
READY = "ready"
REPLIES = "replies"

_SECTION = 2  # the level of the headings that begin and end sections
_FIELD = re.compile(r"(?:[-*+][ \t]+)?(file|line|side):(.+)", re.IGNORECASE)
_VALUES = {"file": re.compile(r".+"), "line": re.compile(r"[0-9]{1,7}"), "side": re.compile(r"[A-Za-z]{1,10}")}


@dataclass(frozen=True)
class ReviewItem:
    """One task: `text` is what the person wrote, `body` the same with those replies of prloom that they answered.

    It is in the lines `start` to `end`; `box` is where in its first line the mark is, and what is written beneath
    it begins with `indent`. `answered` says that prloom had the last word.
    """

    start: int
    end: int
    box: int
    indent: str
    checked: bool
    answered: bool
    text: str
    body: str
    file: str | None = None
    line: int | None = None
    side: str | None = None


class _ItemDraft:
    """An item while its lines are read."""

    def __init__(self, start: int, match: re.Match[str], box: int) -> None:
        self._start = start
        self._box = box
        self._end = start + 1
        self._match = match
        self._outer = markdown.indent(match["before"])
        gap = " "
        if "\t" not in match["gap"] and len(match["gap"]) <= markdown.TAB:
            gap = match["gap"]
        self._indent = match["before"] + " " * len(match["bullet"] + gap)
        self._inner = markdown.indent(self._indent)
        first = (match["text"] or "").strip()
        self._texts = [(False, first)]  # whether prloom wrote it, and the line
        self._fields: dict[str, str] = {}
        self._until = markdown.opens(first)
        self._loose = False  # after an empty line, only what is indented belongs to the item

    @classmethod
    def begin(cls, start: int, line: str, cut: int) -> _ItemDraft | None:
        """Return the item that begins with this line, of which `cut` characters were left out; None if none does."""
        match = item_line.match(line)
        if match:
            return cls(start, match, cut + match.start("mark"))
        return None

    def includes(self, line: str) -> bool:
        """Whether the line belongs to the item: it is indented, or goes on with the item's paragraph."""
        if not line.strip():
            return True
        columns = markdown.indent(line)
        if columns < self._inner and item_line.match(line):
            return False
        return columns > self._outer or not (self._loose or self._until or markdown.is_structure(line))

    def add(self, index: int, line: str) -> None:
        """Take a line that belongs to the item."""
        text = line.strip()
        self._loose = not text
        if text:
            self._end = index + 1
        if self._until or not self._is_field(text):
            deeper = max(0, markdown.indent(line) - self._inner)
            self._texts.append((False, " " * deeper + text if text else ""))
        if not self._until:
            self._until = markdown.opens(line)
        elif markdown.closes(line, self._until):
            self._until = ""

    def add_reply(self, index: int, line: str) -> None:
        """Take a line of a reply; the marker is not for reading. One that is not indented is a reply to another event.

        It is there because prloom writes at the end of a section, and people do, too.
        """
        self._loose = True
        if markdown.indent(line) <= self._outer:
            return
        self._end = index + 1
        quoted = markdown.quoted(line) or ""
        self._texts.append((True, "" if _is_marker(quoted) else f"> {quoted}".rstrip()))

    def item(self) -> ReviewItem:
        """Return the item as a value."""
        last = max((index for index, (own, text) in enumerate(self._texts) if text and not own), default=0)
        line = self._fields.get("line")
        return ReviewItem(
            start=self._start,
            end=self._end,
            box=self._box,
            indent=self._indent,
            checked=self._match["mark"] in "xX",
            answered=any(own for own, _ in self._texts[last:]),
            text=_unmarked(text for own, text in self._texts if not own),
            body=_unmarked(text for _, text in self._texts[: last + 1]),
            file=self._fields.get("file"),
            line=int(line) if line else None,
            side=self._fields.get("side"),
        )

    def _is_field(self, text: str) -> bool:
        """Take `file:`, `line:` and `side:` once each; what does not fit stays text, so that no word is lost."""
        match = _FIELD.fullmatch(text)
        if match is None:
            return False
        name, value = match[1].lower(), match[2].strip().strip("`")
        if name in self._fields or not _VALUES[name].fullmatch(value):
            return False
        self._fields[name] = value
        return True


@dataclass(frozen=True)
class Ignored:
    """A line that looks like an unchecked item, and why it is not read as one."""

    line: int
    reason: str


@dataclass(frozen=True)
class ReviewFile:
    """The file: its lines with their ends, and what they mean.

    `ready` is the line of the first `## ready`, and `replies` the one before which the next reply goes under
    `## replies`, where there are these headings. `unclosed` is
    the line of a block of code, or a comment, that never ends. `ignored` are the lines that look like an item and are
    not read as one.
    """

    lines: tuple[str, ...]
    newline: str
    items: tuple[ReviewItem, ...]
    ready: int | None
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
    return ReviewFile(lines, newline, items, reader.ready, reader.replies, reader.unclosed, tuple(reader.ignored))


class _Reader:
    """Goes through the lines once, and keeps track of the section, block and item that it is in."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.items: list[ReviewItem] = []
        self.ignored: list[Ignored] = []
        self.ready: int | None = None
        self.replies: int | None = None
        self.unclosed: int | None = None
        self._raw = [line.rstrip("\r\n") for line in lines]
        self._lines = [item_line.plain(line) for line in self._raw]
        if self._lines:
            self._lines[0] = self._lines[0].removeprefix("\ufeff")  # some editors begin a file with it
        self._is_reply = _reply_lines(self._lines)
        self._section: str | None = None  # above every heading
        self._until = ""
        self._opened = 0
        self._item: _ItemDraft | None = None

    def read(self, index: int) -> None:
        """Read the next line."""
        line = self._lines[index]
        if self._is_reply[index]:
            if self._item is not None:
                self._item.add_reply(index, line)
        elif self._until:
            if markdown.closes(line, self._until):
                self._until, self.unclosed = "", None
            elif item_line.looks_like_item(line):
                self._ignore(index, f"it is in the block of code or the comment that begins in line {self._opened + 1}")
        elif self._item is not None and self._item.includes(line):
            self._item.add(index, line)
        else:
            self._begin(index, line)
        if line.strip() and self._section == REPLIES:
            self.replies = index + 1

    def end_item(self) -> None:
        """Add the item as it is, if it is feedback; nothing more belongs to it."""
        if self._item is not None:
            item = self._item.item()
            if self._section in {None, READY}:
                self.items.append(item)
            elif self._section == REPLIES and not item.checked and item.text:
                self._ignore(item.start, f"it is under `## {REPLIES}`; write it under `## {READY}`")
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
            self._enter(index, *heading)
        else:
            self._item = _ItemDraft.begin(index, line, len(self._raw[index]) - len(line))
            if self._item is None and item_line.looks_like_item(line):
                self._ignore(index, "an item begins with `- [ ] `")
            elif item_line.looks_like_item(markdown.quoted(line) or ""):
                self._ignore(index, "it is in a quotation")

    def _enter(self, index: int, level: int, title: str) -> None:
        """Begin the section of a heading; a lower one is part of the section that it is in."""
        if level > _SECTION:
            return
        name = title.casefold()
        if level == _SECTION:
            self._section = name
        elif name == TITLE:
            self._section = None
        else:
            self._section = f"# {name}"
        if self._section == READY and self.ready is None:
            self.ready = index

    def _ignore(self, index: int, reason: str) -> None:
        self.ignored.append(Ignored(index, reason))


def _reply_lines(lines: Sequence[str]) -> list[bool]:
    """Return for each line whether it is part of a reply: from a marker on, as far as the quotation goes."""
    own: list[bool] = []
    column: int | None = None
    for line in lines:
        quoted = markdown.quoted(line)
        if quoted is not None and _is_marker(quoted):
            column = markdown.indent(line)
        elif quoted is None or markdown.indent(line) != column:
            column = None
        own.append(column is not None)
    return own


def _is_marker(text: str) -> bool:
    """Whether the text is the marker of an action, and nothing else."""
    ids = marked(text)
    return bool(ids) and text.strip() == marker(ids[0])


def _unmarked(lines: Iterable[str]) -> str:
    """Return the lines as a text without markers: by a marker prloom knows its own words, and these are a person's."""
    text = "\n".join(lines)
    for of in marked(text):
        text = text.replace(marker(of), "")
    return text.strip()
