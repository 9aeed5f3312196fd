"""Keep the notes: a value that is stored as JSON, with what a comment adds, corrects and takes away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from prloom.api import Json

MOST = 100
"""Notes there may be: all of them are read by an agent each time."""
LONGEST = 500
"""Characters that a note may have."""


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
class Added:
    """What became of the notes of one comment."""

    notes: Notes
    new: tuple[Note, ...] = ()
    known: tuple[Note, ...] = ()
    gone: tuple[Note, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.new or self.gone or self.refused)


def add(notes: Notes, texts: Sequence[str], *, by: str, plan: str, event: str, edited: str | None) -> Added:
    """Return the notes with those of a comment; where it is an edit, in place of those of the event `edited`."""
    before = {_folded(note.text): note for note in notes.notes if edited is not None and note.event == edited}
    kept = {_folded(note.text): note for note in notes.notes if note not in before.values()}
    last, new, known, refused = notes.last, [], [], []
    for text in dict.fromkeys(texts):
        key = _folded(text)
        if key in kept:
            known.append(kept[key])
        elif key in before:
            kept[key] = replace(before.pop(key), text=text, event=event)
        elif len(text) > LONGEST or len(kept) >= MOST:
            refused.append(_why_not(text))
        else:
            last += 1
            kept[key] = Note(last, text, by, plan, event)
            new.append(kept[key])
    ordered = tuple(sorted(kept.values(), key=lambda note: note.number))
    return Added(Notes(ordered, last), tuple(new), tuple(known), tuple(before.values()), tuple(refused))


def _why_not(text: str) -> str:
    if len(text) > LONGEST:
        return f"it has {len(text)} characters, but at most {LONGEST} are allowed: {text[:60]}…"
    return f"there are already {MOST} notes; remove one with `/memory forget N`: {text}"


def _folded(text: str) -> str:
    return text.casefold().rstrip(" .")
