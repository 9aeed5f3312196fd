"""One bus: its journals, and the one way in which anything on it takes effect."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from prloom.core import bounds, decision_line, projection
from prloom.engine.bus import entries
from prloom.engine.bus.event_cache import EventCache
from prloom.engine.bus.segment_ends import SegmentEnds
from prloom.errors import StorageError
from prloom.model import record
from prloom.model.action import Action
from prloom.model.decision import Decision
from prloom.model.position import Cursor, Position
from prloom.model.state import DispatchState
from prloom.storage import envelope, lines, paths, quarantine
from prloom.storage.document import LABEL, Document
from prloom.storage.journal import Journal
from prloom.storage.reader import JournalEntry
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]

ROTATE_AT = 32 * 1024 * 1024
"""Bytes at which a journal's live file is closed and a new one begun.

A longer one takes longer to make a lost state from, and its events' table is longer in memory; of shorter ones there
are more.
"""


class TooLongError(StorageError):
    """What was to be committed does not fit into a line of the log; nothing of it took effect."""


class Effect(Protocol):
    """A file that is brought up to the decision log; `apply` may be called again with a decision it has had."""

    def apply(self, decision: Decision) -> None:
        """Bring the file up to a decision."""


class EventStore:
    """The journals of one bus and the state they amount to.

    `commit` is the only way to change anything: the append of one decision is the commit point, and all other files
    follow from it. What a crash leaves undone is done by the next `open`. After an error the ledger writes nothing any
    more, for it does not know what came to be: open a new one, which reads that.
    """

    def __init__(
        self, bus: SafeDir, clock: Clock, effects: Sequence[Effect] = (), *, rotate_at: int = ROTATE_AT
    ) -> None:
        self.clock = clock
        self.plan_id = ""  # which plan the log names
        self.events = Journal(bus, paths.EVENTS)
        self.texts = EventCache(self.events)
        self.state = DispatchState()
        self._decisions = Journal(bus, paths.DECISIONS)
        self._actions = Journal(bus, paths.ACTIONS)
        state = bus.make_sub(paths.BUS_STATE)
        self.ends = SegmentEnds(self.events, state)
        self._document = Document(state, paths.DISPATCHER)
        self._effects = effects
        self._rotate_at = rotate_at
        self._floor: dict[str, int] = {}
        self._closed: str | None = None
        self._saved = self.state

    @classmethod
    def open(
        cls, bus: SafeDir, clock: Clock, effects: Sequence[Effect] = (), *, rotate_at: int = ROTATE_AT
    ) -> EventStore:
        """Open a bus and bring all its files up to its decision log."""
        event_store = cls(bus, clock, effects, rotate_at=rotate_at)
        event_store._decisions.heal()
        event_store._actions.heal()
        event_store.state = event_store._load()
        event_store._catch_up()
        event_store.save()
        return event_store

    def commit(self, stage: str, by: str, **parts: Any) -> Decision:  # noqa: ANN401 - the fields of Decision
        """Let a decision take effect, as a whole; `parts` are the other fields of `Decision`."""
        if self._closed is not None:
            raise StorageError(f"{self._decisions.path} cannot be written any more: {self._closed}")
        decision = bounds.decision(Decision(seq=self.state.seq + 1, stage=stage, by=by, **parts))
        now = self.clock()
        line = envelope.encode("decision", record.sparse(decision), record.iso(now))
        if len(line) > lines.LINE_LIMIT:
            raise TooLongError(f"a decision of {len(line)} bytes is over the limit of {lines.LINE_LIMIT}")
        try:
            position = self._decisions.append([line])
            self._take_effect(decision, now, _behind(position, line, self.state.log))
        except BaseException as error:
            self.close(f"{type(error).__name__}: {error}")
            raise
        if log.isEnabledFor(logging.INFO):
            log.info("%s", decision_line.line(self.plan_id, decision))
        return decision

    def close(self, reason: str) -> None:
        """Write nothing any more; whoever still works with this ledger is told the first reason."""
        self._closed = self._closed or reason

    @property
    def unsaved(self) -> int:
        """How many decisions the saved projection lacks."""
        return self.state.seq - self._saved.seq

    def save(self) -> None:
        """Write the projection, if it has changed, and rotate the journals that have grown long."""
        if self._closed is None and self.state != self._saved:
            self._document.save(record.to_wire(self.state))
            self._saved = self.state
            self._rotate()

    def action(self, position: Position) -> Action | None:
        """Return the action whose line stands at a position, or None."""
        return entries.action(self._actions.read_at(position))

    def issued(self, action_id: str) -> bool:
        """Whether an action of this id was ever queued here."""
        return action_id in self.state.queue or self._actions.find(f'"{action_id}"'.encode())

    def _take_effect(self, decision: Decision, at: datetime, end: Cursor) -> None:
        self._fold(decision, at, end, {})
        self._bring_up(decision)

    def _fold(self, decision: Decision, at: datetime, end: Cursor, standing: Mapping[str, Position]) -> None:
        outbox, tail = self._queue(decision.actions, at, standing)
        self.state = projection.fold(
            self.state, decision, at=record.iso(at), end=end, outbox=outbox, tail=tail or self.state.outbox
        )
        self.texts.let_go(decision.changes, self.state)

    def _bring_up(self, decision: Decision) -> None:
        """Bring every file up to the decision, also where another one fails: each knows its own place in the log."""
        failures = []
        for effect in self._effects:
            try:
                effect.apply(decision)
            except StorageError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def _queue(
        self, actions: tuple[Action, ...], at: datetime, standing: Mapping[str, Position]
    ) -> tuple[Mapping[str, Position], Cursor | None]:
        """Append the actions that do not stand in the outbox yet, and return where all of them stand, and its end."""
        missing = [action for action in actions if action.id not in standing]
        places = dict(standing)
        if not missing:
            return places, None
        lines = [envelope.encode("action", record.sparse(action), record.iso(at)) for action in missing]
        position = self._actions.append(lines)
        offset = position.offset
        for action, line in zip(missing, lines, strict=True):
            places[action.id] = Position(position.segment, offset)
            offset += len(line) + 1
        return places, _cursor(Position(position.segment, offset), self.state.outbox)

    def _load(self) -> DispatchState:
        """Return the projection as it was saved, or that of the latest snapshot: the log has everything."""
        loaded = self._document.load()
        if loaded.value is None:
            return self._snapshot()
        try:
            self._saved = record.from_wire(DispatchState, loaded.value)
        except msgspec.ValidationError:
            quarantine.move(self._document.folder, paths.DISPATCHER, LABEL)
            return self._snapshot()
        return self._saved

    def _snapshot(self) -> DispatchState:
        """Return the state with which the live segment begins, so that a rebuild reads one segment and not history.

        Where that line cannot be read, all there is has to be.
        """
        segments = self._decisions.segments()
        place = Position(segments[-1], 0)
        line = self._decisions.read_at(place)
        first = entries.decision(line)
        if line is None or first is None or first.snapshot is None:
            return DispatchState(log=Cursor(segments[0]))
        before = Cursor(place.segment, 0, self._decisions.end().late)
        return projection.fold(
            DispatchState(), first, at="", end=_behind(place, line, before), outbox={}, tail=Cursor()
        )

    def _catch_up(self) -> None:
        """Fold in what stands behind the saved projection, and bring all files up to it.

        One decision after another takes effect, and none is made before the last one has: so only the last can have
        been cut short. Those before it are not made again, for people may have changed the files since.
        """
        standing = self._standing()
        last = None
        cut = not self._decisions.stands(self.state.log)
        if cut:
            start = Cursor(self._decisions.segments()[0])
        else:
            start = self.state.log
        for entry in _rest(self._decisions, start):
            decision, at = self._decision(entry.line), entries.written_at(entry.line)
            if decision is None or at is None:
                log.warning("%s has a line that cannot be read; `prloom doctor` names it", self._decisions.path)
                continue
            if cut and decision.seq <= self.state.seq:
                continue
            end = _behind(entry.position, entry.line, self.state.log)
            self._fold(decision, at, end, standing)
            last = decision
        if last is not None:
            self._bring_up(last)
        self.state = replace(self.state, outbox=self._actions.end())
        if cut:
            self._begin_anew()

    def _decision(self, line: bytes) -> Decision | None:
        newer = entries.newer(line)
        if newer is not None:
            raise StorageError(f"{self._decisions.path} contains a decision that cannot be read: {newer}")
        return entries.decision(line)

    def _begin_anew(self) -> None:
        """Keep what is known beside a log that was cut or replaced: in a snapshot, with which a new segment begins."""
        log.warning("%s was cut or replaced; earlier decisions remain valid", self._decisions.path)
        self.state = replace(self.state, log=self._decisions.end())
        self._rotate_decisions()

    def _standing(self) -> dict[str, Position]:
        """Return where the actions stand that a crash left in the outbox without the projection knowing."""
        found = ((entries.action(entry.line), entry.position) for entry in _rest(self._actions, self.state.outbox))
        return {action.id: position for action, position in found if action is not None}

    def _rotate(self) -> None:
        if self._long("decisions", self.state.log.offset):
            self._try("decisions", self._rotate_decisions)
        if self._long("events", self.events.end().offset):
            self._try("events", self.events.rotate)
        if self._long("actions", self.state.outbox.offset):
            self._try("actions", self._rotate_actions)

    def _long(self, journal: str, size: int) -> bool:
        return size > self._floor.get(journal, 0) + self._rotate_at

    def _try(self, journal: str, rotate: Callable[[], object]) -> None:
        """Rotate a journal; where the file system refuses that, it is asked again when the file has grown as much."""
        before = self._decisions.segments()
        try:
            rotate()
        except StorageError as error:
            if self._decisions.segments() != before:  # the new segment is there, and we do not know what of it
                raise
            sizes = {"decisions": self.state.log.offset, "actions": self.state.outbox.offset}
            self._floor[journal] = sizes.get(journal, self.events.end().offset)
            log.warning("%s.jsonl cannot be rotated, and keeps growing: %s", journal, error)

    def _rotate_decisions(self) -> None:
        """Begin a new segment with a snapshot, so that a rebuild reads one segment and not all of history."""
        snapshot = Decision(
            seq=self.state.seq + 1, stage="snapshot", by="prloom", snapshot={"state": record.to_wire(self.state)}
        )
        line = envelope.encode("decision", record.to_wire(snapshot), record.iso(self.clock()))
        position = self._decisions.rotate([line])
        self._floor["decisions"] = len(line)  # a segment is not long because the state is
        self.state = replace(self.state, seq=snapshot.seq, log=_behind(position, line, self.state.log))
        self._document.save(record.to_wire(self.state))
        self._saved = self.state

    def _rotate_actions(self) -> None:
        self._actions.rotate()
        self.state = replace(self.state, outbox=self._actions.end())


def _rest(journal: Journal, cursor: Cursor) -> Iterator[JournalEntry]:
    """Yield all that stands behind a cursor."""
    while True:
        batch = journal.read(cursor)
        yield from batch.entries
        if batch.cursor == cursor:
            return
        cursor = batch.cursor


def _behind(position: Position, line: bytes, before: Cursor) -> Cursor:
    """Return the cursor behind a line of our own journal; `before` is how far it was read before that line."""
    return _cursor(Position(position.segment, position.offset + len(line) + 1), before)


def _cursor(position: Position, before: Cursor) -> Cursor:
    return Cursor(*position, before.late if before.segment == position.segment else before.offset)
