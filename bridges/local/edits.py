"""Collect changes of `review.md` and make all of them in one pass, so that many replies cost one read and one write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from . import requested_items, review
from .review import READY, REPLIES, ReviewFile, ReviewItem


class ReviewFileEdit:
    """The file as it was read, and the changes that are to be made to it."""

    def __init__(self, plan: str, text: str) -> None:
        self.text = text
        self.review = review.parse(text)
        self.edits = Edits(self.review)
        self._plan = plan
        self._items: Mapping[str, Sequence[ReviewItem]] | None = None

    def item(self, request: str) -> ReviewItem | None:
        """Return the item of a request, or None if it is no longer in the file."""
        if self._items is None:
            self._items = requested_items.by_words(self._plan, self.review.items)
        return requested_items.find(self._items, request)


class Edits:
    """Changes of one reading of the file; replies in one place keep the order in which they were added."""

    def __init__(self, review: ReviewFile) -> None:
        self._review = review
        self._beneath: dict[int, list[str]] = defaultdict(list)
        self._replies: list[str] = []
        self._boxes: dict[int, ReviewItem] = {}

    def __bool__(self) -> bool:
        return bool(self._beneath or self._replies or self._boxes)

    def add_beneath(self, item: ReviewItem, lines: Sequence[str]) -> None:
        """Add lines beneath an item."""
        self._beneath[item.end] += [item.indent + line for line in lines]

    def add_under_replies(self, lines: Sequence[str]) -> bool:
        """Add lines under `## replies`; return False where they would be in a block that never ends."""
        if _is_enclosed(self._review):
            return False
        if self._replies or self._review.replies is not None:
            self._replies.append("")
        self._replies += lines
        return True

    def check(self, item: ReviewItem) -> None:
        """Check the box of an item."""
        self._boxes[item.start] = item

    def text(self) -> str:
        """Return the file with all of these changes."""
        lines = list(self._review.lines)
        for start, item in self._boxes.items():
            lines[start] = _with_checked_box(lines[start], item)
        new: dict[int, list[str]] = {end: list(added) for end, added in self._beneath.items()}
        if self._replies:
            index, section = _section(self._review, self._replies)
            new.setdefault(index, []).extend(section)
        return _with_inserted(lines, new, self._review.newline)


def _with_checked_box(line: str, item: ReviewItem) -> str:
    """Return the first line of an item with its box checked."""
    return f"{line[: item.box]}x{line[item.box + 1 :]}"


def _is_enclosed(review: ReviewFile) -> bool:
    """Whether what is added under `## replies` would be in a block that never ends."""
    return review.unclosed is not None and _line_for_replies(review) > review.unclosed


def _section(review: ReviewFile, lines: Sequence[str]) -> tuple[int, Sequence[str]]:
    """Return before which line the replies go, and the lines to insert there, with the headings that are missing.

    `## ready` comes last: people append their items to the file.
    """
    index = _line_for_replies(review)
    if review.replies is None:
        above = index and review.lines[index - 1].strip("\ufeff \t\r\n")
        section = [*([""] if above else []), f"## {REPLIES}", "", *lines, ""]
        if review.ready is None:
            section += [f"## {READY}", ""]
        return index, section
    follows = review.lines[index : index + 1]
    if follows and follows[0].strip():
        return index, [*lines, ""]
    return index, lines


def _with_inserted(lines: Sequence[str], new: Mapping[int, Sequence[str]], newline: str) -> str:
    """Return the lines as a text, with new ones before the lines of these numbers."""
    text: list[str] = []
    for number in range(len(lines) + 1):
        added = new.get(number, ())
        if added and text and not text[-1].endswith(("\r", "\n")):
            text.append(newline)
        text += [line + newline for line in added]
        text += lines[number : number + 1]
    return "".join(text)


def _line_for_replies(review: ReviewFile) -> int:
    """Return before which line the next reply goes that belongs to no item."""
    if review.replies is not None:
        return review.replies
    if review.ready is not None:
        return review.ready
    return len(review.lines)
