"""Read what happens in a repository, of all plans in the order of time: decisions, runs that ended, and errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from msgspec import UNSET, UnsetType

from prloom.core.reports import decision_line, run_line
from prloom.engine.bus import entries, plans
from prloom.engine.bus.entries import LoggedDecision
from prloom.engine.views import runtime_status, snapshot
from prloom.engine.views.snapshot import REPOSITORY
from prloom.engine.views.status_schema import BridgeStatus, PluginStatus
from prloom.errors import PrloomError
from prloom.model.record import Cursor, Record, Timestamp
from prloom.model.run import RunRecord
from prloom.storage import paths, run_log
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir

_ROOM = 1 << 18
"""Bytes of a plan's decision log that are read at first; four times as many when they do not go back far enough."""

_OVERLAP = timedelta(days=2)
"""How long a run may take whose end is noticed: runs are in the file of the day on which they began."""


class LogEntry(Record, frozen=True, kw_only=True):
    """One thing that happened, in words. `seq`, `stage` and `by` are those of a decision; `run` is a run that ended.

    `plan` is "" for what concerns the repository as a whole. What was an `error` and is none any more has `recovered`.
    """

    ts: Timestamp
    plan: str
    kind: Literal["decision", "run", "error", "recovered"]
    text: str
    seq: int | UnsetType = UNSET
    stage: str | UnsetType = UNSET
    by: str | UnsetType = UNSET
    run: RunRecord | UnsetType = UNSET


class CurrentError(NamedTuple):
    """Something that is wrong now: what it is about, in words, and whether that is a bridge or a plugin."""

    about: str
    plan: str
    text: str
    of_extension: bool = False


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
        self._errors: dict[str, CurrentError] = {}

    def recent(self, now: datetime, *, since: datetime | None, limit: int | None) -> tuple[LogEntry, ...]:
        """Return what happened since a time, or ever, but no more than the newest `limit`; `new` continues there."""
        found = [entry for plan in self._plans() for entry in self._latest(plan, since, limit)]
        found += [_of_run(run) for run in self._runs(since, limit)]
        self._ended = run_log.ends(self._where.root)
        ordered = sorted((each for each in found if since is None or each.ts >= since), key=lambda each: each.ts)
        return (*_newest(ordered, limit), *self._new_errors(now))

    def new(self, now: datetime) -> tuple[LogEntry, ...]:
        """Return what has happened since the last call."""
        found = [entry for plan in self._plans() for entry in self._added(plan)]
        runs, self._ended = run_log.added(self._where.root, self._ended)
        found += [_of_run(run) for run in runs if self._plan in {None, run.plan}]
        return (*sorted(found, key=lambda each: each.ts), *self._new_errors(now))

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
            return None  # `_new_errors` tells of it

    def _new_errors(self, now: datetime) -> Iterator[LogEntry]:
        """Yield the errors that are there now and were not at the last look, and what works again since then.

        A source that fails is told once, whatever the text of each failure is: that may name a time.
        """
        found = {each.about: each for each in self._current_errors()}
        for about, each in found.items():
            before = self._errors.get(about)
            if before is None or (each.text != before.text and not each.of_extension):
                yield LogEntry(ts=Timestamp.of(now), plan=each.plan, kind="error", text=f"{about}: {each.text}")
        for about, each in self._errors.items():
            if about not in found and each.of_extension:
                yield LogEntry(ts=Timestamp.of(now), plan=each.plan, kind="recovered", text=f"{about}: works again")
        self._errors = found

    def _current_errors(self) -> Iterator[CurrentError]:
        local = SafeDir.open(self._where.root, *paths.LOCAL)
        if local is None:
            return
        with local:
            trouble = runtime_status.dispatcher(local).trouble
            if trouble:
                yield CurrentError(_about(REPOSITORY), REPOSITORY, trouble)
            unopened = runtime_status.unopened(local, ())
            yield from (CurrentError(_about(plan), plan, unopened[plan]) for plan in self._plans() if plan in unopened)
            if self._plan is None:
                yield from _of_extensions(local)


def _of_extensions(local: SafeDir) -> Iterator[CurrentError]:
    """Yield the bridges and plugins that do not work, as a dispatcher last reported them."""
    for bridge in runtime_status.of(local, paths.BRIDGES, "bridges", BridgeStatus):
        if bridge.error is not None:
            yield CurrentError(f"bridge {bridge.name}", REPOSITORY, bridge.error, of_extension=True)
    for plugin in runtime_status.of(local, paths.PLUGINS, "plugins", PluginStatus):
        if plugin.error is not None:
            yield CurrentError(f"plugin {plugin.name}", REPOSITORY, plugin.error, of_extension=True)


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


def _about(plan: str) -> str:
    if not plan:
        return "repository"
    return f"plan {plan}"
