"""Keep a record of each agent run that has ended, by the day (UTC) it began on, also when its worktree is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.model.run import RunRecord
from prloom.storage import day_log, paths
from prloom.storage.day_log import DayLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path


_LOG = DayLog(paths.RUN_LOG, "run", RunRecord)


def append(root: Path, run: RunRecord, now: datetime) -> None:
    """Append a run to the file of the day that it started on. A run may come twice: the last one counts."""
    _LOG.append(root, run, run.started_at, now)


def days(root: Path) -> tuple[str, ...]:
    """Return the days of which there is a file, such as `2026-11-21`, in their order."""
    return _LOG.days(root)


def of_day(root: Path, day: str) -> tuple[RunRecord, ...]:
    """Return the runs that started on a day, each once, in the order of their ids."""
    runs = {run.id: run for run in _LOG.of_day(root, day)}
    return tuple(runs[run_id] for run_id in sorted(runs))


def today(root: Path, now: datetime) -> tuple[RunRecord, ...]:
    """Return the runs of this day (UTC) that have ended."""
    return of_day(root, day_log.day(now))


def since(root: Path, moment: datetime) -> tuple[RunRecord, ...]:
    """Return the runs that started at this time or later; no older day is read."""
    wanted = reversed([*_LOG.newest_days(root, moment)])
    return tuple(run for day in wanted for run in of_day(root, day) if run.started_at >= moment)


def newest_first(root: Path, since: datetime | None) -> Iterator[RunRecord]:
    """Yield the runs that started since a time, or ever; a day is read only when those after it were not enough."""
    for day in _LOG.newest_days(root, since):
        for run in reversed(of_day(root, day)):
            if since is None or run.started_at >= since:
                yield run


ends, added = _LOG.ends, _LOG.added
