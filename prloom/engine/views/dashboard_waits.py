"""List what waits in a repository and goes on by itself: for what, since when, and when it is tried again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec.structs import replace

from prloom.core.text import one_line
from prloom.engine.views import agent_needs, plan_needs, waiting_status
from prloom.engine.views.daemons import DaemonStatus
from prloom.engine.views.dashboard_schema import Wait, WaitKind
from prloom.engine.views.status_schema import PlanStatus, StatusDocument, WorkWait
from prloom.engine.views.waiting_schema import DeferredEvent
from prloom.model import record
from prloom.model.record import Timestamp


def of(
    status: StatusDocument, queued: Mapping[str, str | None], daemons: Iterable[DaemonStatus], now: datetime
) -> tuple[Wait, ...]:
    """Return what waits, what ends first before the others; what has no known end comes last.

    `queued` are the plans whose events wait until one more agent may run, with the setting because of which, if any.
    """
    found = [_restart(each) for each in daemons if each.next_attempt_at is not None]
    for plan in status.plans:
        found += _of_plan(plan)
        if plan.id in queued:
            found.append(_queued(plan, queued[plan.id]))
    return tuple(sorted((_complete(each, now) for each in found), key=_order))


def _of_plan(plan: PlanStatus) -> Iterator[Wait]:
    yield from (_deferred(plan, event) for event in plan.events.deferred if not agent_needs.needs_person(event.agent))
    current, pull_request, session = plan.todos.current, plan.pull_request_wait, plan.session
    blocked = plan.block is not None
    if current is not None and current.wait and not blocked and not _is_need(current.wait):
        text = f'TODO "{one_line.title(current.title)}", attempt {current.attempt}'
        yield _of_work(plan, "todo", current.id, text, current.wait)
    if pull_request:
        yield _of_work(plan, "pull request", "pull request", "the pull request is not up to date", pull_request)
    if plan.draft_wait and not blocked:
        yield _of_work(plan, "draft", "draft", "the plan cannot begin yet", plan.draft_wait)
    for action in plan.actions.retrying or ():
        yield Wait(
            kind="action",
            plan=plan.id or None,
            id=action.id,
            text="an action is tried again",
            reason=action.reason,
            since=action.since,
            until=action.until,
        )
    if session:
        reason = f"{session.kind} by process {session.pid}; prloom continues when that process has ended"
        text = "a person works in the worktree"
        yield Wait(kind="session", plan=plan.id, id="session", text=text, reason=reason, since=session.since)


def _of_work(plan: PlanStatus, kind: WaitKind, name: str, text: str, wait: WorkWait) -> Wait:
    return Wait(kind=kind, plan=plan.id, id=name, text=text, reason=wait.reason, since=wait.since, until=wait.until)


def _is_need(wait: WorkWait) -> bool:
    """Whether a person has to end the wait, so that it is among what needs one."""
    return plan_needs.is_brake(wait.reason) or agent_needs.needs_person(wait.agent)


def _deferred(plan: PlanStatus, event: DeferredEvent) -> Wait:
    """Return the wait of an event; one that only something else or its deadline ends has no time of its own."""
    until: Timestamp | None = event.deferred_until
    text = f"{event.type} {event.id}, by {event.plugin}"
    if event.wake_on:
        from prloom.core.waits import wake  # noqa: PLC0415 - few events wait for something

        text = f"waits for {wake.described(event.wake_on)} ({text})"
        if event.deferred_until >= event.deadline:
            until = None
    return Wait(
        kind="deferred",
        plan=plan.id or None,
        id=event.id,
        text=text,
        reason=event.reason,
        since=event.first_deferred_at,
        until=until,
        deadline=event.deadline,
    )


def _queued(plan: PlanStatus, limit: str | None) -> Wait:
    setting = limit or "dispatcher.max_parallel_plans"
    text = "events wait for an agent"
    return Wait(
        kind="agent",
        plan=plan.id or None,
        id="agent",
        text=text,
        reason=f"as many runs are active as {setting} allows",
        since=plan.events.pending_since or None,
    )


def _restart(daemon: DaemonStatus) -> Wait:
    until = record.read_time(daemon.next_attempt_at or "")
    since = record.read_time(daemon.since or "")
    return Wait(
        kind="plugin",
        plan=None,
        id=daemon.name,
        text=f"{daemon.name} is started again",
        reason=daemon.reason or "its daemon has ended",
        since=Timestamp.of(since) if since else None,
        until=Timestamp.of(until) if until else None,
    )


def _complete(wait: Wait, now: datetime) -> Wait:
    age, ends = None, None
    if wait.since is not None:
        age = waiting_status.age(wait.since, now)
    if wait.until is not None:
        ends = waiting_status.age(now, wait.until)
    return replace(wait, age_ms=age, ends_in_ms=ends)


def _order(wait: Wait) -> tuple[bool, int]:
    return wait.ends_in_ms is None, wait.ends_in_ms or 0
