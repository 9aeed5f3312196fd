"""Show the work on the TODOs of plans to a person: what is in progress, what waits and until when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from prloom.cli.output import layout, terminal
from prloom.model.kinds import ENDED

if TYPE_CHECKING:
    from prloom.engine.views.status_schema import CurrentTodo, PlanStatus, WorkWait
    from prloom.model.work import Kept


def totals(plans: Sequence[PlanStatus]) -> list[str]:
    """Return the counts of TODOs and plans that are not done, of those plans whose TODOs are worked on."""
    current = [plan.todos.current for plan in plans if plan.todos.current is not None and plan.block is None]
    waiting = sum(bool(todo.wait) for todo in current)
    still_open = sum(_open(plan) for plan in plans)
    blocked = sum(plan.block is not None for plan in plans)
    found = []
    if len(current) > waiting:
        found.append(f"{_todos(len(current) - waiting)} in progress")
    if waiting:
        found.append(terminal.paint(f"{_todos(waiting)} waiting", "warn"))
    if still_open:
        found.append(f"{_todos(still_open)} open")
    if blocked:
        found.append(terminal.paint(f"{blocked} {'plan' if blocked == 1 else 'plans'} blocked", "bad"))
    return found


def lines(plan: PlanStatus, now: datetime) -> Iterator[str]:
    """Yield what is in progress in a plan, and the waits of its work."""
    current = plan.todos.current
    if current is not None:
        label = "doing"
        if plan.block is not None or (plan.status == "paused" and current.run is None):
            label = "stopped"
        yield from layout.item(label, *_doing(current, now))
    if plan.pull_request_wait:
        yield from layout.item("waiting", f"the pull request is not up to date: {_wait(plan.pull_request_wait, now)}")

    if plan.draft_wait:
        yield from layout.item("waiting", f"the plan cannot begin yet: {_wait(plan.draft_wait, now)}")
    if plan.session:
        in_words = {"shell": "a shell", "agent": "an agent"}[plan.session.kind]
        yield from layout.item("open", f"in {in_words} by {plan.session.pid} since {layout.clock(plan.session.since)}")
    if plan.kept:
        yield from layout.item("kept", *_kept(plan.id, plan.kept, now))


def _kept(plan_id: str, kept: Kept, now: datetime) -> Iterator[str]:
    """Return until when a worktree is kept; or why it is, and how a person ends that."""
    if kept.until is not None:
        yield f"until {layout.clock(kept.until)} ({layout.when(kept.until, now)})"
        return
    yield terminal.paint(terminal.clean(kept.reason or ""), "warn")
    yield f"{layout.to_run('forget', plan_id, ('--yes',))} gives it up with what is open in it"


def _doing(current: CurrentTodo, now: datetime) -> Iterator[str]:
    since = ""
    if current.started_at is not None:
        since = f", begun {layout.when(current.started_at, now)}"
    yield f"{layout.shown_id(current.id)}  {layout.title(current.title)}: attempt {current.attempt}{since}"
    if current.wait:
        yield f"waits: {_wait(current.wait, now)}"
    elif current.run is not None:
        yield f"run {terminal.clean(current.run)}"


def _wait(wait: WorkWait, now: datetime) -> str:
    """Return why something waits, since when, and when it is tried again."""
    if wait.until is None:
        return terminal.paint(terminal.clean(wait.reason), "warn")
    end = f"next try {layout.when(wait.until, now)} ({layout.clock(wait.until)})"
    if wait.until <= now:
        end = f"due {layout.when(wait.until, now)}"
    since = ""
    if wait.since is not None:
        since = f", since {layout.clock(wait.since)}"
    return f"{terminal.paint(terminal.clean(wait.reason), 'warn')}{since}; {end}"


def _open(plan: PlanStatus) -> int:
    """Return how many TODOs have yet to be begun; those of a merged or closed plan are not."""
    if plan.status in ENDED:
        return 0
    todos = plan.todos
    return max(todos.total - todos.done - todos.blocked - (todos.current is not None), 0)


def _todos(count: int) -> str:
    return f"{count} {'TODO' if count == 1 else 'TODOs'}"
