"""Build the status of the work on a plan's TODOs: what is in progress, what waits, and what blocks it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from prloom.core.text.shown_text import command
from prloom.engine.views import snapshot, waiting_status
from prloom.engine.views.snapshot import Snapshot
from prloom.engine.views.status_schema import (
    BlockStatus,
    CurrentTodo,
    ParkedTodo,
    ProposedTodo,
    SessionStatus,
    TodoCounts,
    WorkWait,
)
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.plan_session import PlanSession

if TYPE_CHECKING:
    from prloom.core.plans.plan_file import TodoItem
    from prloom.model.work_report import RunningWork, RunWait


def todo_counts(of: Snapshot, wait: RunWait | None, now: datetime) -> TodoCounts:
    """Return how many TODOs a plan has, and the one that is worked on; a TODO that was dropped counts no more.

    `wait` is what its next run waits for.
    """
    states = [todo.state for todo in of.todos]
    return TodoCounts(
        total=len(states) - states.count("dropped"),
        done=states.count("done"),
        blocked=states.count("blocked"),
        current=current(of.bus.state, wait, now),
        proposed=_proposed(of),
        parked=_parked(of) or UNSET,
    )


def block(state: DispatchState, todos: Sequence[TodoItem] = (), now: datetime | None = None) -> BlockStatus | None:
    """Return why no TODO of a plan is worked on, and the command that goes on; None where nothing blocks it.

    Its TODO is named where it is among `todos`, and its age given where it is known what time it is.
    """
    found = state.block
    if found is None:
        return None
    titles = [todo.title for todo in todos if todo.id is not None and todo.id == found.todo]
    question = state.questions.get(found.todo or "")
    return BlockStatus(
        reason=found.reason,
        since=found.since,
        todo=found.todo,
        way_on=found.way_on,
        age_ms=waiting_status.age_or_unset(found.since, now),
        title=titles[0] if titles else UNSET,
        question=question.text if question else UNSET,
    )


def pull_request_wait(state: DispatchState) -> WorkWait | UnsetType:
    """Return why the pull request does not show the present state yet, and when prloom tries that again."""
    kept = state.pull_request
    if kept.error is None or kept.retry_at is None:
        return UNSET
    return WorkWait(reason=kept.error, since=kept.failing_since, until=kept.retry_at)


def draft_wait(waiting: RunningWork | None, of: Snapshot) -> WorkWait | None:
    """Return what a queued draft waits for before it becomes a plan."""
    if not of.is_draft:
        return None
    if of.plan.status == "queued" and not of.todos and not of.error:
        add = command("todo", of.plan.id, ("add", "TEXT"))
        return WorkWait(
            reason=f"it has no TODO under `## TODO`; add one with `{add}`", since=of.plan.created_at, until=None
        )
    found = waiting.draft_waits.get(of.plan.id) if waiting is not None else None
    if found is None:
        return None
    return WorkWait(reason=found.reason, since=found.since, until=found.until)


def session(found: PlanSession | None) -> SessionStatus | UnsetType:
    """Return the session that a person has in the worktree of a plan."""
    if found is None:
        return UNSET
    return SessionStatus(kind=found.kind, pid=found.pid, since=found.since)


def wait(waiting: RunningWork | None, plan_id: str, state: DispatchState) -> RunWait | None:
    """Return what the next run of the TODO waits for that a plan works on; `waiting` is what a dispatcher reports."""
    if waiting is None or state.work is None:
        return None
    from prloom.core.work import progress  # noqa: PLC0415 - `prloom status` needs none where nothing waits

    return progress.wait_of_todo(plan_id, state.work.id, waiting)


def current(state: DispatchState, wait: RunWait | None = None, now: datetime | None = None) -> CurrentTodo | None:
    """Return the TODO that is worked on, or None; `wait` is what its run waits for."""
    work = state.work
    if work is None:
        return None
    shown: WorkWait | UnsetType = UNSET
    if work.retry_at is not None and work.waits_for is not None:
        shown = WorkWait(
            reason=work.waits_for, since=work.waits_since, until=work.retry_at, agent=work.unusable or UNSET
        )
    elif wait is not None:
        shown = WorkWait(reason=wait.reason, since=wait.since, until=wait.until)
    return CurrentTodo(
        id=work.id,
        title=work.title,
        attempt=work.attempt,
        run=work.run,
        started_at=work.started_at,
        age_ms=waiting_status.age_or_unset(work.started_at, now),
        phase=work.phase,
        agent=work.agent or UNSET,
        wait=shown,
    )


def _parked(of: Snapshot) -> tuple[ParkedTodo, ...]:
    """Return the blocked TODOs, without the one that blocks the plan."""
    block = of.bus.state.block
    blocked_at = of.bus.state.blocked_at
    found = [todo for todo in of.todos if todo.state == "blocked" and (block is None or block.todo != todo.id)]
    if not found:
        return ()
    changed = snapshot.changed_at(of, paths.PLAN_TEXT)  # a box that a person has set
    return tuple(
        ParkedTodo(
            id=todo.id,
            title=todo.title,
            reason=todo.reason,
            way_on=command("todo", of.plan.id, "open", todo.id),
            since=blocked_at.get(todo.id) or changed or UNSET,
        )
        for todo in found
        if todo.id is not None
    )


def _proposed(of: Snapshot) -> ProposedTodo | UnsetType:
    """Return the TODO that waits until a person allows it."""
    proposed = of.bus.state.proposed
    since = of.bus.state.proposed_at
    for todo in of.todos:
        if proposed is not None and todo.id == proposed and todo.state == "open":
            return ProposedTodo(
                id=proposed, title=todo.title, way_on=command("todo", of.plan.id, "go", proposed), since=since or UNSET
            )
    return UNSET
