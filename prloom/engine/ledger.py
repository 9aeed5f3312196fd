"""One bus: its journals, and the one way in which anything on it takes effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from prloom.core import projection
from prloom.model import record
from prloom.model.action import Action
from prloom.model.decision import Decision
from prloom.model.event import Event, digest
from prloom.model.position import Cursor, Position
from prloom.model.state import DispatchState, OpenEvent
from prloom.storage import asides, envelope, paths
from prloom.storage.document import LABEL, Document
from prloom.storage.folder import Folder
from prloom.storage.journal import Journal
from prloom.storage.wire import Unreadable

Clock = Callable[[], datetime]

ROTATE_AT = 8 * 1024 * 1024
"""Bytes at which a journal's live file is closed and a new one begun."""


class Effect(Protocol):
    """A file that is brought up to the decision log; `apply` may be called again with a decision it has had."""

    def apply(self, decision: Decision) -> None:
        """Bring the file up to a decision."""


class Ledger:
    """The journals of one bus and the state they amount to.

    `commit` is the only way to change anything: the append of one decision is the commit point, and all other files
    follow from it. What a crash leaves undone is done by the next `open`. After an error the ledger is of no more use:
    open a new one, which reads what really came to be.
    """

    def __init__(
        self, bus: Folder, clock: Clock, effects: Sequence[Effect] = (), *, rotate_at: int = ROTATE_AT
    ) -> None:
        self.clock = clock
        self.events = Journal(bus, paths.EVENTS)
        self.state = DispatchState()
        self._decisions = Journal(bus, paths.DECISIONS)
        self._actions = Journal(bus, paths.ACTIONS)
        self._document = Document(bus.make_sub(paths.BUS_STATE), paths.DISPATCHER)
        self._effects = effects
        self._rotate_at = rotate_at
        self._saved = self.state
        self._cache: dict[str, Event] = {}

    @classmethod
    def open(cls, bus: Folder, clock: Clock, effects: Sequence[Effect] = (), *, rotate_at: int = ROTATE_AT) -> Ledger:
        """Open a bus and bring all its files up to its decision log."""
        ledger = cls(bus, clock, effects, rotate_at=rotate_at)
        ledger._decisions.heal()
        ledger._actions.heal()
        ledger.state = ledger._load()
        ledger._catch_up()
        ledger.save()
        return ledger

    def commit(self, stage: str, by: str, **parts: Any) -> Decision:  # noqa: ANN401 - the fields of Decision
        """Let a decision take effect, as a whole; `parts` are the other fields of `Decision`."""
        decision = Decision(seq=self.state.seq + 1, stage=stage, by=by, **parts)
        now = self.clock()
        line = envelope.encode("decision", record.to_wire(decision), record.iso(now))
        position = self._decisions.append([line])
        self._take_effect(decision, now, _behind(position, line, self.state.log), {})
        return decision

    def save(self) -> None:
        """Write the projection, if it has changed, and rotate the journals that have grown long."""
        if self.state != self._saved:
            self._document.save(record.to_wire(self.state))
            self._saved = self.state
            self._rotate()

    def event(self, opened: OpenEvent) -> Event | None:
        """Return an open event with its text; None if the journal no longer holds the text that was admitted."""
        cached = self._cache.get(opened.id)
        if cached is not None:
            return cached
        found = read_event(self.events.read_at(opened.position))
        if found is None or found.id != opened.id or digest(found) != opened.digest:
            return None
        self._cache[opened.id] = found
        return found

    def action(self, position: Position) -> Action | None:
        """Return the action whose line stands at a position, or None."""
        line = self._actions.read_at(position)
        return None if line is None else _read(Action, line, "action")

    def issued(self, action_id: str) -> bool:
        """Whether an action of this id was ever queued here."""
        return action_id in self.state.queue or self._actions.find(f'"{action_id}"'.encode())

    def _take_effect(self, decision: Decision, at: datetime, end: Cursor, standing: Mapping[str, Position]) -> None:
        outbox, tail = self._queue(decision.actions, at, standing)
        for effect in self._effects:
            effect.apply(decision)
        self.state = projection.fold(
            self.state, decision, at=record.iso(at), end=end, outbox=outbox, tail=tail or self.state.outbox
        )
        for change in decision.changes:
            if change.event_id not in self.state.open:
                self._cache.pop(change.event_id, None)

    def _queue(
        self, actions: tuple[Action, ...], at: datetime, standing: Mapping[str, Position]
    ) -> tuple[Mapping[str, Position], Cursor | None]:
        """Append the actions that do not stand in the outbox yet, and return where all of them stand, and its end."""
        missing = [action for action in actions if action.id not in standing]
        places = dict(standing)
        if not missing:
            return places, None
        lines = [envelope.encode("action", record.to_wire(action), record.iso(at)) for action in missing]
        position = self._actions.append(lines)
        offset = position.offset
        for action, line in zip(missing, lines, strict=True):
            places[action.id] = Position(position.segment, offset)
            offset += len(line) + 1
        return places, Cursor(position.segment, offset, self.state.outbox.late)

    def _load(self) -> DispatchState:
        """Return the projection as it was saved, or an empty one: the log has everything."""
        loaded = self._document.load()
        if loaded.value is None:
            return DispatchState(log=Cursor(max(self._decisions.segments(), default=1)))
        try:
            return record.from_wire(DispatchState, loaded.value)
        except msgspec.ValidationError:
            asides.move(self._document.folder, paths.DISPATCHER, LABEL)
            return DispatchState(log=Cursor(max(self._decisions.segments(), default=1)))

    def _catch_up(self) -> None:
        """Let everything behind the saved projection take effect again, as far as it has not."""
        standing = self._standing()
        cursor = self.state.log
        while True:
            batch = self._decisions.read(cursor)
            if not batch.entries and batch.cursor == cursor:
                self.state = replace(self.state, outbox=self._actions.end())
                return
            for entry in batch.entries:
                found = envelope.decode(entry.line)
                decision = read_decision(entry.line)
                if decision is not None and not isinstance(found, Unreadable):
                    end = _behind(entry.position, entry.line, self.state.log)
                    self._take_effect(decision, record.moment(found.ts), end, standing)
            cursor = batch.cursor

    def _standing(self) -> dict[str, Position]:
        """Return where the actions stand that a crash left in the outbox without the projection knowing."""
        places: dict[str, Position] = {}
        cursor = self.state.outbox
        while True:
            batch = self._actions.read(cursor)
            if not batch.entries and batch.cursor == cursor:
                return places
            for entry in batch.entries:
                action = _read(Action, entry.line, "action")
                if action is not None:
                    places[action.id] = entry.position
            cursor = batch.cursor

    def _rotate(self) -> None:
        if self.state.log.offset > self._rotate_at:
            self._rotate_decisions()
        if self.events.end().offset > self._rotate_at:
            self.events.rotate()
        if self.state.outbox.offset > self._rotate_at:
            self._actions.rotate()

    def _rotate_decisions(self) -> None:
        """Begin a new segment with a snapshot, so that a rebuild reads one segment and not all of history."""
        snapshot = Decision(
            seq=self.state.seq + 1, stage="snapshot", by="prloom", snapshot={"state": record.to_wire(self.state)}
        )
        line = envelope.encode("decision", record.to_wire(snapshot), record.iso(self.clock()))
        position = self._decisions.rotate([line])
        self.state = replace(self.state, seq=snapshot.seq, log=_behind(position, line, self.state.log))
        self._document.save(record.to_wire(self.state))
        self._saved = self.state


def read_event(line: bytes | None) -> Event | None:
    """Return the event of a journal line, or None where the line is none."""
    return None if line is None else _read(Event, line, "event")


def read_decision(line: bytes) -> Decision | None:
    """Return the decision of a journal line, or None where the line is none."""
    return _read(Decision, line, "decision")


def append_events(journal: Journal, events: Sequence[Event], now: datetime) -> int:
    """Append events to a bus, on disk when this returns; return how many."""
    if events:
        journal.append([envelope.encode("event", record.to_wire(event), record.iso(now)) for event in events])
    return len(events)


def _read(kind: type[record.R], line: bytes, name: str) -> record.R | None:
    found = envelope.decode(line)
    if isinstance(found, Unreadable) or found.kind != name:
        return None
    try:
        return record.from_wire(kind, found.data)
    except msgspec.ValidationError:
        return None


def _behind(position: Position, line: bytes, before: Cursor) -> Cursor:
    """Return the cursor behind a line of our own journal."""
    late = before.late if before.segment == position.segment else before.offset
    return Cursor(position.segment, position.offset + len(line) + 1, late)
