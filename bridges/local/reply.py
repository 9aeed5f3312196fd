"""Write into `review.md`: replies as quotations that nothing in them can end, and checks in boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prloom.api import marked, marker

from .item import ReviewItem
from .review import READY, REPLIES, ReviewFile

_C0 = range(0x20)
_SHOWN: dict[int, str | int] = {
    **{sign: 0x2400 + sign for sign in _C0 if sign != ord("\t")},  # Unicode has pictures of them
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), "?"),
    0xFFFD: "?",  # in the file it would mean that the file is not UTF-8
}


def quotation(action: str, message: str) -> list[str]:
    """Return the message as lines of a quotation that begins with the action's marker.

    Control characters are shown, and the markers of other actions are defused: they would pass for their replies.
    """
    text = message.encode("utf-8", "replace").decode("utf-8")
    lines = [_harmless(line) for line in text.splitlines()]
    full = [number for number, line in enumerate(lines) if line.strip()]
    if full:
        kept = lines[full[0] : full[-1] + 1]
    else:
        kept = []
    return [f"> {marker(action)}", *(f"> {line}" if line.strip() else ">" for line in kept)]


def checked(line: str, item: ReviewItem) -> str:
    """Return the first line of an item with its box checked."""
    return f"{line[: item.box]}x{line[item.box + 1 :]}"


def is_enclosed(review: ReviewFile) -> bool:
    """Whether what is added under `## replies` would be in a block that never ends."""
    return review.unclosed is not None and _where(review) > review.unclosed


def section(review: ReviewFile, lines: Sequence[str]) -> tuple[int, Sequence[str]]:
    """Return before which line the replies go, and the lines to insert there, with the heading where it is missing."""
    where = _where(review)
    if review.replies is None:
        return where, [*_headings(review), *lines]
    follows = review.lines[where : where + 1]
    return where, [*lines, *([""] if follows and follows[0].strip() else [])]


def inserted(lines: Sequence[str], new: Mapping[int, Sequence[str]], newline: str) -> str:
    """Return the lines as a text, with new ones before the lines of these numbers."""
    text: list[str] = []
    for number in range(len(lines) + 1):
        added = new.get(number, ())
        if added and text and not text[-1].endswith(("\r", "\n")):
            text.append(newline)
        text += [line + newline for line in added]
        text += lines[number : number + 1]
    return "".join(text)


def _where(review: ReviewFile) -> int:
    if review.replies is None:
        return len(review.lines)
    return review.replies


def _headings(review: ReviewFile) -> list[str]:
    if not any(line.strip("\ufeff \t\r\n") for line in review.lines):
        return [f"## {READY}", "", f"## {REPLIES}", ""]
    return [*([""] if review.lines[-1].strip() else []), f"## {REPLIES}", ""]


def _harmless(line: str) -> str:
    shown = line.translate(_SHOWN)
    for of in marked(shown):
        shown = shown.replace(marker(of), f"(prloom:action {of})")
    return shown
