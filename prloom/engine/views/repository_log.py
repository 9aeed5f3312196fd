"""Read what happens in a repository, of all plans in the order of time: decisions, runs that ended, and errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from prloom.core.reports import decision_line, run_line
from prloom.engine.bus import entries, plans
from prloom.engine.bus.entries import LoggedDecision
from prloom.engine.views import snapshot
from prloom.engine.views.log_entry import LogEntry
from prloom.engine.views.logged_errors import LoggedErrors
from prloom.engine.views.snapshot import REPOSITORY
from prloom.errors import PrloomError
from prloom.model.record import Cursor
from prloom.model.run import RunRecord
from prloom.storage import paths, run_log
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir

_ROOM = 1 << 18
"""Bytes of a plan's decision log that are read at first; four times as many when they do not go back far enough."""

_OVERLAP = timedelta(days=2)
"""How long a run may take whose end is noticed: runs are in the file of the day on which they began."""


class RepositoryLog:
    """The log of all plans, or of one: first what happened lately, then what is new since the last look.

    A look costs a few calls for each plan, and reads only what was added. At first, `room` bytes of each plan's log are
    read, and more where those do not go back far enough.
    """

    def __init__(self, where: RepositoryPaths, plan: str | None = None, *, room: int = _ROOM) -> None:
        self._where = where
        self._plan = plan
        self._room = room
        self._decided: dict[str, Cursor] = {}
        self._ended: dict[str, Cursor] = {}
        self._errors = LoggedErrors(where, plan, self._plans)

    def recent(self, now: datetime, *, since: datetime | None, limit: int | None) -> tuple[LogEntry, ...]:
        """Return what happened since a time, or ever, but no more than the newest `limit`; `new` continues there."""
        found = [entry for plan in self._plans() for entry in self._latest(plan, since, limit)]
        found += [_of_run(run) for run in self._runs(since, limit)]
        found += self._errors.past(since, limit)
        found += self._errors.new(now)
        self._ended = run_log.ends(self._where.root)
        ordered = sorted((each for each in found if since is None or each.ts >= since), key=lambda each: each.ts)
        return tuple(_newest(ordered, limit))

    def new(self, now: datetime) -> tuple[LogEntry, ...]:
        """Return what has happened since the last call."""
        found = [entry for plan in self._plans() for entry in self._added(plan)]
        runs, self._ended = run_log.added(self._where.root, self._ended)
        found += [_of_run(run) for run in runs if self._plan in {None, run.plan}]
        found += self._errors.ended()
        return (*sorted(found, key=lambda each: each.ts), *self._errors.new(now))

    def _plans(self) -> Sequence[str]:
        if self._plan is not None:
            return (self._plan,)
        return (*plans.ids(self._where), REPOSITORY)

    def _runs(self, since: datetime | None, limit: int | None) -> Iterator[RunRecord]:
        """Yield runs that ended: those that may have ended since a time, or at least the newest `limit` of them."""
        count = 0
        for run in run_log.newest_first(self._where.root, since and since - _OVERLAP):
            if self._plan in {None, run.plan}:
                yield run
                count += 1
            if limit is not None and count >= limit:
                return

    def _latest(self, plan: str, since: datetime | None, limit: int | None) -> Sequence[LogEntry]:
        bus = self._bus(plan)
        if bus is None:
            return ()
        with bus:
            journal = JournalReader(bus, paths.DECISIONS)
            self._decided[plan] = journal.end()
            return _newest([_of_decision(plan, each) for each in back_to(journal, since, limit, self._room)], limit)

    def _added(self, plan: str) -> Iterator[LogEntry]:
        bus = self._bus(plan)
        if bus is None:
            return
        with bus:
            journal, cursor = JournalReader(bus, paths.DECISIONS), self._decided.get(plan, Cursor())
            while True:
                batch = journal.read(cursor)
                yield from (_of_decision(plan, each) for each in entries.logged_decisions(batch.entries))
                if batch.cursor == cursor:
                    break
                cursor = batch.cursor
            self._decided[plan] = cursor

    def _bus(self, plan: str) -> SafeDir | None:
        try:
            return snapshot.open_bus(self._where, plan)
        except PrloomError:
            return None  # `LoggedErrors` tells of it


def back_to(journal: JournalReader, since: datetime | None, limit: int | None, room: int) -> list[LoggedDecision]:
    """Return the last decisions: those since a time, or at least `limit` where there are as many."""
    closed = [journal.size(number) or 0 for number in journal.segments()[:-1]]
    size = journal.end().offset + sum(closed)
    while True:
        found = list(entries.logged_decisions(journal.tail(room)))
        enough = limit is not None and len(found) >= limit
        if since is not None:
            enough = enough or (bool(found) and found[0].made_at < since)
        if enough or room >= size:
            return found
        room *= 4


def _newest(found: Sequence[LogEntry], limit: int | None) -> Sequence[LogEntry]:
    if limit is None:
        return found
    return found[-limit:]


def _of_decision(plan: str, made: LoggedDecision) -> LogEntry:
    decision = made.decision
    text = decision_line.line(plan, decision)
    return LogEntry(
        ts=made.made_at, plan=plan, kind="decision", text=text, seq=decision.seq, stage=decision.stage, by=decision.by
    )


def _of_run(run: RunRecord) -> LogEntry:
    return LogEntry(ts=run.ended_at or run.started_at, plan=run.plan, kind="run", text=run_line.line(run), run=run)
