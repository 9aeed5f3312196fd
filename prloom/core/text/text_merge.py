"""Merge two changes of one text, line by line, where they do not touch the same lines."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

TextChange = tuple[int, int, list[str]]
"""Lines `first` to `last` of the old text, and what they became."""


def merged(before: str, *, ours: str, theirs: str) -> str | None:
    """Return the text with both changes; None where they touch the same lines, or insert at the same place."""
    if theirs in {before, ours}:
        return ours
    if ours == before:
        return theirs
    old = before.splitlines(keepends=True)
    changes = sorted([*_changes(old, ours), *_changes(old, theirs)], key=lambda change: change[:2])
    kept: list[str] = []
    at = 0
    for number, (first, last, new) in enumerate(changes):
        before_it = changes[number - 1] if number else None
        if before_it == (first, last, new):
            continue
        both_insert = before_it is not None and before_it[:2] == (first, last) and first == last
        if first < at or both_insert:
            return None
        kept += old[at:first] + new
        at = last
    return "".join([*kept, *old[at:]])


def _changes(old: Sequence[str], text: str) -> list[TextChange]:
    new = text.splitlines(keepends=True)
    found = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(i1, i2, new[j1:j2]) for tag, i1, i2, j1, j2 in found if tag != "equal"]
