"""Commit decisions to a bus: append each to the log, and bring every other file up to it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Protocol, Unpack

import msgspec
from msgspec.structs import replace

from prloom.core.delivery import audience
from prloom.core.delivery.audience import Audience, PostingRules
from prloom.core.events import projection
from prloom.core.reports import decision_line
from prloom.core.text import bounds
from prloom.core.waits import wake
from prloom.core.waits.wake import Arrival
from prloom.core.work import brake_notices
from prloom.engine.bus import entries, replay
from prloom.engine.bus.entries import EventCache
from prloom.engine.bus.replay import OutboxEntry
from prloom.engine.bus.segment_ends import SegmentEnds
from prloom.errors import StorageError
from prloom.model import record
from prloom.model.action import Action
from prloom.model.decision import Decision, DecisionParts
from prloom.model.event import Target
from prloom.model.kinds import DecisionStage
from prloom.model.record import Cursor, Position, Timestamp
from prloom.model.state import DispatchState
from prloom.storage import envelope, lines, paths, repair
from prloom.storage.document import LABEL, Document
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)
decisions_log = logging.getLogger(decision_line.LOG)

Clock = Callable[[], datetime]

ROTATE_AT = 32 * 1024 * 1024
"""Bytes at which a journal's live file is closed and a new one begun: the longer it is, the longer a restore takes."""

_ARRIVALS = 1000
"""Events that came in last, which a hook that runs may have missed."""


class TooLongError(StorageError):
    """A decision does not fit into a line of the log; nothing of it took effect."""


class Effect(Protocol):
    """A file that is brought up to the decision log; `apply` may be called again with a decision it has had."""

    def apply(self, decision: Decision, state: DispatchState, /) -> None:
        """Bring the file up to a decision, after which the log amounts to this state."""


