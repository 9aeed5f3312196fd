"""Put the notes into a file's text, as a section of their own that is made anew each time."""

from __future__ import annotations

from collections.abc import Sequence

from .notes import Note

_BEGIN = "<!-- prloom:memory begin"
_END = "<!-- prloom:memory end -->"
_HEAD = (
    f"{_BEGIN}: notes from pull requests; edits here are overwritten; `/memory forget N` removes a note -->\n"
    "## Notes from reviews\n"
)


class BrokenSection(ValueError):  # noqa: N818 - its text is a sentence about the file
    """The marks of the section are not as they were written."""


def put(text: str, notes: Sequence[Note]) -> str:
    """Return the text with the section of these notes: in its place, or at the end; without notes, without one."""
    newline = "\n"
    if "\r\n" in text:
        newline = "\r\n"
    lines = text.splitlines(keepends=True)
    begins = [place for place, line in enumerate(lines) if line.startswith(_BEGIN)]
    ends = [place for place, line in enumerate(lines) if line.strip() == _END]
    if len(begins) > 1 or len(ends) != len(begins) or (begins and ends[0] < begins[0]):
        raise BrokenSection(f"the section of notes has lost its first or its last line; end it with {_END!r}")
    section = _section(notes).replace("\n", newline)
    if begins:
        before, after = "".join(lines[: begins[0]]), "".join(lines[ends[0] + 1 :])
        return before + section + after
    if not section:
        return text
    if not text:
        gap = ""
    elif text.endswith("\n"):
        gap = newline
    else:
        gap = 2 * newline
    return text + gap + section


def _section(notes: Sequence[Note]) -> str:
    if not notes:
        return ""
    items = "".join(f"- {note.text} (note {note.number}, {note.by}, {note.plan})\n" for note in notes)
    return f"{_HEAD}\n{items}\n{_END}\n"
