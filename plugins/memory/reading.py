"""Find the notes in what somebody wrote, and whether anything else stands there."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_NOTE = re.compile(r" {0,3}!memory(?:[:\s](.*))?", re.IGNORECASE)
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_BULLET = re.compile(r"\s*(?:[-*+]|[0-9]{1,9}[.)])\s+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# Characters that show nothing and can carry text past the eyes of whoever reads the note.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_SELECTORS = range(0xE0100, 0xE01F0)


@dataclass(frozen=True)
class FoundNotes:
    """The notes of a text. `marked` says that it asks for a note at all, `more` that it says something else besides."""

    notes: tuple[str, ...] = ()
    marked: bool = False
    more: bool = False


def read(text: str) -> FoundNotes:
    """Return the notes that stand in the text; quotations, code and what is hidden in comments are not read."""
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
        elif opening := _FENCE.match(line):
            fence, more, beneath = opening[1], True, False
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
    """Return the text on one line, without what nobody sees."""
    return " ".join(visible(text).split())


def visible(text: str) -> str:
    """Return the text without the characters that nobody sees; every line break is a newline."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return "".join(each for each in plain if each == "\n" or not _is_invisible(each))


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char) in _INVISIBLE or ord(char) in _SELECTORS
