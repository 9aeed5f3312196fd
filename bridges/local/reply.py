"""Write into `review.md`: replies as quotations that nothing in them can end, and checks in boxes."""

from __future__ import annotations

from collections.abc import Sequence

from prloom.api import marked, marker

from .item import Item
from .review import READY, REPLIES, Review

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
    kept = lines[full[0] : full[-1] + 1] if full else []
    return [f"> {marker(action)}", *(f"> {line}" if line.strip() else ">" for line in kept)]


def beneath(review: Review, item: Item, lines: Sequence[str]) -> str:
    """Return the file with the lines beneath the item."""
    return _inserted(review, item.end, [item.indent + line for line in lines])


def under_replies(review: Review, lines: Sequence[str]) -> str | None:
    """Return the file with the lines under `## replies`; None where they would be in a block that never ends."""
    where = len(review.lines) if review.replies is None else review.replies
    if review.unclosed is not None and where > review.unclosed:
        return None
    if review.replies is None:
        return _inserted(review, where, [*_headings(review), *lines])
    follows = review.lines[where : where + 1]
    return _inserted(review, where, ["", *lines, *([""] if follows and follows[0].strip() else [])])


def checked(review: Review, item: Item) -> str:
    """Return the file with the item's box checked."""
    first = review.lines[item.start]
    changed = f"{first[: item.box]}x{first[item.box + 1 :]}"
    return "".join((*review.lines[: item.start], changed, *review.lines[item.start + 1 :]))


def _headings(review: Review) -> list[str]:
    if not any(line.strip("\ufeff \t\r\n") for line in review.lines):
        return [f"## {READY}", "", f"## {REPLIES}", ""]
    return [*([""] if review.lines[-1].strip() else []), f"## {REPLIES}", ""]


def _inserted(review: Review, where: int, new: Sequence[str]) -> str:
    before, after = list(review.lines[:where]), review.lines[where:]
    if before and not before[-1].endswith(("\r", "\n")):
        before[-1] += review.newline
    return "".join((*before, *(line + review.newline for line in new), *after))


def _harmless(line: str) -> str:
    shown = line.translate(_SHOWN)
    for of in marked(shown):
        shown = shown.replace(marker(of), f"(prloom:action {of})")
    return shown
