"""Build the status of a repository: what waits, for what, why and how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from prloom.core.plans import lost_text
from prloom.core.plans import plan_status as statuses
from prloom.engine.views import (
    ages,
    drafts,
    lost_plans,
    runtime_status,
    snapshot,
    standstills,
    waiting_status,
    work_status,
)
from prloom.engine.views.snapshot import Snapshot, SnapshotCache
from prloom.engine.views.status_schema import (
    BlockStatus,
    BridgeStatus,
    DispatcherStatus,
    LostPlan,
    PlanStatus,
    PluginStatus,
    Spent,
    StatusDocument,
    Totals,
    WorkWait,
)
from prloom.model.kinds import ENDED
from prloom.model.permission import PermissionRequest
from prloom.model.record import Timestamp
from prloom.storage import paths, plan_session
from prloom.storage.paths import RepositoryPaths
from prloom.storage.plan_session import PlanSession
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from prloom.core.reports.costs import CostGroup
    from prloom.model.work_report import RunWait

NOTHING_SPENT = Spent(runs=0, seconds=0, input_tokens=0, output_tokens=0, cost_usd=None, unmeasured_runs=0)


def read(
    repository: RepositoryPaths,
    now: datetime,
    *,
    plan: str | None = None,
    cache: SnapshotCache | None = None,
) -> StatusDocument:
    """Return the status of a repository, or of one of its plans; a `cache` keeps what has not changed since."""
    if cache is None:
        found = snapshot.every(repository)
    else:
        found = cache.every(repository)
    if plan is None:
        missing = lost_plans.every(repository, [each.plan.id for each in found])
    else:
        missing = ()
    shown = [each for each in found if plan in {None, each.plan.id}]
    waiting = [each for each in drafts.every(repository) if plan in {None, each.plan.id}]
    local = SafeDir.open(repository.root, *paths.LOCAL)
    if local is None:
        return build(
            repository, tuple(plan_status(each, now) for each in shown), DispatcherStatus(), (), (), missing=missing
        )
    with local:
        return build(
            repository,
            _plans(repository, local, sorted((*shown, *waiting), key=_order), now),
            runtime_status.with_unreadable_report(runtime_status.dispatcher(local, now), local),
            runtime_status.of(local, paths.BRIDGES, "bridges", BridgeStatus),
            tuple(map(_offering, runtime_status.of(local, paths.PLUGINS, "plugins", PluginStatus))),
            missing=missing,
            requests=tuple(each for each in runtime_status.requests(local) if plan in {None, each.plan}),
        )


def _plans(
    repository: RepositoryPaths, local: SafeDir, listed: Sequence[Snapshot], now: datetime
) -> tuple[PlanStatus, ...]:
    """Return the status of each plan, with what the dispatcher and other commands say about it in the checkout."""
    refused = runtime_status.unopened(local, [each.plan for each in listed])
    refused_since: Mapping[str, Timestamp] = {}
    if refused:
        refused_since = runtime_status.unopened_since(local)
    waiting = runtime_status.waiting_work(local)
    sessions = plan_session.sessions(repository.root)
    return tuple(
        plan_status(
            each,
            now,
            refused=refused.get(each.plan.id),
            refused_since=refused_since.get(each.plan.id),
            wait=work_status.wait(waiting, each.plan.id, each.bus.state),
            draft_wait=work_status.draft_wait(waiting, each),
            session=sessions.get(each.plan.id),
        )
        for each in listed
    )


def _order(of: Snapshot) -> tuple[bool, str]:
    """Return what plans are sorted by: their ids, and the repository as a whole comes last."""
    return of.plan.id == snapshot.REPOSITORY, of.plan.id


def _offering(plugin: PluginStatus) -> PluginStatus:
    """Return a plugin without the kinds of things of which it registered none."""
    return replace(
        plugin, commands=plugin.commands or UNSET, tools=plugin.tools or UNSET, skills=plugin.skills or UNSET
    )


def build(
    repository: RepositoryPaths,
    plans: tuple[PlanStatus, ...],
    at_work: DispatcherStatus,
    bridges: tuple[BridgeStatus, ...],
    plugins: tuple[PluginStatus, ...],
    *,
    missing: tuple[LostPlan, ...] = (),
    requests: tuple[PermissionRequest, ...] = (),
) -> StatusDocument:
    """Return the document of these parts, with the totals of the plans in it."""
    ages = [event.age_ms for plan in plans for event in plan.events.deferred]
    totals = Totals(
        plans=sum(plan.id != snapshot.REPOSITORY for plan in plans),
        pending=sum(plan.events.pending for plan in plans),
        deferred=len(ages),
        held=sum(len(plan.events.held) for plan in plans),
        parked=sum(len(plan.events.parked) for plan in plans),
        actions_queued=sum(plan.actions.queued for plan in plans),
        actions_failed=sum(len(plan.actions.failed) for plan in plans),
    )
    return StatusDocument(
        repo=str(repository.root),
        dispatcher=at_work,
        totals=totals,
        oldest_deferred_age_ms=max(ages, default=None),
        plans=plans,
        bridges=bridges,
        plugins=plugins,
        lost_plans=missing or UNSET,
        requests=requests or UNSET,
    )


def plan_status(
    of: Snapshot,
    now: datetime,
    *,
    refused: str | None = None,
    refused_since: Timestamp | None = None,
    wait: RunWait | None = None,
    draft_wait: WorkWait | None = None,
    session: PlanSession | None = None,
) -> PlanStatus:
    """Return the status of one plan.

    `refused` is why the dispatcher could not open it, and `refused_since` since when; `wait` is what its
    next run waits for, `draft_wait` what a draft does, and `session` the one that a person has in its worktree.
    """
    state, plan = of.bus.state, of.plan
    shown = PlanStatus(
        id=plan.id,
        title=plan.title,
        status=statuses.derive(plan, state, of.todos),
        blocked=plan.blocked or refused is not None or state.block is not None,
        block=_draft_block(of, refused, now) or work_status.block(state, of.todos, now),
        branch=plan.branch,
        pr=plan.pr,
        worktree=None if of.is_draft else str(of.worktree),
        last_error=of.error or refused or plan.last_error or _lost_text(of),
        todos=work_status.todo_counts(of, wait, now),
        commits=state.commits,
        events=waiting_status.events(of, now),
        actions=waiting_status.actions(state, now),
        rebase_requested=state.rebase_requested or UNSET,
        rule=plan.rule or UNSET,
        work=UNSET if plan.work else False,
        pull_request_wait=work_status.pull_request_wait(state),
        draft_wait=draft_wait or UNSET,
        kept=state.kept or UNSET,
        last_error_since=_error_since(of, refused, refused_since) or UNSET,
        paused_since=_paused_since(of) or UNSET,
        ended_at=state.ended_at or UNSET,
        session=work_status.session(session),
    )
    return replace(shown, standstill=standstills.of_plan(of, shown, now))


def _error_since(of: Snapshot, refused: str | None, refused_since: Timestamp | None) -> Timestamp | None:
    """Return since when the plan has its `last_error`."""
    if of.error:
        return snapshot.error_since(of)
    if refused:
        return refused_since
    if of.plan.last_error:
        return of.plan.last_error_at
    return None


def _lost_text(of: Snapshot) -> str | None:
    """Return what is wrong with a plan whose text was lost, also where no dispatcher has noted it yet."""
    if of.has_text or of.is_draft or of.plan.status in ENDED or not lost_text.awaited(of.bus.state):
        return None
    return lost_text.problem(of.plan.id, of.bus.state)


def _paused_since(of: Snapshot) -> Timestamp | None:
    """Return since when a plan is paused; by the state of an older version, at the latest since its last decision."""
    if not of.bus.state.paused:
        return None
    return of.bus.state.paused_at or snapshot.changed_at(of, f"{paths.BUS}/{paths.DECISIONS}")


def _draft_block(of: Snapshot, refused: str | None, now: datetime) -> BlockStatus | None:
    """Return why a draft cannot become a plan; None for a plan, and for a draft that nothing is wrong with."""
    reason = of.error or refused
    if not of.is_draft or reason is None or of.plan.created_at is None:
        return None
    since = of.plan.created_at
    return BlockStatus(
        reason=reason, since=since, todo=None, way_on=f"prloom edit {of.plan.id}", age_ms=waiting_status.age(since, now)
    )


def with_costs(status: StatusDocument, costs: Mapping[str, CostGroup]) -> StatusDocument:
    """Return the document with what the agents' runs took, by plan; the repository as a whole has none."""
    plans = tuple(replace(plan, spent=spent(costs.get(plan.id))) for plan in status.plans)
    return replace(status, plans=plans)


def spent(sum_of_runs: CostGroup | None) -> Spent:
    """Return what runs took: nothing where there are none."""
    if sum_of_runs is None:
        return NOTHING_SPENT
    return Spent(
        runs=sum_of_runs.runs,
        seconds=sum_of_runs.seconds,
        input_tokens=sum_of_runs.input_tokens,
        output_tokens=sum_of_runs.output_tokens,
        cost_usd=sum_of_runs.cost_usd,
        unmeasured_runs=sum_of_runs.unmeasured_runs,
    )


def timeless(status: StatusDocument) -> StatusDocument:
    """Return the document without the times that change by themselves; two of these differ if there is news to show."""
    bridges = tuple(replace(bridge, last_poll_at=None, last_ok_at=None) for bridge in status.bridges)
    at_work = replace(status.dispatcher, last_tick_at=None, trouble_since=UNSET)
    return ages.without(replace(status, dispatcher=at_work, bridges=bridges))