class EventStore:
    """The journals of one bus and the state they amount to.

    `commit` is the only way to change anything: the append of one decision is the commit point, and all other files
    follow from it. What a crash leaves undone is done by the next `open`. After an error the store writes nothing any
    more, for it does not know what took effect: open a new one, which reads that.
    """

    def __init__(
        self, bus: SafeDir, clock: Clock, effects: Sequence[Effect] = (), *, rotate_at: int = ROTATE_AT
    ) -> None:
        self.clock = clock
        self.plan_id = ""  # which plan the log names
        self.audience: Callable[[Action], Audience] = _trusted
        self.posting = PostingRules()
        self.conversation: Callable[[], Target] | None = None  # returns where the plan's brakes are reported
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
        self.arrivals: deque[tuple[int, Arrival]] = deque(maxlen=_ARRIVALS)
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
        event_store._catch_up()
        event_store.save()
        return event_store

    def commit(self, stage: DecisionStage, by: str, **parts: Unpack[DecisionParts]) -> Decision:
        """Append one decision to the log and apply all its effects; `parts` says what is to change."""
        if self._closed is not None:
            raise StorageError(f"{self._decisions.path} cannot be written any more: {self._closed}")
        self._notify(parts)
        audience.apply(parts, self.audience, self.posting)
        arrived = self._wake(parts)
        decision = bounds.decision(Decision(seq=self.state.seq + 1, stage=stage, by=by, **parts))
        now = Timestamp.of(self.clock())
        line = envelope.encode(entries.NAMES[Decision], record.sparse(decision), str(now))
        if len(line) > lines.LINE_LIMIT:
            raise TooLongError(f"a decision of {len(line)} bytes is over the limit of {lines.LINE_LIMIT}")
        try:
            position = self._decisions.append([line])
            self._take_effect(decision, now, replay.behind(position, line, self.state.log))
        except BaseException as error:
            self.close(f"{type(error).__name__}: {error}")
            raise
        self.arrivals.extend((decision.seq, each) for each in arrived)
        decisions_log.info("%s", decision_line.PlanDecision(self.plan_id, decision))
        return decision

    def _notify(self, parts: DecisionParts) -> None:
        """Report a brake that stops the work in the plan's own conversation, together with the stop."""
        if self.conversation is None or ("work" not in parts and "block" not in parts):
            return
        notice = brake_notices.notice(parts, self.plan_id, seq=self.state.seq + 1, target=self.conversation())
        if notice is not None:
            parts["actions"] = (*parts.get("actions", ()), notice)

    def _wake(self, parts: DecisionParts) -> tuple[Arrival, ...]:
        """End the waits of deferred events for what comes in by a decision, together with that; return what came."""
        changes = parts.get("changes", ())
        arrived = wake.arrivals(changes, self.state.open, self.texts.find)
        woken = wake.by_arrivals(self.state.open, arrived)
        if woken:
            parts["changes"] = (*changes, *woken)
        return arrived

    def close(self, reason: str) -> None:
        """Stop writing; a later `commit` raises an error with the first reason."""
        self._closed = self._closed or reason
        # What leads back to this store would keep its files open until Python looks for such circles.
        self._effects, self.audience, self.conversation = (), _trusted, None

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
        """Return the action whose line is at a position, or None."""
        return entries.action(self._actions.read_at(position))

    def issued(self, action_id: str) -> bool:
        """Whether an action of this id was ever queued here."""
        return action_id in self.state.queue or self._actions.find(f'"{action_id}"'.encode())

    def _take_effect(self, decision: Decision, at: Timestamp, end: Cursor) -> None:
        positions, outbox_end = self._queue({}, self.state, decision, at)
        self.state = projection.fold(self.state, decision, at=at, end=end, outbox=positions, tail=outbox_end)
        self.texts.drop_done(decision.changes, self.state)
        self._bring_up(decision)

    def _bring_up(self, decision: Decision) -> None:
        """Bring every file up to the decision, also where another one fails: each knows its own place in the log."""
        failures = []
        for effect in self._effects:
            try:
                effect.apply(decision, self.state)
            except StorageError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def _queue(
        self, appended: Mapping[str, Position], state: DispatchState, decision: Decision, at: Timestamp
    ) -> OutboxEntry:
        """Append the decision's actions to the outbox, except those that a crash left there already."""
        missing = [action for action in decision.actions if action.id not in appended]
        positions = dict(appended)
        if not missing:
            return OutboxEntry(positions, state.outbox)
        lines = [envelope.encode(entries.NAMES[Action], record.sparse(action), str(at)) for action in missing]
        segment, offset = self._actions.append(lines)
        for action, line in zip(missing, lines, strict=True):
            positions[action.id] = Position(segment, offset)
            offset += len(line) + 1
        return OutboxEntry(positions, replay.cursor_at(Position(segment, offset), state.outbox))

    def _load(self) -> DispatchState | None:
        """Return the projection as it was saved; None if it is missing or damaged: the log has everything."""
        loaded = self._document.load()
        if loaded.value is None:
            return None
        try:
            return record.from_wire(DispatchState, loaded.value)
        except msgspec.ValidationError:
            repair.quarantine(self._document.folder, paths.DISPATCHER, LABEL)
            return None

    def _catch_up(self) -> None:
        """Fold the decisions that the saved projection lacks, and apply the effects of the last one.

        One decision after another takes effect, and none is made before the last one has: so a crash can have cut only
        the last one short. The effects of those before it are not repeated, for people may have changed the files
        since.
        """
        saved = self._load()
        if saved is not None:
            self.state = self._saved = saved
        appended = self._appended_actions(self.state.outbox)
        replayed = replay.replay(self._decisions, saved, partial(self._queue, appended))
        if replayed.skipped:
            log.warning("%s has a line that cannot be read; `prloom doctor` names it", self._decisions.path)
        self.state = replayed.state
        if replayed.last is not None:
            self._bring_up(replayed.last)
        self.state = replace(self.state, outbox=self._actions.end())
        if replayed.replaced:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Keep what is known beside a log that was cut or replaced: in a snapshot, with which a new segment begins."""
        log.warning("%s was cut or replaced; earlier decisions remain valid", self._decisions.path)
        self.state = replace(self.state, log=self._decisions.end())
        self._rotate_decisions()

    def _appended_actions(self, since: Cursor) -> dict[str, Position]:
        """Return the actions that a crash left in the outbox without the projection knowing, and their positions."""
        found = ((entries.action(entry.line), entry.position) for entry in self._actions.after(since))
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
        """Rotate a journal; where the file system refuses that, try again when the file has grown as much again."""
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
        line = envelope.encode(entries.NAMES[Decision], record.to_wire(snapshot), record.iso(self.clock()))
        position = self._decisions.rotate([line])
        self._floor["decisions"] = len(line)  # a segment is not long because the state is
        self.state = replace(self.state, seq=snapshot.seq, log=replay.behind(position, line, self.state.log))
        self._document.save(record.to_wire(self.state))
        self._saved = self.state

    def _rotate_actions(self) -> None:
        self._actions.rotate()
        self.state = replace(self.state, outbox=self._actions.end())


def _trusted(action: Action) -> Audience:
    """Return the audience of an action where nothing is known of it: the operator's own."""
    return "trusted"
