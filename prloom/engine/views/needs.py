"""List what waits for a person in a repository, the oldest first, each with its age and what resolves it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from prloom.engine.views import agent_needs, plan_needs, repository_needs, waiting_status
from prloom.engine.views.daemons import DaemonStatus
from prloom.engine.views.dashboard_schema import Need
from prloom.engine.views.status_schema import StatusDocument
from prloom.model.record import Timestamp

_FIRST = frozenset({"dispatcher", "config"})
"""What stops everything comes before all that is only old."""

_ERRORS = frozenset({"error", "failed", "lost", "bridge", "plugin", "dispatcher", "agent"})


def of(
    status: StatusDocument,
    daemons: Iterable[DaemonStatus],
    now: datetime,
    stalled: Iterable[Need] = (),
    *,
    config_changed_at: Timestamp | None = None,
) -> tuple[Need, ...]:
    """Return what waits for a person; what has no known age comes last. `stalled` are the plans in which nothing moves.

    `config_changed_at` is since when the configuration is wrong, as far as that is known.
    """
    found = [*repository_needs.of_repository(status, daemons, config_changed_at), *agent_needs.of(status), *stalled]
    for plan in status.plans:
        found += plan_needs.of_plan(plan)
    return tuple(sorted((_complete(each, now) for each in found), key=_order))


def is_error(need: Need) -> bool:
    """Whether something is wrong; else only a decision, an answer or a setting of a person is missing.

    A plan that is blocked by one of its TODOs waits for an answer; what blocks it as a whole, or a draft, is an error.
    """
    return need.kind in _ERRORS or (need.kind == "blocked" and not need.ids)


def _complete(need: Need, now: datetime) -> Need:
    """Return a need with its age, its text on one line, and words around its command."""
    age, remedy = None, need.remedy
    if need.since is not None:
        age = waiting_status.age(need.since, now)
    if not remedy:
        remedy = " or ".join(f"`{each}`" for each in need.commands)
    return replace(need, age_ms=age, remedy=remedy, text=" ".join(need.text.split()))


def _order(need: Need) -> tuple[bool, bool, int]:
    return need.kind not in _FIRST, need.age_ms is None, -(need.age_ms or 0)
