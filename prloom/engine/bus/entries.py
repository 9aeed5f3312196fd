"""Read and write the lines of a bus's journals as the values in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

import msgspec

from prloom.model import record
from prloom.model.action import Action
from prloom.model.decision import Change, Decision
from prloom.model.event import Event, digest
from prloom.model.record import Cursor, Position, Record, Timestamp
from prloom.model.state import DispatchState, IssuedPost, IssuedTodo, OpenEvent
from prloom.storage import envelope
from prloom.storage.journal import Journal
from prloom.storage.json_codec import Unreadable
from prloom.storage.reader import JournalEntry, JournalReader

KINDS: Mapping[str, type[Record]] = {
    "event": Event,
    "decision": Decision,
    "action": Action,
    "issued": IssuedPost,
    "todo": IssuedTodo,
}
"""The record in a journal's line, by the kind that the line names."""

NAMES: Mapping[type[Record], str] = {shape: kind for kind, shape in KINDS.items()}
"""The kind that a line with such a record names."""

_EVENT = NAMES[Event]


def event(line: bytes | None) -> Event | None:
    """Return the event of a journal line, or None where the line is none."""
    if line is None:
        return None
    try:
        found = _event_lines.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read(Event, line)
    if found.kind == _EVENT and found.schema_version == envelope.SCHEMA_VERSION:
        return found.data
    return None


def action(line: bytes | None) -> Action | None:
    """Return the action of a journal line, or None where the line is none."""
    if line is None:
        return None
    return _read(Action, line)


def decision(line: bytes | None) -> Decision | None:
    """Return the decision of a journal line, or None where the line is none."""
    if line is None:
        return None
    return _read(Decision, line)


def issued(line: bytes | None) -> IssuedPost | IssuedTodo | None:
    """Return the issued post or TODO of a journal line, or None where the line is none."""
    if line is None:
        return None
    post = _read(IssuedPost, line)
    if post is None:
        return _read(IssuedTodo, line)
    return post


def find(journal: JournalReader, opened: OpenEvent) -> Event | None:
    """Return an open event exactly as it came in: from its position, or from wherever a changed file has it."""
    found = event(journal.read_at(opened.position))
    if _is(found, opened):
        return found
    lines = (event(entry.line) for entry in journal.containing(msgspec.json.encode(opened.id)))
    return next((each for each in lines if _is(each, opened)), None)


def _is(found: Event | None, opened: OpenEvent) -> bool:
    return found is not None and found.id == opened.id and digest(found) == opened.digest


def append(journal: Journal, events: Sequence[Event], now: datetime) -> int:
    """Append events to a bus, on disk when this returns; return how many."""
    if events:
        journal.append_block(envelope.encode_lines(_EVENT, events, record.iso(now)))
    return len(events)


class _EventLine(msgspec.Struct, rename="camel"):
    """A line of `events.jsonl` with its event, decoded in one step: most lines that are read are of this kind."""

    kind: str
    data: Event
    schema_version: int = envelope.SCHEMA_VERSION


_event_lines = msgspec.json.Decoder(_EventLine)


def _read(shape: type[record.R], line: bytes) -> record.R | None:
    found = envelope.decode(line)
    if isinstance(found, Unreadable) or found.kind != NAMES[shape]:
        return None
    try:
        return record.from_wire(shape, found.data)
    except msgspec.ValidationError:
        return None


class EventCache:
    """The texts of a bus; in memory are those of pending events that were asked for."""

    def __init__(self, events: Journal) -> None:
        self._events = events
        self._cached: dict[str, Event] = {}

    def get(self, opened: OpenEvent) -> Event | None:
        """Return an open event with its text; None if the journal no longer holds the text that was admitted."""
        cached = self._cached.get(opened.id)
        if cached is not None:
            return cached
        found = find(self._events, opened)
        if found is not None:
            self._cached[opened.id] = found
        return found

    def find(self, event_id: str, opened: OpenEvent | None) -> Event | None:
        """Return an event with its text; that of one which is not open yet can only be in memory."""
        if opened is None:
            return self.peek(event_id)
        return self.get(opened)

    def peek(self, event_id: str) -> Event | None:
        """Return an event with its text if it is in memory."""
        return self._cached.get(event_id)

    def add(self, event: Event) -> None:
        """Add an event that is just being taken in: its text is needed next."""
        self._cached[event.id] = event

    def drop_done(self, changes: Iterable[Change], state: DispatchState) -> None:
        """Drop the texts of events that are not pending any more; `state` is the one that the changes led to."""
        for change in changes:
            opened = state.open.get(change.event_id)
            if opened is None or opened.state != "pending":
                self._cached.pop(change.event_id, None)

    def clear(self) -> None:
        """Drop all texts: they are read again when they are needed."""
        self._cached.clear()

    def __iter__(self) -> Iterator[str]:
        return iter(self._cached)


class _DecisionLine(msgspec.Struct, rename="camel"):
    """A line of `decisions.jsonl`, read in one go."""

    kind: str
    data: Decision
    ts: Timestamp
    schema_version: int = envelope.SCHEMA_VERSION


class LoggedDecision(NamedTuple):
    """A decision, and when it was made."""

    made_at: Timestamp
    decision: Decision


class ReceivedEvent(NamedTuple):
    """An event, when its line was written, and the position of that line."""

    ts: str
    event: Event
    position: Position


def logged(line: bytes) -> LoggedDecision | Unreadable:
    """Return the decision of a journal line and when it was made, or why the line is none."""
    try:
        whole = record.decode(_DecisionLine, line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        whole = None
    if whole is not None and whole.kind == "decision" and whole.schema_version == envelope.SCHEMA_VERSION:
        return LoggedDecision(whole.ts, whole.data)
    return _logged_in_steps(line)


def _logged_in_steps(line: bytes) -> LoggedDecision | Unreadable:
    """Return what `logged` does, of a line that could not be read in one go."""
    found = envelope.decode(line)
    if isinstance(found, Unreadable):
        return found
    if found.kind != NAMES[Decision]:
        return Unreadable(f"it is of the kind {found.kind!r}")
    try:
        return LoggedDecision(Timestamp.read(found.ts), record.from_wire(Decision, found.data))
    except (msgspec.ValidationError, ValueError) as error:
        return Unreadable(str(error))


def logged_decisions(entries: Iterable[JournalEntry]) -> Iterator[LoggedDecision]:
    """Yield the decisions among the lines of `decisions.jsonl`."""
    for entry in entries:
        found = logged(entry.line)
        if isinstance(found, LoggedDecision):
            yield found


def received_events(entries: Iterable[JournalEntry]) -> Iterator[ReceivedEvent]:
    """Yield the events among the lines of `events.jsonl`."""
    for entry in entries:
        found = envelope.decode(entry.line)
        if isinstance(found, Unreadable) or found.kind != _EVENT:
            continue
        with suppress(msgspec.ValidationError):
            yield ReceivedEvent(found.ts, record.from_wire(Event, found.data), entry.position)


def is_behind(position: Position, cursor: Cursor) -> bool:
    """Return whether a reader with this cursor has yet to read the line at a position."""
    if position.segment == cursor.segment - 1:
        return position.offset >= cursor.late
    return position >= Position(cursor.segment, cursor.offset)
