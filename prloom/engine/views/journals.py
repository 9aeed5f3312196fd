"""Read the lines of a bus's journals as values; lines that cannot be read are skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

import msgspec

from prloom.model import record
from prloom.model.action import Action
from prloom.model.decision import Decision
from prloom.model.event import Event
from prloom.model.position import Cursor, Position
from prloom.storage import envelope
from prloom.storage.json_codec import Unreadable
from prloom.storage.reader import JournalEntry

R = TypeVar("R", bound=record.Record)


class LoggedDecision(NamedTuple):
    """A decision, and when it was made."""

    ts: str
    decision: Decision


class ReceivedEvent(NamedTuple):
    """An event, when its line was written, and the position of that line."""

    ts: str
    event: Event
    position: Position


def decisions(entries: Iterable[JournalEntry]) -> Iterator[LoggedDecision]:
    """Yield the decisions among the lines of `decisions.jsonl`."""
    for entry in entries:
        found = _read(entry, "decision", Decision)
        if found is not None:
            yield LoggedDecision(*found)


def events(entries: Iterable[JournalEntry]) -> Iterator[ReceivedEvent]:
    """Yield the events among the lines of `events.jsonl`."""
    for entry in entries:
        found = _read(entry, "event", Event)
        if found is not None:
            yield ReceivedEvent(*found, entry.position)


def action(line: bytes | None) -> Action | None:
    """Return the action of a line of `actions.jsonl`, or None where there is none."""
    if line is None:
        found = None
    else:
        found = _read(JournalEntry(Position(0, 0), line), "action", Action)
    if found is None:
        return None
    return found[1]


def is_behind(position: Position, cursor: Cursor) -> bool:
    """Return whether a reader with this cursor has yet to read the line at a position."""
    if position.segment == cursor.segment - 1:
        return position.offset >= cursor.late
    return position >= Position(cursor.segment, cursor.offset)


def _read(entry: JournalEntry, kind: str, shape: type[R]) -> tuple[str, R] | None:
    found = envelope.decode(entry.line)
    if isinstance(found, Unreadable) or found.kind != kind:
        return None
    try:
        return found.ts, record.from_wire(shape, found.data)
    except msgspec.ValidationError:
        return None
