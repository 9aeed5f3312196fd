"""Read what happens in a plan beside its runs, from its activity file: what plugins do, and changes of its TODOs."""

from __future__ import annotations

import itertools
from datetime import datetime
from typing import Final

from prloom.model import record
from prloom.storage import activity_file, paths
from prloom.storage.activity_file import StoredActivity
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

_MOST: Final = 1000  # events of one look


class PlanActivity:
    """The events of a plan that belong to no run, from a time on, or from the beginning of what is kept of them."""

    def __init__(self, where: RepositoryPaths, plan_id: str, since: datetime | None = None) -> None:
        self._worktree = where.worktree(plan_id)
        self._since = 0
        if since is not None:
            self._since = record.unix_ms(since)
        self._seen = 0

    def new(self) -> tuple[StoredActivity, ...]:
        """Return what has happened since the last call, but no more than the latest thousand events."""
        local = SafeDir.open(self._worktree, *paths.LOCAL)
        if local is None:
            return ()
        with local:
            latest = activity_file.latest(local, _MOST)
            found = tuple(itertools.takewhile(self._is_new, latest))[::-1]
        if found:
            self._seen = found[-1].event.seq
        return found

    def _is_new(self, stored: StoredActivity) -> bool:
        return stored.event.seq > self._seen and stored.event.timestamp >= self._since
