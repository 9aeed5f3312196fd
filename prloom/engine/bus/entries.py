"""Read and write the lines of a bus's journals as what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from prloom.model import record
from prloom.model.action import Action
from prloom.model.decision import Decision
from prloom.model.event import Event
from prloom.storage import envelope
from prloom.storage.journal import Journal
from prloom.storage.wire import Unreadable


def event(line: bytes | None) -> Event | None:
    """Return the event of a journal line, or None where the line is none."""
    return None if line is None else _read(Event, line, "event")


def action(line: bytes | None) -> Action | None:
    """Return the action of a journal line, or None where the line is none."""
    return None if line is None else _read(Action, line, "action")


def decision(line: bytes | None) -> Decision | None:
    """Return the decision of a journal line, or None where the line is none."""
    return None if line is None else _read(Decision, line, "decision")


def written_at(line: bytes) -> datetime | None:
    """Return when a journal line was written, or None where that cannot be read."""
    found = envelope.decode(line)
    try:
        return None if isinstance(found, Unreadable) else record.moment(found.ts)
    except ValueError:
        return None


def append(journal: Journal, events: Sequence[Event], now: datetime) -> int:
    """Append events to a bus, on disk when this returns; return how many."""
    if events:
        journal.append([envelope.encode("event", record.to_wire(each), record.iso(now)) for each in events])
    return len(events)


def _read(kind: type[record.R], line: bytes, name: str) -> record.R | None:
    found = envelope.decode(line)
    if isinstance(found, Unreadable) or found.kind != name:
        return None
    try:
        return record.from_wire(kind, found.data)
    except msgspec.ValidationError:
        return None
