"""Read and extend what a plan says beside its TODOs: the text that describes it, and the notes for later TODOs."""

from __future__ import annotations

from collections.abc import Iterable

from prloom.core.plans import plan_lines, plan_reader
from prloom.core.plans.plan_reader import INDENT, LEVEL, TODO, Reader
from prloom.core.text import markdown

_NOTES = "notes"
_HEADING = "## Notes"
_ENDS = frozenset((TODO, _NOTES))
_OWN_MARK = "<!-- prloom:"


def body(text: str) -> str:
    """Return the text between the title and the TODOs or the notes, without prloom's own comments.

    It becomes the description of the pull request.
    """
    reader = plan_reader.read(text)
    lines = text.split("\n")
    start = reader.start
    if reader.title_line is not None:
        start = reader.title_line + 1
    ends = (each.line for each in reader.headings if each.line >= start and each.level == LEVEL and each.name in _ENDS)
    end = next(ends, len(lines))
    kept = [_without_marks(line).rstrip() for line in lines[start:end]]
    return "\n".join(markdown.trimmed(kept)).removeprefix("\ufeff")


def notes(text: str) -> str:
    """Return what stands under `## Notes`; empty if there is nothing."""
    place = _notes_lines(plan_reader.read(text), text)
    if place is None:
        return ""
    start, end = place
    return "\n".join(markdown.trimmed([line.rstrip() for line in text.split("\n")[start:end]]))


def append_notes(text: str, added: Iterable[str]) -> str:
    """Return the text with these notes at the end of `## Notes`, which is made where it is missing.

    A note that stands there already is left out. Notes may be text from outside: they stay within their item.
    """
    reader = plan_reader.read(text)
    known = f"\n{notes(text)}\n"
    fresh = [note for note in dict.fromkeys(map(_written, added)) if note and f"\n{note}\n" not in known]
    if not fresh:
        return text
    block = "\n".join(fresh).split("\n")
    place = _notes_lines(reader, text)
    if place is None:
        return plan_lines.as_section(text, reader, _HEADING, block)
    start, end = place
    lines = text.split("\n")
    if reader.fence and reader.opened >= start:  # never into a block that nobody closes
        end = reader.opened
    while end > start and not lines[end - 1].strip():
        end -= 1
    return plan_lines.at_end_of_section(text, end, block, joined=lines[end - 1].startswith(("- ", INDENT)))


def _notes_lines(reader: Reader, text: str) -> tuple[int, int] | None:
    """Return the lines of the last section of notes, without its heading; None if there is none."""
    numbers = [number for number, each in enumerate(reader.headings) if each.level == LEVEL and each.name == _NOTES]
    if not numbers:
        return None
    last = numbers[-1]
    lines = [each.line for each in reader.headings[last:]]
    return lines[0] + 1, (*lines, text.count("\n") + 1)[1]


def _without_marks(line: str) -> str:
    """Return the line without the comments that only prloom reads."""
    before, *pieces = line.split(_OWN_MARK)
    kept = [before]
    for piece in pieces:
        _inside, end, after = piece.partition(markdown.COMMENT_END)
        if end:
            kept[-1] = kept[-1].rstrip()
            kept.append(after)
        else:
            kept.append(_OWN_MARK + piece)
    return "".join(kept)


def _written(note: str) -> str:
    lines = [markdown.escaped(line) for line in markdown.clean(note)]
    if not lines:
        return ""
    return "\n".join([f"- {lines[0].lstrip()}", *(f"{INDENT}{line}".rstrip() for line in lines[1:])])
