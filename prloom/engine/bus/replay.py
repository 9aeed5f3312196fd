"""Replay the decision log over a saved state, for the store that opens a bus and for every view that reads one.

Because it is one function for all of them, what `status`, `events` and `why` show is what the dispatcher works with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from prloom.core.events import projection
from prloom.engine.bus import entries
from prloom.engine.bus.entries import LoggedDecision
from prloom.errors import StorageError
from prloom.model.decision import Change, Decision
from prloom.model.kinds import DONE
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


class ReplayStep(NamedTuple):
    """One decision of the log; of its changes those are `effective` whose event had not ended before.

    `recalled` is the whole state where the decision is a snapshot.
    """

    made_at: Timestamp
    decision: Decision
    effective: tuple[Change, ...] = ()
    recalled: DispatchState | None = None


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
        logged = _logged(log, entry.line)
        if logged is None:
            skipped += 1
            continue
        if replaced and logged.decision.seq <= state.seq:
            continue
        end = behind(entry.position, entry.line, state.log)
        state = _fold(log, state, logged, end=end, queue=queue)
        last = logged.decision
    return Replayed(state, last, replaced, skipped)


def any_line(_line: bytes) -> bool:
    """Want every line."""
    return True


def steps(log: JournalReader, is_wanted: Callable[[bytes], bool] = any_line) -> Iterator[ReplayStep]:
    """Yield the decisions of all segments that are left, with what took effect of each: the history of the events.

    A view that follows one event wants only the lines that mention it; of the others, nothing is parsed. Raises
    StorageError where `replay` does.
    """
    opened: set[str] = set()
    for entry in log.scan():
        if not is_wanted(entry.line):
            continue
        logged = _logged(log, entry.line)
        if logged is None:
            continue
        decision = logged.decision
        try:
            recalled = projection.snapshot_state(decision)
        except (msgspec.ValidationError, LookupError) as error:
            raise _not_applicable(log, decision, error) from error
        if recalled is not None:
            opened = set(recalled.open)
        effective = []
        for change in decision.changes:
            if projection.takes_effect(change, opened):
                effective.append(change)
                opened.add(change.event_id)
            if change.state in DONE:
                opened.discard(change.event_id)
        yield ReplayStep(logged.made_at, decision, tuple(effective), recalled)


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


def _logged(log: JournalReader, line: bytes) -> LoggedDecision | None:
    found = entries.logged(line)
    if isinstance(found, LoggedDecision):
        return found
    if found.newer:
        raise StorageError(f"{log.path} contains a decision that cannot be read: {found.reason}")
    return None


def _fold(
    log: JournalReader, state: DispatchState, logged: LoggedDecision, *, end: Cursor, queue: Queue
) -> DispatchState:
    at, decision = logged
    outbox = queue(state, decision, at)
    try:
        return projection.fold(state, decision, at=at, end=end, outbox=outbox.positions, tail=outbox.end)
    except (msgspec.ValidationError, LookupError) as error:
        raise _not_applicable(log, decision, error) from error


def _not_applicable(log: JournalReader, decision: Decision, error: Exception) -> StorageError:
    return StorageError(f"decision {decision.seq} of {log.path} cannot be applied: {error}; see `prloom doctor`")
