"""Keep a record of each error that is over, by the day (UTC) on which it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.model.past_error import PastError
from prloom.storage import paths
from prloom.storage.day_log import DayLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path


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


ends, added = _LOG.ends, _LOG.added
