"""Say what was done in the last hour, what the runs of the last day cost, and which plugins are slow."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

import click

from prloom.cli import costs as spending
from prloom.cli import log
from prloom.cli import stats as statistics
from prloom.core.reports import costs
from prloom.engine.runs import listing
from prloom.engine.views import stats
from prloom.engine.views.repository_log import RepositoryLog
from prloom.storage.paths import RepositoryPaths

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_ENTRIES: Final = 12


def text(where: RepositoryPaths, now: datetime) -> str:
    """Return the report, without colours and safe for a terminal."""
    return "\n".join(click.unstyle(line) for line in _lines(where, now))


def _lines(where: RepositoryPaths, now: datetime) -> Iterator[str]:
    yield "The last hour"
    entries = RepositoryLog(where).recent(now, since=now - _HOUR, limit=None)
    yield from map(log.line, entries[-_ENTRIES:])
    if len(entries) > _ENTRIES:
        yield f"and {len(entries) - _ENTRIES} more before: `prloom log --since 1h`"
    elif not entries:
        yield "Nothing was done."
    yield from ("", "The last 24 hours")
    yield from statistics.lines(stats.read(where, now - _DAY))
    spent = listing.spent(where, now, since=now - _DAY)
    if spent:
        stages = costs.groups(spent, costs.KEYS["stage"])
        sums = [costs.total(members, stage) for stage, members in sorted(stages.items())]
        yield from ("", *spending.cost_lines("STAGE", [*sums, costs.total(spent, "all")]))
