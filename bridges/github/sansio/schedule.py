"""Choose which pull request is due for a read, where nothing points to a change.

The longer nothing has happened on a pull request, the less often it is read, by the square root of that time: sixteen
times as quiet is a quarter as often. So the active ones are read often, and none of the others waits much longer than
in a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import sqrt
from typing import NamedTuple

from . import answers
from .cursor import ACTIVE, CHECK_KINDS, GithubCursor, PullRequestState

KINDS = (*CHECK_KINDS, "merge")

_QUIETEST = timedelta(days=14)
_MERGE_RARITY = 2.0
"""How much less often a pull request is read for conflicts, which pushes show, and for deleted comments."""
_UNUSED_RARITY = 3.0
"""How much less often for what no pull request of the repository ever had."""


class ScheduledRead(NamedTuple):
    """A pull request, and what it is read for."""

    number: int
    kind: str


def next_read(cursor: GithubCursor, kinds: Sequence[str], now: datetime) -> ScheduledRead | None:
    """Return the read that is most overdue: by the polls since the last one, and by how quiet the pull request is."""
    rarities = [(kind, _rarity(cursor, kind)) for kind in kinds]
    most, chosen = -1.0, None
    for number, state in cursor.open_pull_requests.items():
        interval = sqrt(_quiet_time(state, now) / ACTIVE)
        for kind, rarity in rarities:
            overdue = (cursor.poll_number - state.last_read.get(kind, 0)) / (interval * rarity)
            if overdue > most and not _is_due_anyway(cursor, number, kind, now):
                most, chosen = overdue, ScheduledRead(number, kind)
    return chosen


def _quiet_time(state: PullRequestState, now: datetime) -> timedelta:
    """Return for how long nothing has happened, within bounds."""
    changes = (answers.time(state.updated), answers.time(state.checks.changed_at))
    times = [time for time in changes if time is not None]
    if not times:
        return _QUIETEST
    return min(max(now - max(times), ACTIVE), _QUIETEST)


def _rarity(cursor: GithubCursor, kind: str) -> float:
    if kind == "merge":
        return _MERGE_RARITY
    if kind in cursor.used:
        return 1.0
    return _UNUSED_RARITY


def _is_due_anyway(cursor: GithubCursor, number: int, kind: str, now: datetime) -> bool:
    if kind == "merge":
        return number in cursor.mergeability_due
    return number in cursor.checks_due or kind in cursor.pull_requests[number].checks.active_kinds(now)
