"""Be one task of the file, gathered from its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from prloom.api import marked, marker

from . import markdown

_ITEM = re.compile(
    r"(?P<before>[ \t]*)(?P<bullet>[-*+]|[0-9]{1,9}[.)])(?P<gap>[ \t]+)\[(?P<mark>[ xX])\](?:[ \t](?P<text>.*))?"
)
_LOOKS_LIKE = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])?[ \t]*\[[ \t]*\](?![(\[:]).*\w.*")
_FIELD = re.compile(r"(?:[-*+][ \t]+)?(file|line|side):(.+)", re.IGNORECASE)
_VALUES = {"file": re.compile(r".+"), "line": re.compile(r"[0-9]{1,7}"), "side": re.compile(r"[A-Za-z]{1,10}")}


@dataclass(frozen=True)
class ReviewItem:
    """One task: `text` is what the person wrote, `body` the same with those replies of prloom that they answered.

    It stands in the lines `start` to `end`; `box` is where in its first line the mark is, and what is written beneath
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


class ItemDraft:
    """An item while its lines are read."""

    def __init__(self, start: int, match: re.Match[str]) -> None:
        self._start = start
        self._end = start + 1
        self._match = match
        self._outer = markdown.indent(match["before"])
        gap = " "
        if "\t" not in match["gap"] and len(match["gap"]) <= markdown.TAB:
            gap = match["gap"]
        self._indent = match["before"] + " " * len(match["bullet"] + gap)
        self._inner = markdown.indent(self._indent)
        first = (match["text"] or "").strip()
        self._said = [(False, first)]  # whether prloom said it, and the line
        self._fields: dict[str, str] = {}
        self._until = markdown.opens(first)
        self._loose = False  # after an empty line, only what is indented belongs to the item

    @classmethod
    def begun(cls, start: int, line: str) -> ItemDraft | None:
        """Return the item that begins with this line, or None if none does."""
        match = _ITEM.fullmatch(line)
        if match:
            return cls(start, match)
        return None

    def takes(self, line: str) -> bool:
        """Whether the line belongs to the item: it is indented, or goes on with the item's paragraph."""
        if not line.strip():
            return True
        columns = markdown.indent(line)
        if columns < self._inner and _ITEM.fullmatch(line):
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
            self._said.append((False, " " * deeper + text if text else ""))
        if not self._until:
            self._until = markdown.opens(line)
        elif markdown.closes(line, self._until):
            self._until = ""

    def add_reply(self, index: int, line: str) -> None:
        """Take a line of a reply; the marker is not for reading. One that is not indented is a reply to another event.

        It stands there because prloom writes at the end of a section, and people do, too.
        """
        self._loose = True
        if markdown.indent(line) <= self._outer:
            return
        self._end = index + 1
        said = markdown.quoted(line) or ""
        self._said.append((True, "" if is_marker(said) else f"> {said}".rstrip()))

    def item(self) -> ReviewItem:
        """Return the item as a value."""
        last = max((index for index, (own, text) in enumerate(self._said) if text and not own), default=0)
        line = self._fields.get("line")
        return ReviewItem(
            start=self._start,
            end=self._end,
            box=self._match.start("mark"),
            indent=self._indent,
            checked=self._match["mark"] != " ",
            answered=any(own for own, _ in self._said[last:]),
            text=_unmarked(text for own, text in self._said if not own),
            body=_unmarked(text for _, text in self._said[: last + 1]),
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


def looks_like_item(line: str) -> bool:
    """Whether a person may have meant the line as an unchecked item."""
    return _LOOKS_LIKE.fullmatch(line.strip()) is not None


def is_marker(text: str) -> bool:
    """Whether the text is the marker of an action, and nothing else."""
    ids = marked(text)
    return bool(ids) and text.strip() == marker(ids[0])


def _unmarked(lines: Iterable[str]) -> str:
    """Return the lines as a text without markers: by a marker prloom knows its own words, and these are a person's."""
    text = "\n".join(lines)
    for of in marked(text):
        text = text.replace(marker(of), "")
    return text.strip()
