"""Replay the decision log over a saved state, for the store that opens a bus and for every view that reads one.

Because it is one function for all of them, what `status`, `events` and `why` show is what the dispatcher works with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from prloom.core import projection
from prloom.engine.bus import entries
from prloom.errors import StorageError
from prloom.model.decision import Decision
from prloom.model.record import Cursor, Position, Timestamp
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir


class OutboxEntry(NamedTuple):
    """Where the actions of a decision are in `actions.jsonl`, by their ids, and where that journal ends."""

    positions: Mapping[str, Position]
    end: Cursor


Queue = Callable[[DispatchState, Decision, Timestamp], OutboxEntry]
"""Returns where a decision's actions are in the outbox, given the state before it and when it was made."""


class Replayed(NamedTuple):
    """The state after all decisions of the log.

    `last` is the newest decision that the saved state lacked: a crash may have cut its effects short. `replaced` says
    that the log is not the one from which the state was saved, `skipped` how many of its lines cannot be read.
    """

    state: DispatchState
    last: Decision | None = None
    replaced: bool = False
    skipped: int = 0


class _AnyPosition(dict[str, Position]):
    """Positions for actions that the dispatcher has yet to append to the outbox: a view needs none."""

    def __missing__(self, action_id: str) -> Position:
        return Position(0, 0)


def without_outbox(state: DispatchState, _decision: Decision, _at: Timestamp) -> OutboxEntry:
    """Return positions that no reader uses: a view appends nothing."""
    return OutboxEntry(_AnyPosition(), state.outbox)


def replay(log: JournalReader, saved: DispatchState | None, queue: Queue = without_outbox) -> Replayed:
    """Return the state after all decisions of the log; without a saved one it is rebuilt from the log alone.

    Raises StorageError for a decision that a newer prloom wrote, and for one that contradicts the state.
    """
    if saved is None:
        state = DispatchState(log=_rebuild_from(log))
        replaced = False
    else:
        state = saved
        replaced = not log.is_unchanged(state.log)
    if replaced:  # the decisions made before remain valid; those that the file contains come again
        start = Cursor(log.segments()[0])
    else:
        start = state.log
    last = None
    skipped = 0
    for entry in log.after(start):
        decision, made_at = _decision(log, entry.line), entries.written_at(entry.line)
        if decision is None or made_at is None:
            skipped += 1
            continue
        if replaced and decision.seq <= state.seq:
            continue
        end = behind(entry.position, entry.line, state.log)
        state = _fold(log, state, decision, at=Timestamp.of(made_at), end=end, queue=queue)
        last = decision
    return Replayed(state, last, replaced, skipped)


def current(bus: SafeDir, saved: DispatchState | None) -> DispatchState:
    """Return the state of a bus after all its decisions, in memory only."""
    return replay(JournalReader(bus, paths.DECISIONS), saved).state


def untaken(bus: SafeDir, state: DispatchState) -> frozenset[str]:
    """Return the ids of the events that were appended and that the dispatcher has not read yet; they are pending."""
    lines = JournalReader(bus, paths.EVENTS).after(state.cursor)
    found = (entries.event(entry.line) for entry in lines)
    return frozenset(event.id for event in found if event is not None) - state.open.keys()


def taken_in(bus: SafeDir) -> Iterator[tuple[str, Position]]:
    """Yield every event that a bus's log says was taken in, with the position of its line."""
    for entry in JournalReader(bus, paths.DECISIONS).containing(b'"intake":'):
        decision = entries.decision(entry.line)
        for change in () if decision is None else decision.changes:
            if change.intake is not None:
                yield change.event_id, change.intake.position


def behind(position: Position, line: bytes, before: Cursor) -> Cursor:
    """Return the cursor behind a line of our own journal; `before` is how far it was read before that line."""
    return cursor_at(Position(position.segment, position.offset + len(line) + 1), before)


def cursor_at(position: Position, before: Cursor) -> Cursor:
    """Return the cursor of a reader that came from `before` to a position of the same or the next segment."""
    if before.segment == position.segment:
        return Cursor(*position, before.late)
    return Cursor(*position, before.offset)


def _rebuild_from(log: JournalReader) -> Cursor:
    """Return where a rebuild begins: at the newest segment, which begins with the whole state.

    Where that line cannot be read, the rebuild takes all segments.
    """
    segments = log.segments()
    first = entries.decision(log.read_at(Position(segments[-1], 0)))
    if first is None or first.snapshot is None:
        return Cursor(segments[0])
    return Cursor(segments[-1], 0, log.end().late)


def _decision(log: JournalReader, line: bytes) -> Decision | None:
    newer = entries.newer(line)
    if newer is not None:
        raise StorageError(f"{log.path} contains a decision that cannot be read: {newer}")
    return entries.decision(line)


def _fold(
    log: JournalReader, state: DispatchState, decision: Decision, *, at: Timestamp, end: Cursor, queue: Queue
) -> DispatchState:
    outbox = queue(state, decision, at)
    try:
        return projection.fold(state, decision, at=at, end=end, outbox=outbox.positions, tail=outbox.end)
    except (msgspec.ValidationError, LookupError) as error:
        reason = f"decision {decision.seq} of {log.path} cannot be applied: {error}"
        raise StorageError(f"{reason}; see `prloom doctor`") from error
