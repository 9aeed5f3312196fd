"""Say in a flat conversation what a reply answers: its author, and the first line of what they wrote."""

from __future__ import annotations

from prloom.core.delivery import inert
from prloom.model.event import Event

LONGEST = 120
"""Characters of a line that are quoted."""


def quoted(text: str, event: Event | None) -> str:
    """Return a reply below what it answers; in a conversation of its own, everybody sees what that is."""
    if event is None or event.author is None or event.kind.threaded or not event.spoken:
        return text
    line = next((each for each in map(str.strip, event.body.splitlines()) if each and not each.startswith(">")), "")
    if not line:
        return text
    return f"> **{inert.line(event.author.login)}**: {inert.line(line, longest=LONGEST)}\n\n{text}"
