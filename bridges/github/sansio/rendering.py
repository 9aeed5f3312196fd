"""Put into words what is posted: with the mark of its action, without other marks, and not longer than GitHub takes."""

from __future__ import annotations

from collections.abc import Mapping

from prloom.api import Json, marked, marker

LONGEST = 65_536
"""Characters that GitHub takes in one text."""

PART = "<!-- prloom:part -->"
"""Stands in the comments of a review of prloom's own, which GitHub numbers one by one."""

_ROOM = 200  # characters for the note that something was cut, and an end of the code before it
_SHOWN: dict[int, int] = {
    **{sign: 0x2400 + sign for sign in range(0x20) if chr(sign) not in "\t\n\r"},  # Unicode has pictures of them
    0x7F: 0x2421,
}


def body(message: str, action: str, *, part: bool = False) -> str:
    """Return the text to post for an action: its mark first, so that nothing open in the message can hide it."""
    if part:
        head = f"{marker(action)}\n{PART}\n\n"
    else:
        head = f"{marker(action)}\n\n"
    return head + cut(harmless(message), LONGEST - len(head))


def harmless(message: str) -> str:
    """Return the message without control characters, and with the marks of other actions defused."""
    text = message.encode("utf-8", "replace").decode("utf-8").translate(_SHOWN).replace(PART, "(prloom:part)")
    for of in marked(text):
        text = text.replace(marker(of), f"(prloom:action {of})")
    return text


def cut(text: str, room: int) -> str:
    """Return the text, or as much of it as there is room for with a note of how much is missing."""
    if _length(text) <= room:
        return text
    kept = text[: room - _ROOM]
    while _length(kept) > room - _ROOM:
        kept = kept[: len(kept) - (_length(kept) - (room - _ROOM) + 1) // 2]
    end = ""
    if f"\n{kept}".count("\n```") % 2:
        end = "\n```"
    return f"{kept}{end}\n\n*(cut here: {len(text) - len(kept):,} more characters)*"


def at_line(path: str, line: int | None, message: str) -> str:
    """Return what was to stand at a line as it reads elsewhere."""
    if path:
        return f"`{path.replace('`', '')}{f':{line}' if line else ''}`: {message}"
    return message


def review_comment(comment: Mapping[str, Json]) -> tuple[str, int | None, str] | None:
    """Return path, line and words of a comment of a review; None where it says nothing."""
    text = comment.get("message") or comment.get("body")
    path, line = comment.get("path"), comment.get("line")
    if not isinstance(text, str) or not text.strip():
        return None
    whole = isinstance(line, int) and not isinstance(line, bool) and line > 0
    return (path if isinstance(path, str) else "", line if whole else None, text)


def _length(text: str) -> int:
    """Return the length as JavaScript and MySQL count it, at the worst."""
    return len(text.encode("utf-16-le", "replace")) // 2
