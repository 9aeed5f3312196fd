"""Find the notes in a comment, and keep them: a value that is stored as JSON."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from prloom.api import Json

MOST = 100
"""Notes there may be: all of them are read by an agent each time."""
LONGEST = 500
"""Characters that a note may have."""

_NOTE = re.compile(r" {0,3}!memory(?:[:\s](.*))?", re.IGNORECASE)
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_BULLET = re.compile(r"\s*(?:[-*+]|[0-9]{1,9}[.)])\s+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# Characters that show nothing and can carry text past a person who reads the note.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_SELECTORS = range(0xE0100, 0xE01F0)


@dataclass(frozen=True)
class Note:
    """One note: its number, which no other note ever gets, and where it comes from."""

    number: int
    text: str
    by: str
    plan: str
    event: str


@dataclass(frozen=True)
class Notes:
    """All notes, the oldest first, and the highest number that was ever given."""

    notes: tuple[Note, ...] = ()
    last: int = 0

    @classmethod
    def of(cls, value: Json) -> Notes:
        """Return the notes that a stored value says."""
        if value is None:
            return cls()
        return cls(tuple(Note(**each) for each in value["notes"]), value["last"])

    def stored(self) -> Json:
        """Return the value to store."""
        return {"notes": [asdict(note) for note in self.notes], "last": self.last}

    def without(self, number: int) -> Notes:
        """Return the notes less one."""
        return Notes(tuple(note for note in self.notes if note.number != number), self.last)


@dataclass(frozen=True)
class NoteChanges:
    """What became of the notes of one comment."""

    notes: Notes
    new: tuple[Note, ...] = ()
    repeated: tuple[Note, ...] = ()
    gone: tuple[Note, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether there is anything to report."""
        return bool(self.new or self.gone or self.refused)


def add(notes: Notes, texts: Sequence[str], *, by: str, plan: str, event: str, edited: str | None) -> NoteChanges:
    """Return the notes with those of a comment; where it is an edit, in place of those of the event `edited`."""
    before = {_folded(note.text): note for note in notes.notes if edited is not None and note.event == edited}
    kept = {_folded(note.text): note for note in notes.notes if note not in before.values()}
    last, new, repeated, refused = notes.last, [], [], []
    for text in dict.fromkeys(texts):
        key = _folded(text)
        if key in kept:
            repeated.append(kept[key])
        elif key in before:
            kept[key] = replace(before.pop(key), text=text, event=event)
        elif len(text) > LONGEST or len(kept) >= MOST:
            refused.append(_why_not(text))
        else:
            last += 1
            kept[key] = Note(last, text, by, plan, event)
            new.append(kept[key])
    ordered = tuple(sorted(kept.values(), key=lambda note: note.number))
    return NoteChanges(Notes(ordered, last), tuple(new), tuple(repeated), tuple(before.values()), tuple(refused))


def _why_not(text: str) -> str:
    if len(text) > LONGEST:
        return f"it has {len(text)} characters, but at most {LONGEST} are allowed: {text[:60]}…"
    return f"there are already {MOST} notes; remove one with `/memory forget N`: {text}"


def _folded(text: str) -> str:
    return text.casefold().rstrip(" .")


@dataclass(frozen=True)
class FoundNotes:
    """The notes of a text. `marked` says that it contains `!memory`, `more` that it contains something else."""

    notes: tuple[str, ...] = ()
    marked: bool = False
    more: bool = False


def find(text: str) -> FoundNotes:
    """Return the notes in the text; quotations, code and what is hidden in comments are not read."""
    if "!memory" not in text.casefold():
        return FoundNotes(more=bool(text.strip()))
    notes: list[str] = []
    marked = more = beneath = False
    fence = ""
    for line in _HIDDEN.sub("", visible(text)).split("\n"):
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif fence_start := _FENCE.match(line):
            fence, more, beneath = fence_start[1], True, False
        elif match := _NOTE.fullmatch(line):
            marked, beneath = True, not (match[1] or "").strip()
            notes.append(match[1] or "")
        elif not bare:
            beneath = False
        elif beneath and not bare.startswith(">"):
            notes.append(_BULLET.sub("", line, count=1))
        elif not bare.startswith(">"):
            more = True
    return FoundNotes(tuple(note for each in notes if (note := one_line(each))), marked, more)


def one_line(text: str) -> str:
    """Return the text on one line, without invisible characters."""
    return " ".join(visible(text).split())


def visible(text: str) -> str:
    """Return the text without invisible characters; every line break is a newline."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return "".join(each for each in plain if each == "\n" or not _is_invisible(each))


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char) in _INVISIBLE or ord(char) in _SELECTORS
