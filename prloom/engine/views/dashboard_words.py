"""Say in words what the entries of a dashboard mean, so that each surface says the same of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prloom.engine.views.dashboard_schema import PlanLine, Working

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prloom.engine.views.status_schema import DispatcherStatus, PlanStatus
    from prloom.model.work import Phase

NO_PLANS: Final = "no plans yet; `prloom new` or `prloom adopt` makes one"

_MILLION: Final = 1_000_000
_THOUSAND: Final = 1000
_STEPS: Final[Mapping[Phase, str]] = {
    "taken": "prepares the worktree",
    "prepared": "runs the hooks before the work",
    "ready": "starts a worker",
    "running": "waits for the worker",
    "changed": "runs the checks",
    "checked": "has the change reviewed",
    "reviewed": "runs the hooks after the work",
    "accepted": "commits",
    "committed": "pushes",
    "pushed": "reports",
}


def silence(found: DispatcherStatus) -> str:
    """Return what is wrong with a dispatcher that runs and does not tick."""
    if found.suspended:
        return f"the dispatcher, process {found.pid}, is suspended and does nothing"
    return f"the dispatcher, process {found.pid}, is running, but does not answer"


def after_silence(found: DispatcherStatus) -> str:
    """Return what to do about that, each command between backquotes."""
    if found.suspended:
        return f"let it continue with `kill -CONT {found.pid}`"
    return f"end it with `kill {found.pid}`, or with `kill -9 {found.pid}` if it stays, and run `prloom start` again"


def step(each: Working) -> str:
    """Return what a step of the work on a TODO does; nothing of what is none."""
    if each.kind != "step" or each.phase is None:
        return ""
    return _STEPS[each.phase]


def efforts(each: Working) -> tuple[str, ...]:
    """Return which attempt at a TODO this is, and how many tools the run has called so far."""
    found = []
    if each.attempt and each.todo:
        found.append(f"attempt {each.attempt}")
    if each.tool_calls == 1:
        found.append("1 tool call")
    elif each.tool_calls:
        found.append(f"{each.tool_calls} tool calls")
    return tuple(found)


def tokens(count: int) -> str:
    """Return a number of tokens in few signs: `950`, `1.2 k`, `3.4 M`."""
    if count >= _MILLION:
        return f"{count / _MILLION:.1f} M"
    if count >= _THOUSAND:
        return f"{count / _THOUSAND:.1f} k"
    return str(count)


def without_tokens(runs: int) -> str:
    """Return how many runs sums of tokens lack, because their agent programs reported none."""
    return f"{runs} {'run' if runs == 1 else 'runs'} reported no tokens"


def state(plan: PlanLine | PlanStatus) -> str:
    """Return the state of a plan: that it is blocked says more than what it would be otherwise, unless it is paused."""
    if plan.blocked and plan.status != "paused":
        return "blocked"
    return plan.status


def counts(plan: PlanLine) -> tuple[str, ...]:
    """Return how many events, actions and TODOs wait in a plan, each with its state."""
    found = (
        (plan.held, "held"),
        (plan.parked + plan.parked_todos, "parked"),
        (plan.failed, "failed"),
        (plan.drafts, "to send"),
        (plan.deferred, "deferred"),
        (plan.pending, "pending"),
        (plan.queued, "queued"),
    )
    return tuple(f"{count} {name}" for count, name in found if count)
