"""Build the status of a repository: what waits, for what, why and how long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import UNSET
from msgspec.structs import replace

from prloom.core import plan_status as statuses
from prloom.core import reply_limit
from prloom.core.costs import CostGroup
from prloom.engine.views import drafts, plan_names, runtime_status, snapshot, work_status
from prloom.engine.views.snapshot import Snapshot
from prloom.engine.views.status_schema import (
    ActionCounts,
    BlockStatus,
    BridgeStatus,
    DeferredEvent,
    DispatcherStatus,
    EventCounts,
    FailedAction,
    HeldEvent,
    LostPlan,
    ParkedEvent,
    PlanStatus,
    PluginStatus,
    Spent,
    StatusDocument,
    Totals,
    WaitingAction,
)
from prloom.model.permission import PermissionRequest
from prloom.model.state import OpenEvent, QueuedAction
from prloom.storage import paths, plan_session
from prloom.storage.paths import RepositoryPaths
from prloom.storage.plan_session import PlanSession
from prloom.storage.safe_dir import SafeDir

_MILLISECOND = timedelta(milliseconds=1)


def read(repository: RepositoryPaths, now: datetime, *, plan: str | None = None) -> StatusDocument:
    """Return the status of a repository, or of one of its plans."""
    found = snapshot.every(repository)
    if plan is None:
        missing = plan_names.lost_plans(repository)
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
        listed = sorted((*shown, *waiting), key=_order)
        refused = runtime_status.unopened(local, [each.plan for each in listed])
        limits = runtime_status.todo_limits(local)
        sessions = plan_session.sessions(repository.root)
        return build(
            repository,
            tuple(
                plan_status(
                    each,
                    now,
                    refused=refused.get(each.plan.id),
                    limit=limits.get(each.plan.id),
                    session=sessions.get(each.plan.id),
                )
                for each in listed
            ),
            runtime_status.dispatcher(local),
            runtime_status.of(local, paths.BRIDGES, "bridges", BridgeStatus),
            tuple(map(_offering, runtime_status.of(local, paths.PLUGINS, "plugins", PluginStatus))),
            missing=missing,
            requests=tuple(each for each in runtime_status.requests(local) if plan in {None, each.plan}),
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
    limit: str | None = None,
    session: PlanSession | None = None,
) -> PlanStatus:
    """Return the status of one plan.

    `refused` is why the dispatcher could not open it, `limit` the setting because of which its next run waits, and
    `session` the one that a person has in its worktree.
    """
    state, plan = of.bus.state, of.plan
    queue = [action for action in state.queue.values() if not action.courtesy]
    failed = [action for action in queue if action.failed]
    drafts = sum(action.draft for action in queue)
    return PlanStatus(
        id=plan.id,
        title=plan.title,
        status=statuses.derive(plan, state, of.todos),
        blocked=plan.blocked or refused is not None or state.block is not None,
        block=_draft_block(of, refused) or work_status.block(state),
        branch=plan.branch,
        pr=plan.pr,
        worktree=None if of.is_draft else str(of.worktree),
        last_error=of.error or refused or plan.last_error,
        todos=work_status.todo_counts(of, limit),
        commits=state.commits,
        events=_events(of, now),
        actions=ActionCounts(
            queued=len(queue) - len(failed) - drafts,
            drafts=drafts or UNSET,
            waiting=_waiting_actions(queue) or UNSET,
            delivered=state.delivered,
            failed=tuple(FailedAction(id=action.id, error=action.error, withheld=action.withheld) for action in failed),
        ),
        rebase_requested=state.rebase_requested or UNSET,
        rule=plan.rule or UNSET,
        work=UNSET if plan.work else False,
        pull_request_wait=work_status.pull_request_wait(state),
        kept=state.kept or UNSET,
        session=work_status.session(session),
    )


def _draft_block(of: Snapshot, refused: str | None) -> BlockStatus | None:
    """Return why a draft cannot become a plan; None for a plan, and for a draft that nothing is wrong with."""
    reason = of.error or refused
    if not of.is_draft or reason is None or of.plan.created_at is None:
        return None
    return BlockStatus(reason=reason, since=of.plan.created_at, todo=None, way_on=f"prloom edit {of.plan.id}")


def _events(of: Snapshot, now: datetime) -> EventCounts:
    opened, done = of.bus.state.open.values(), of.bus.state.done
    return EventCounts(
        pending=len(of.bus.untaken) + sum(event.state == "pending" for event in opened),
        handled=done.get("handled", 0),
        triaged=done.get("triaged", 0),
        dropped=done.get("dropped", 0),
        superseded=done.get("superseded", 0),
        deferred=_deferred(opened, now),
        held=tuple(
            HeldEvent(
                id=event.id,
                author=event.author,
                reason=event.reason,
                held_at=event.since,
                age_ms=_age(event.since, now),
            )
            for event in opened
            if event.state == "held"
        ),
        parked=tuple(
            ParkedEvent(id=event.id, reason=event.reason, parked_at=event.since, age_ms=_age(event.since, now))
            for event in opened
            if event.state == "parked"
        ),
    )


def _waiting_actions(queue: Iterable[QueuedAction]) -> tuple[WaitingAction, ...]:
    return tuple(
        WaitingAction(id=action.id, reason=action.error or "", until=action.next_try)
        for action in queue
        if reply_limit.is_on(action) and action.next_try is not None
    )


def _deferred(opened: Iterable[OpenEvent], now: datetime) -> tuple[DeferredEvent, ...]:
    """Return the deferred events, the longest waiting first."""
    found = []
    for event in opened:
        wait = event.deferral
        if event.state != "deferred" or wait is None:
            continue
        first = event.first_deferred_at or wait.first_deferred_at
        found.append(
            DeferredEvent(
                id=event.id,
                type=event.type,
                plugin=wait.owner,
                reason=wait.reason,
                attempts=wait.attempts,
                first_deferred_at=first,
                deferred_until=wait.deferred_until,
                deadline=wait.deadline,
                age_ms=_age(first, now),
                wake_on=wait.wake_on or UNSET,
            )
        )
    return tuple(sorted(found, key=lambda event: event.first_deferred_at))


def _age(since: datetime, now: datetime) -> int:
    """Return the milliseconds since a time; none since one that is yet to come."""
    return max(0, (now - since) // _MILLISECOND)


def with_costs(status: StatusDocument, costs: Mapping[str, CostGroup]) -> StatusDocument:
    """Return the document with what the agents' runs took, by plan; the repository as a whole has none."""
    none = Spent(runs=0, seconds=0, input_tokens=0, output_tokens=0, cost_usd=None, unmeasured_runs=0)
    plans = []
    for plan in status.plans:
        found, spent = costs.get(plan.id), none
        if found is not None:
            spent = Spent(
                runs=found.runs,
                seconds=found.seconds,
                input_tokens=found.input_tokens,
                output_tokens=found.output_tokens,
                cost_usd=found.cost_usd,
                unmeasured_runs=found.unmeasured_runs,
            )
        plans.append(replace(plan, spent=spent))
    return replace(status, plans=tuple(plans))


def timeless(status: StatusDocument) -> StatusDocument:
    """Return the document without the times that change by themselves; two of these differ if there is news to show."""
    plans = tuple(replace(plan, events=_ageless(plan.events)) for plan in status.plans)
    bridges = tuple(replace(bridge, last_poll_at=None, last_ok_at=None) for bridge in status.bridges)
    at_work = replace(status.dispatcher, last_tick_at=None)
    return replace(status, dispatcher=at_work, oldest_deferred_age_ms=None, plans=plans, bridges=bridges)


def _ageless(events: EventCounts) -> EventCounts:
    return replace(
        events,
        deferred=tuple(replace(event, age_ms=0) for event in events.deferred),
        held=tuple(replace(event, age_ms=0) for event in events.held),
        parked=tuple(replace(event, age_ms=0) for event in events.parked),
    )
