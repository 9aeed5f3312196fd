"""Decide what is to be done next for a plan's TODOs.

One TODO at a time is worked on. `next_step` says what the next step is; the engine does it and commits what
`work_results` returns for its result, so that after a crash the same step is found again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from prloom.backoff import Backoff
from prloom.core.plans.plan_file import TodoItem
from prloom.model.hook_points import BEFORE_FINISH
from prloom.model.state import DispatchState
from prloom.model.work import Block, LifeHook, TodoWork

WorkMode = Literal["auto", "ask", "off"]
Rebase = Literal["on_request", "auto", "never"]


@dataclass(frozen=True)
class WorkRules:
    """How a plan's TODOs are worked on; the keys of `[work]` and `[limits]` of the same names."""

    mode: WorkMode = "auto"
    skip_blocked: bool = False
    review: bool = False
    max_attempts: int = 3
    max_review_rounds: int = 2
    max_ci_fixes: int = 3
    max_finish_rounds: int = 5
    rebase: Rebase = "on_request"
    backoff: Backoff = field(default_factory=Backoff)


@dataclass(frozen=True)
class WorkContext:
    """Whose TODOs are worked on, by which rules, and when: what every decision about a step needs."""

    plan_id: str
    rules: WorkRules
    now: datetime


@dataclass(frozen=True)
class Take:
    """Begin the work on a TODO."""

    todo: TodoItem
    round: int


@dataclass(frozen=True)
class Propose:
    """Have the operator allow a TODO before it is begun."""

    todo: TodoItem


@dataclass(frozen=True)
class Continue:
    """Do what the phase of the present work says."""

    work: TodoWork


@dataclass(frozen=True)
class Withdraw:
    """End the work on a TODO that was taken out of the plan; its changes are kept beside the branch."""

    work: TodoWork
    reason: str


@dataclass(frozen=True)
class Correct:
    """Check the box of a TODO again whose commit is on the branch: an older copy of the plan was saved."""

    todo: TodoItem


@dataclass(frozen=True)
class BlockPlan:
    """Block the plan at a TODO that is blocked."""

    todo: TodoItem


@dataclass(frozen=True)
class Unblock:
    """End a block whose TODO is not blocked any more."""

    block: Block


@dataclass(frozen=True)
class Finish:
    """Finish the plan: no TODO is open."""


@dataclass(frozen=True)
class FinishAgain:
    """Have the beforeFinish hooks that have run do so again later: a TODO is open, which one of them may have added."""


@dataclass(frozen=True)
class StopFinishing:
    """Block the plan because its beforeFinish hooks have added TODOs too often."""


@dataclass(frozen=True)
class RunHooks:
    """Run the hooks of a point about the whole plan."""

    hook: LifeHook


NotedStep = Propose | Correct | BlockPlan | Unblock | FinishAgain | StopFinishing
"""A step that is no more than its decision."""

TodoStep = RunHooks | Take | Continue | Withdraw | Finish | NotedStep

_PREPARING = ("taken", "prepared")
_PAUSABLE = ("taken", "prepared", "ready")
"""Phases in which a pause takes effect: no worker runs, and none of its work waits to be committed."""
_BLOCKABLE = (*_PAUSABLE, "changed", "checked", "reviewed", "accepted")
"""Phases in which a block takes effect: no worker runs, and its change is not on the branch."""
_IRREVOCABLE = ("committed", "pushed")
_STOPPING = ("hook", "branch", "worktree", "setup", "signature")
"""Causes of a block that stop the work in any phase: its next step is the one that cannot be done."""


def next_step(
    state: DispatchState, todos: Sequence[TodoItem], rules: WorkRules, *, now: datetime, may_take: bool = True
) -> TodoStep | None:
    """Return the next step of the work on a plan, or None where nothing is to be done now.

    `todos` are those of `plan.md` as it is now, each with an id. Without `may_take`, no further TODO is begun.
    """
    if state.work is not None:
        return _continued(state, state.work, todos, now)
    if _is_open(todos) and any(each.startswith(f"{BEFORE_FINISH}:") for each in state.plan_hooked):
        return FinishAgain()
    is_held = state.paused or rules.mode == "off"
    block = state.block
    if block is not None:
        if block.todo is None:
            return None
        blocks = is_held or isinstance(_first(state, todos, rules), BlockPlan)  # else another TODO comes before it
        if blocks and _is_blocked(block.todo, todos):
            return None
        return Unblock(block)
    if is_held:
        return None
    step = _first(state, todos, rules)
    if step is not None:
        if isinstance(step, Take) and not may_take:
            return None
        return step
    return _finish(state, todos, rules)


def pauses_after(todos: Iterable[TodoItem], todo_id: str) -> bool:
    """Whether the plan may be paused after a TODO: others are left, which a person may want to look at before."""
    return any(not todo.over and todo.id != todo_id for todo in todos)


def prepares(step: TodoStep) -> bool:
    """Whether a step is done before a TODO's worker is run."""
    return isinstance(step, Continue) and step.work.phase in _PREPARING


def _first(
    state: DispatchState, todos: Sequence[TodoItem], rules: WorkRules
) -> Take | Propose | Correct | BlockPlan | None:
    """Return what is to be done with the first TODO with which anything is."""
    waiting = None
    for todo in todos:
        if todo.id is None:
            continue
        if todo.state == "blocked" and not rules.skip_blocked:
            if waiting is not None:
                break
            return BlockPlan(todo)
        if todo.state != "open":
            continue
        if todo.id in state.done_todos:
            return Correct(todo)
        if rules.mode == "auto" or todo.id in state.granted:
            return Take(todo, state.reopened.get(todo.id, 1))
        waiting = waiting or todo
    if waiting is not None and waiting.id != state.proposed:
        return Propose(waiting)
    return None


def _finish(state: DispatchState, todos: Sequence[TodoItem], rules: WorkRules) -> Finish | StopFinishing | None:
    if not state.unfinished or _is_open(todos):
        return None
    if rules.max_finish_rounds and state.finish_rounds >= rules.max_finish_rounds:
        return StopFinishing()
    return Finish()


def _is_open(todos: Iterable[TodoItem]) -> bool:
    return any(todo.state == "open" for todo in todos)


def _continued(state: DispatchState, work: TodoWork, todos: Sequence[TodoItem], now: datetime) -> TodoStep | None:
    item = next((todo for todo in todos if todo.id == work.id), None)
    if work.phase not in _IRREVOCABLE and (item is None or item.state != "open"):
        return Withdraw(work, _gone(item))
    block = state.block
    if block is not None and (work.phase in _BLOCKABLE or block.cause in _STOPPING):
        if block.todo is not None and not _is_blocked(block.todo, todos):
            return Unblock(block)
        return None
    if state.paused and work.phase in _PAUSABLE:
        return None
    if work.retry_at is not None and now < work.retry_at:
        return None
    return Continue(work)


def _gone(item: TodoItem | None) -> str:
    if item is None:
        return "the TODO was taken out of the plan"
    return f"the TODO was marked as {item.state} while it was worked on"


def _is_blocked(todo_id: str, todos: Iterable[TodoItem]) -> bool:
    return any(todo.id == todo_id and todo.state == "blocked" for todo in todos)
