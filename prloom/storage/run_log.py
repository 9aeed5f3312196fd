"""Keep a record of each agent run that has ended, in one file for each day, also when its worktree is gone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from prloom.model import record
from prloom.model.record import Cursor
from prloom.model.run import RunRecord
from prloom.storage import envelope, paths
from prloom.storage.envelope import Envelope
from prloom.storage.journal import Journal
from prloom.storage.reader import JournalEntry, JournalReader
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

KIND = "run"
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})\.jsonl")


def append(root: Path, run: RunRecord, now: datetime) -> None:
    """Append a run to the file of the day (UTC) that it started on. A run may come twice: the last one counts."""
    with SafeDir.make(root, *paths.LOCAL, paths.RUN_LOG) as folder:
        journal = Journal(folder, f"{_day(run.started_at)}.jsonl")
        journal.append([envelope.encode(KIND, record.sparse(run), record.iso(now))])


def days(root: Path) -> tuple[str, ...]:
    """Return the days of which there is a file, such as `2026-11-21`, in their order."""
    folder = SafeDir.open(root, *paths.LOCAL, paths.RUN_LOG)
    if folder is None:
        return ()
    with folder:
        return tuple(sorted(found[1] for name in folder.names() if (found := _DAY.fullmatch(name))))


def of_day(root: Path, day: str) -> tuple[RunRecord, ...]:
    """Return the runs that started on a day, each once, in the order of their ids. A line that is damaged is none."""
    folder = SafeDir.open(root, *paths.LOCAL, paths.RUN_LOG)
    if folder is None:
        return ()
    with folder:
        runs = {run.id: run for run in _read(JournalReader(folder, f"{day}.jsonl"))}
    return tuple(runs[run_id] for run_id in sorted(runs))


def today(root: Path, now: datetime) -> tuple[RunRecord, ...]:
    """Return the runs of this day (UTC) that have ended."""
    return of_day(root, _day(now))


def since(root: Path, moment: datetime) -> tuple[RunRecord, ...]:
    """Return the runs that started at this time or later; no older day is read."""
    wanted = [day for day in days(root) if day >= _day(moment)]
    return tuple(run for day in wanted for run in of_day(root, day) if run.started_at >= moment)


def newest_first(root: Path, since: datetime | None) -> Iterator[RunRecord]:
    """Yield the runs that started since a time, or ever; a day is read only when those after it were not enough."""
    for day in reversed(days(root)):
        if since is not None and day < _day(since):
            return
        for run in reversed(of_day(root, day)):
            if since is None or run.started_at >= since:
                yield run


def ends(root: Path) -> dict[str, Cursor]:
    """Return how far the files of the last two days reach, by day; `added` continues there."""
    return {day: journal.end() for day, journal in _latest(root)}


def added(root: Path, known: Mapping[str, Cursor]) -> tuple[list[RunRecord], dict[str, Cursor]]:
    """Return the runs that were appended to the files of the last two days since they were read, and how far now."""
    runs: list[RunRecord] = []
    reached: dict[str, Cursor] = {}
    for day, journal in _latest(root):
        batch = journal.read(known.get(day, Cursor()))
        runs += _runs(batch.entries)
        reached[day] = batch.cursor
    return runs, reached


def _latest(root: Path) -> Iterator[tuple[str, JournalReader]]:
    folder = SafeDir.open(root, *paths.LOCAL, paths.RUN_LOG)
    if folder is None:
        return
    with folder:
        for day in days(root)[-2:]:
            yield day, JournalReader(folder, f"{day}.jsonl")


def _read(journal: JournalReader) -> Iterator[RunRecord]:
    return _runs(journal.scan())


def _runs(entries: Iterable[JournalEntry]) -> Iterator[RunRecord]:
    for entry in entries:
        found = envelope.decode(entry.line)
        if isinstance(found, Envelope) and found.kind == KIND:
            try:
                yield record.from_wire(RunRecord, found.data)
            except msgspec.ValidationError:
                continue


def _day(moment: datetime) -> str:
    return record.iso(moment)[: len("2026-11-21")]
