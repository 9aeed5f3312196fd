"""Collect changes of `review.md` and make all of them in one pass, so that many replies cost one read and one write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from . import reply, review, seen_items
from .item import ReviewItem
from .review import ReviewFile


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
            self._items = seen_items.by_words(self._plan, self.review.items)
        return seen_items.find(self._items, request)


class Edits:
    """Changes of one reading of the file; replies in one place stand in the order in which they were added."""

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
        if reply.is_enclosed(self._review):
            return False
        separated = bool(self._replies) or self._review.replies is not None
        if separated:
            self._replies += ["", *lines]
        else:
            self._replies += lines
        return True

    def check(self, item: ReviewItem) -> None:
        """Check the box of an item."""
        self._boxes[item.start] = item

    def text(self) -> str:
        """Return the file with all of these changes."""
        lines = list(self._review.lines)
        for start, item in self._boxes.items():
            lines[start] = reply.checked(lines[start], item)
        new: dict[int, list[str]] = {end: list(added) for end, added in self._beneath.items()}
        if self._replies:
            where, section = reply.section(self._review, self._replies)
            new.setdefault(where, []).extend(section)
        return reply.inserted(lines, new, self._review.newline)
