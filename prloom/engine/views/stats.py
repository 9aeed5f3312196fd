"""Read what `prloom stats` adds up: the decisions of all plans, and the runs of agents."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from prloom.core.reports import stats
from prloom.core.reports.stats import Stats, TimedDecision
from prloom.engine.bus import plans
from prloom.engine.views import repository_log, snapshot
from prloom.engine.views.snapshot import REPOSITORY
from prloom.errors import PrloomError
from prloom.storage import paths, run_log
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader

_ROOM: Final = 1 << 18
"""Bytes of a plan's decision log that are read at first, and more where they do not go back far enough."""


def read(repository: RepositoryPaths, since: datetime | None, *, own: bool = False) -> Stats:
    """Return the sums of what began or ended since a time, or ever; a plan that cannot be read counts for nothing.

    prloom's own notices count only with `own`.
    """
    made = [each for plan in (*plans.ids(repository), REPOSITORY) for each in _decisions(repository, plan, since)]
    if not own:
        made = stats.without_own_notices(made)
    return stats.of(made, run_log.newest_first(repository.root, since), since)


def _decisions(repository: RepositoryPaths, plan: str, since: datetime | None) -> Iterator[TimedDecision]:
    try:
        bus = snapshot.open_bus(repository, plan)
    except PrloomError:
        return
    if bus is None:
        return
    with bus:
        for each in repository_log.back_to(JournalReader(bus, paths.DECISIONS), since, None, _ROOM):
            yield TimedDecision(plan, each.made_at, each.decision)
