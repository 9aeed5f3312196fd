"""Build what an operator looks at: what needs a person, what goes on, what waits, and all plans, at one moment.

`prloom status`, `prloom top` and the page in a browser show this value, so that they never disagree. It is read from
files alone.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from datetime import datetime

from msgspec import UNSET, Struct
from msgspec.structs import replace

from prloom.config.layers import FILE_NAME
from prloom.engine.views import (
    daemons,
    dashboard_waits,
    needs,
    runtime_status,
    snapshot,
    standstills,
    waiting_status,
    working,
)
from prloom.engine.views import status as statuses
from prloom.engine.views.daemons import DaemonStatus
from prloom.engine.views.dashboard_schema import Dashboard, FullStatus, Need, PlanLine, Source, Wait, Working
from prloom.engine.views.snapshot import SnapshotCache
from prloom.engine.views.standstills import AtWork, StandstillRule
from prloom.engine.views.status_schema import BridgeStatus, PlanStatus, Spent, StatusDocument
from prloom.engine.views.working import StartedRun
from prloom.model.kinds import ENDED
from prloom.model.record import Timestamp
from prloom.storage import file_stamp, paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir


class Activity(Struct, frozen=True):
    """What the files of the repository as a whole say, beside the status of its plans."""

    runs: tuple[StartedRun, ...] = ()
    hooks: tuple[Working, ...] = ()
    queued: tuple[tuple[str, str | None], ...] = ()
    daemons: tuple[DaemonStatus, ...] = ()
    today: Spent = statuses.NOTHING_SPENT
    standstill_rule: StandstillRule | None = None
    config_changed_at: Timestamp | None = None


def read(
    repository: RepositoryPaths,
    now: datetime,
    *,
    config_error: str | None = None,
    cache: SnapshotCache | None = None,
) -> Dashboard:
    """Return the dashboard of a repository; `config_error` is what is wrong with its configuration."""
    status = statuses.read(repository, now, cache=cache)
    return of(repository, replace(status, config_error=config_error or UNSET), now)


def of(repository: RepositoryPaths, status: StatusDocument, now: datetime) -> Dashboard:
    """Return the dashboard to a status that was read just now; of one plan, where the status is of one."""
    return build(status, activity(repository, status, now), now)


def full(status: StatusDocument, shown: Dashboard) -> FullStatus:
    """Return a status together with its dashboard."""
    return FullStatus(**{name: getattr(status, name) for name in status.__struct_fields__}, dashboard=shown)


def activity(repository: RepositoryPaths, status: StatusDocument, now: datetime) -> Activity:
    """Read what goes on, and what the runs of today took; of the plans in the status."""
    changed_at = _config_changed_at(repository, status)
    local = SafeDir.open(repository.root, *paths.LOCAL)
    if local is None:
        return Activity(config_changed_at=changed_at)
    shown = {plan.id for plan in status.plans}
    is_running = status.dispatcher.running
    with local:
        runs = tuple(each for each in working.runs(repository, local, is_watched=is_running) if each.plan in shown)
        found = Activity(
            runs=runs,
            daemons=daemons.reported(local, running=is_running),
            today=_today(repository, now),
            standstill_rule=standstills.read(local),
            config_changed_at=changed_at,
        )
        if not is_running:
            return found
        work = runtime_status.work(local)
        queued = tuple((plan, work.limits.get(plan)) for plan in sorted({*work.waiting, *work.limits}))
        hooks = tuple(each for each in working.hooks(work) if each.plan in shown)
        return replace(found, queued=queued, hooks=hooks)


def _config_changed_at(repository: RepositoryPaths, status: StatusDocument) -> Timestamp | None:
    """Return when the configuration file last changed, where something is wrong in it."""
    if not (status.config_error or "").startswith(FILE_NAME):
        return None
    return file_stamp.changed_at(repository.root / FILE_NAME)


def _today(repository: RepositoryPaths, now: datetime) -> Spent:
    """Return what the runs of agents took that began today and are over."""
    day = Timestamp.of(now).date().isoformat()
    if not os.path.lexists(repository.local / paths.RUN_LOG / f"{day}.jsonl"):
        return statuses.NOTHING_SPENT
    from prloom.core.reports import costs  # noqa: PLC0415 - a day without a run needs none
    from prloom.model.kinds import CHECK  # noqa: PLC0415
    from prloom.storage import run_log  # noqa: PLC0415

    return statuses.spent(costs.total([run for run in run_log.today(repository.root, now) if run.stage != CHECK], ""))


def build(status: StatusDocument, goes_on: Activity, now: datetime) -> Dashboard:
    """Return the dashboard of what was read."""
    at_work = working.of(status, goes_on.runs, goes_on.hooks, now)
    queued = dict(goes_on.queued)
    busy = AtWork({each.plan for each in at_work}, queued)
    stalled = standstills.needs(status, goes_on.standstill_rule, busy, now)
    found = needs.of(status, goes_on.daemons, now, stalled, config_changed_at=goes_on.config_changed_at)
    waiting = dashboard_waits.of(status, queued, goes_on.daemons, now)
    tick_age = None
    if status.dispatcher.last_tick_at is not None:
        tick_age = waiting_status.age(status.dispatcher.last_tick_at, now)
    return Dashboard(
        repo=status.repo,
        at=Timestamp.of(now),
        dispatcher=status.dispatcher,
        last_tick_age_ms=tick_age,
        sources=tuple(_source(bridge, now) for bridge in status.bridges),
        runs_now=len(goes_on.runs),
        today=goes_on.today,
        needs=found,
        working=at_work,
        waiting=waiting,
        waiting_oldest_ms=_oldest(waiting),
        waiting_next_ms=_next(waiting),
        plans=_plans(status, found, waiting, at_work, now),
    )


def of_plans(shown: Dashboard, plans: Container[str]) -> Dashboard:
    """Return the dashboard with those waits alone that concern these plans."""
    waiting = tuple(wait for wait in shown.waiting if wait.plan in plans)
    return replace(shown, waiting=waiting, waiting_oldest_ms=_oldest(waiting), waiting_next_ms=_next(waiting))


def _oldest(waiting: Iterable[Wait]) -> int | None:
    return max((each.age_ms for each in waiting if each.age_ms is not None), default=None)


def _next(waiting: Iterable[Wait]) -> int | None:
    return min((each.ends_in_ms for each in waiting if each.ends_in_ms is not None), default=None)


def _source(bridge: BridgeStatus, now: datetime) -> Source:
    age = None
    if bridge.last_ok_at is not None:
        age = waiting_status.age(bridge.last_ok_at, now)
    return Source(
        name=bridge.name, last_ok_at=bridge.last_ok_at, last_ok_age_ms=age, error=bridge.error, idle=bridge.idle or None
    )


def _plans(
    status: StatusDocument, found: Sequence[Need], waiting: Sequence[Wait], at_work: Sequence[Working], now: datetime
) -> tuple[PlanLine, ...]:
    """Return a line for each plan; those in which something goes on or is needed come first, by their numbers."""
    counts = Counter(need.plan for need in found)
    ages: dict[str | None, int] = {}
    aged = [(need.plan, need.age_ms) for need in found] + [(wait.plan, wait.age_ms) for wait in waiting]
    for plan_id, age in aged:
        if age is not None:
            ages[plan_id] = max(ages.get(plan_id, 0), age)
    busy = {each.plan for each in at_work}
    shown = [plan for plan in status.plans if plan.id != snapshot.REPOSITORY]
    lines = [
        _plan(plan, needed=counts[plan.id], is_working=plan.id in busy, age=_age(plan, ages.get(plan.id), now))
        for plan in shown
    ]
    return tuple(sorted(lines, key=_order))


def _order(line: PlanLine) -> tuple[bool, bool, bool, float]:
    number = math.inf
    if line.pr is not None:
        number = line.pr
    return line.status in ENDED, not line.working, not line.needs, number


def _age(plan: PlanStatus, listed: int | None, now: datetime) -> int | None:
    """Return the age of what has waited longest in a plan: of what is listed, and of the pending events."""
    if not plan.events.pending_since:
        return listed
    return max(listed or 0, waiting_status.age(plan.events.pending_since, now))


def _plan(plan: PlanStatus, *, needed: int, is_working: bool, age: int | None) -> PlanLine:
    events, actions, todos = plan.events, plan.actions, plan.todos
    return PlanLine(
        id=plan.id,
        title=plan.title,
        pr=plan.pr,
        branch=plan.branch,
        status=plan.status,
        blocked=plan.blocked,
        todos=todos.total,
        done=todos.done,
        parked_todos=todos.blocked,
        commits=plan.commits,
        pending=events.pending,
        deferred=len(events.deferred),
        held=len(events.held),
        parked=len(events.parked),
        failed=len(actions.failed),
        drafts=actions.drafts or 0,
        queued=actions.queued,
        needs=needed,
        working=is_working,
        age_ms=age,
    )
