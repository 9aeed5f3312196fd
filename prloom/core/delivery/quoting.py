"""Say in a flat conversation what a reply answers: its author, and the first line of what they wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from prloom.core.delivery import inert
from prloom.model.action import Action, Comment
from prloom.model.event import Event

LONGEST = 120
"""Characters of a line that are quoted."""

_QUOTATION = re.compile(r"\A> \*\*[^\n]*\n\n")


def quoted(text: str, event: Event | None) -> str:
    """Return a reply below what it answers; in a conversation of its own, everybody sees what that is."""
    if event is None or event.author is None or event.kind.threaded or not event.spoken:
        return text
    line = next((each for each in map(str.strip, event.body.splitlines()) if each and not each.startswith(">")), "")
    if not line:
        return text
    return f"> **{inert.line(event.author.login)}**: {inert.line(line, longest=LONGEST)}\n\n{text}"


def in_replies(actions: Iterable[Action], events: Iterable[Event]) -> tuple[Action, ...]:
    """Return the replies to these events, each below what it answers."""
    by_id = {event.id: event for event in events}
    return tuple(_with_quotation(action, by_id.get(action.related_event_id or "")) for action in actions)


def _with_quotation(action: Action, event: Event | None) -> Action:
    if not isinstance(action.payload, Comment):
        return action
    return replace(action, payload=replace(action.payload, message=quoted(action.payload.message, event)))


def without(text: str) -> str:
    """Return a reply without what it answers, for a place where that stands already."""
    return _QUOTATION.sub("", text, count=1)
