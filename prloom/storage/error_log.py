"""Keep a record of each error that is over, by the day (UTC) on which it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.model.past_error import PastError
from prloom.storage import paths
from prloom.storage.day_log import DayLog

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from prloom.model.record import Cursor

_LOG = DayLog(paths.ERROR_LOG, "error", PastError)


def append(root: Path, error: PastError) -> None:
    """Append an error to the file of the day on which it ended; raises StorageError.

    An error may come twice, if prloom was killed meanwhile: the last one counts.
    """
    _LOG.append(root, error, error.until, error.until)


def newest_first(root: Path, since: datetime | None) -> Iterator[PastError]:
    """Yield the errors that ended since a time, or ever; a day is read only when those after it were not enough."""
    for day in _LOG.newest_days(root, since):
        found = {(error.source, error.name, error.since): error for error in _LOG.of_day(root, day)}
        for error in reversed(found.values()):
            if since is None or error.until >= since:
                yield error


def ends(root: Path) -> dict[str, Cursor]:
    """Return how far the files of the last two days reach, by day; `added` continues there."""
    return _LOG.ends(root)


def added(root: Path, known: Mapping[str, Cursor]) -> tuple[list[PastError], dict[str, Cursor]]:
    """Return the errors that were appended to the files of the last two days since they were read, and how far now."""
    return _LOG.added(root, known)
