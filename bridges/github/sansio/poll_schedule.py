"""Choose which pull request is looked at next, and for what, where nothing points to any.

The longer nothing has happened on one, the seldomer it is looked at, by the square root of that time: sixteen times as
quiet is a quarter as often. So the lively ones come often, and none of the others waits much longer than in a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import sqrt
from typing import NamedTuple

from . import checks, json_access
from .cursor import GithubCursor, SeenPullRequest

KINDS = ("checks", "status", "merge")

_LIVELY = timedelta(minutes=30)
_QUIET = timedelta(days=14)
"""Below the one and above the other, how quiet it is makes no difference."""
_MERGE = 2.0
"""How much less often it is looked at for conflicts, of which pushes tell, and for deleted comments."""
_UNUSED = 3.0
"""How much less often for what no pull request of the repository ever had."""


class ScheduledPoll(NamedTuple):
    """What is looked at."""

    number: int
    kind: str


def choose(known: GithubCursor, kinds: Sequence[str], now: datetime) -> ScheduledPoll | None:
    """Return the look that is most overdue: by the turns since the last one, and by how quiet it has been there."""
    rarity = [(kind, _rarity(known, kind)) for kind in kinds]
    best, chosen = -1.0, None
    for number, seen in known.pull_requests.items():
        if seen.state == "open":
            quiet = sqrt(_quiet(seen, now) / _LIVELY)
            for kind, rare in rarity:
                overdue = (known.turn - seen.looked.get(kind, 0)) / (quiet * rare)
                if overdue > best and not _looked_at_anyway(known, number, kind, now):
                    best, chosen = overdue, ScheduledPoll(number, kind)
    return chosen


def _quiet(seen: SeenPullRequest, now: datetime) -> timedelta:
    """Return for how long nothing has happened, within bounds."""
    times = [time for text in (seen.updated, seen.checks.moved) if (time := json_access.time(text)) is not None]
    if times:
        return min(max(now - max(times), _LIVELY), _QUIET)
    return _QUIET


def _rarity(known: GithubCursor, kind: str) -> float:
    if kind == "merge":
        return _MERGE
    if kind in known.used:
        return 1.0
    return _UNUSED


def _looked_at_anyway(known: GithubCursor, number: int, kind: str, now: datetime) -> bool:
    if kind == "merge":
        return number in known.merges_due
    return number in known.checks_due or kind in checks.hot(known.pull_requests[number].checks, now)
