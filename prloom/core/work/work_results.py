"""Decide what a step of the work on a TODO comes to: each function returns the parts of a decision that record it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Literal, assert_never

from msgspec.structs import replace

from prloom.core.plans import todo_ids
from prloom.core.plans.plan_file import TodoItem
from prloom.core.text import bounds
from prloom.core.text.naming import printable
from prloom.core.text.shown_text import command, to_run
from prloom.core.work.work_steps import (
    BlockPlan,
    Correct,
    FinishAgain,
    NotedStep,
    Propose,
    StopFinishing,
    Take,
    TodoStep,
    Unblock,
    Withdraw,
    WorkContext,
)
from prloom.model.decision import DecisionParts, Todo
from prloom.model.hook_points import BEFORE_FINISH
from prloom.model.record import Timestamp
from prloom.model.work import Block, DoneTodo, LifeHook, NewTodo, TodoWork, WorkStep, WorkVerdict


def taken(step: Take, event_ids: tuple[str, ...], *, rebase: bool = False, answer: str | None = None) -> DecisionParts:
    """Return the beginning of the work on a TODO that these events requested, with the answer to its last question."""
    todo = step.todo
    assert todo.id is not None  # noqa: S101 - next_step takes no other
    work = TodoWork(id=todo.id, title=todo.title, round=step.round, event_ids=event_ids, rebase=rebase, answer=answer)
    return {"work": WorkStep(todo_id=todo.id, verdict="taken", work=work)}


def proposed(ctx: WorkContext, step: Propose) -> DecisionParts:
    """Return that a TODO waits until a person allows it."""
    assert step.todo.id is not None  # noqa: S101 - next_step looks at no other
    reason = f"it waits for {to_run('todo', ctx.plan_id, 'go', step.todo.id)}"
    return {"work": WorkStep(todo_id=step.todo.id, verdict="proposed", reason=reason)}


def prepared(work: TodoWork, base: str, reason: str | None = None) -> DecisionParts:
    """Return that the worktree is ready, at the commit `base`."""
    return moved(work, "prepared", replace(work, phase="prepared", base=base), reason)


def ready(work: TodoWork) -> DecisionParts:
    """Return that the beforeTodo hooks have run."""
    return moved(work, "ready", replace(work, phase="ready", hooked=()))


def started(work: TodoWork, *, run: str, agent: str) -> DecisionParts:
    """Return that a worker is started."""
    session = None
    if work.agent == agent:
        session = work.session
    after = replace(without_wait(work), phase="running", run=run, agent=agent, session=session, tried=False)
    return {**moved(work, "started", after, f"attempt {work.attempt}, with {agent}"), "run": run}


def changed(
    work: TodoWork,
    *,
    tree: str,
    summary: str,
    message: str | None,
    notes: str | None,
    todos: tuple[NewTodo, ...] = (),
    remark: str | None = None,
) -> DecisionParts:
    """Return that a worker made a change that broke no rule."""
    after = replace(without_wait(work), phase="changed", tree=tree, summary=summary, message=message, todos=todos)
    return moved(work, "changed", replace(after, violated=False, refusals=0), remark, notes=notes)


def checked(work: TodoWork, checks: Sequence[str]) -> DecisionParts:
    """Return that all checks passed."""
    reason = "no checks are configured"
    if checks:
        reason = f"passed: {', '.join(checks)}"
    return moved(work, "checked", replace(work, phase="checked", checks=tuple(checks)), reason)


def approved(work: TodoWork, reason: str) -> DecisionParts:
    """Return that the change was reviewed, or needs no review."""
    return moved(work, "approved", replace(without_wait(work), phase="reviewed"), reason)


def accepted(work: TodoWork) -> DecisionParts:
    """Return that the afterTodo hooks have run, so that the change may be committed."""
    return moved(work, "accepted", replace(work, phase="accepted", hooked=()))


def committed(work: TodoWork, commit: str) -> DecisionParts:
    """Return that the change is a commit on the plan's branch."""
    return moved(work, "committed", replace(work, phase="committed", commit=commit), commit)


def pushed(work: TodoWork, reason: str, *, commit: str | None = None) -> DecisionParts:
    """Return that the branch was pushed; `commit` is the TODO's commit where a rebase changed it."""
    after = replace(without_wait(work), phase="pushed", commit=commit or work.commit)
    return moved(work, "pushed", after, reason)


def not_pushed(work: TodoWork) -> DecisionParts:
    """Return that the branch stays here, because there is no remote: the work goes on as after a push."""
    return moved(work, "not_pushed", replace(without_wait(work), phase="pushed"), "there is no remote `origin`")


def with_moved(parts: DecisionParts, done: Mapping[str, DoneTodo], commits: Mapping[str, str]) -> DecisionParts:
    """Return a step after which TODOs that are `done` have the `commits` that the branch has for them now."""
    step = parts.get("work")
    new = {
        todo: commits[todo] for todo, was in done.items() if was.commit and commits.get(todo, was.commit) != was.commit
    }
    if step is None or not new:
        return parts
    return {**parts, "work": replace(step, moved=new)}


def done(work: TodoWork, *, pause: bool) -> DecisionParts:
    """Return the end of a TODO that is done; with `pause` the plan is paused after it."""
    verdict: WorkVerdict = "done"
    commit = None
    if work.commit is None:
        verdict = "nothing_to_do"
    elif not work.rebase:
        commit = work.commit
    parts: DecisionParts = {
        "work": WorkStep(todo_id=work.id, verdict=verdict, reason=work.summary, box="done", commit=commit)
    }
    if pause:
        parts["paused"] = True
    return parts


def nothing_to_do(work: TodoWork, summary: str, notes: str | None) -> DecisionParts:
    """Return that the worker found that nothing has to be changed: the TODO is reported without a commit."""
    after = replace(work, phase="pushed", tree=None, commit=None, summary=summary, message=None)
    return moved(work, "nothing_to_do", after, summary, notes=notes)


def resolved(
    work: TodoWork,
    resolution: str,
    *,
    notes: str | None = None,
    todos: tuple[NewTodo, ...] = (),
    remark: str | None = None,
) -> DecisionParts:
    """Return that a worker resolved the conflict at which a rebase had stopped, so that the rebase goes on.

    The next conflict is for another attempt, which begins anew.
    """
    after = replace(without_change(work), tree=resolution, attempt=work.attempt + 1, todos=(*work.todos, *todos))
    after = replace(after, feedback=None, fingerprints=(), violated=False, refusals=0)
    return moved(work, "resolved", after, remark, notes=notes)


def begun_again(work: TodoWork, reason: str) -> DecisionParts:
    """Return that the work on a TODO begins again with the preparation of the worktree."""
    after = replace(without_change(work), phase="taken", base=None, commit=None)
    return moved(work, "cut_short", after, reason)


def removed(ctx: WorkContext, step: Withdraw, remark: str | None = None) -> DecisionParts:
    """Return the end of the work on a TODO that was taken out of the plan; a `remark` is for a person to see to."""
    parts: DecisionParts = {"work": WorkStep(todo_id=step.work.id, verdict="removed", reason=step.reason)}
    if remark is not None:
        parts.update(blocked(ctx, step.reason, way_on=f"prloom resume {ctx.plan_id}", cause="branch"))
    return with_remark(parts, remark)


def stays(commits: Sequence[str]) -> str:
    """Return a sentence about a rebase that is not taken back, since these commits are not prloom's."""
    return f"the rebase stays, because the branch has commits that prloom did not make: {named(_short(commits))}"


def with_remark(parts: DecisionParts, remark: str | None) -> DecisionParts:
    """Return the end of the work on a TODO with something else that a person should know, also of the block."""
    step, block = parts.get("work"), parts.get("block")
    if remark is None or step is None:
        return parts
    found: DecisionParts = {**parts, "work": replace(step, reason=f"{step.reason}; {remark}")}
    if block is not None:
        found["block"] = replace(block, reason=f"{block.reason}; {remark}")
    return found


def _short(commits: Sequence[str]) -> tuple[str, ...]:
    return tuple(each[:12] for each in commits)


def corrected(step: Correct) -> DecisionParts:
    """Return that the box of a TODO that is done is checked again."""
    assert step.todo.id is not None  # noqa: S101 - it is in done_todos
    reason = "its commit is on the branch; an older copy of the plan was saved"
    return {"work": WorkStep(todo_id=step.todo.id, verdict="corrected", reason=reason, box="done")}


def blocked_by_todo(ctx: WorkContext, step: BlockPlan) -> DecisionParts:
    """Return the block of a plan at a TODO whose box says that it is blocked."""
    assert step.todo.id is not None  # noqa: S101 - next_step looks at no other
    reason = f'the TODO "{step.todo.title}" is blocked'
    if step.todo.reason:
        reason = f"{reason}: {step.todo.reason}"
    return {"block": todo_block(ctx, step.todo.id, reason)}


def finishing_stopped(ctx: WorkContext) -> DecisionParts:
    """Return the block of a plan whose beforeFinish hooks add a TODO each time; a person lifts it."""
    rounds, way_on = ctx.rules.max_finish_rounds, f"prloom resume {ctx.plan_id}"
    reason = (
        f"the brake max_finish_rounds = {rounds} is on: the beforeFinish hooks still add TODOs, although those of "
        f"earlier runs are done; `{way_on}` lifts it"
    )
    return {"block": Block(reason=reason, since=Timestamp.of(ctx.now), way_on=way_on, cause="limit")}


def noted(ctx: WorkContext, step: NotedStep) -> DecisionParts:
    """Return the decision of a step that is no more than that."""
    match step:
        case Propose():
            return proposed(ctx, step)
        case Correct():
            return corrected(step)
        case BlockPlan():
            return blocked_by_todo(ctx, step)
        case Unblock():
            return unblocked()
        case FinishAgain():
            return hooks_run(ctx.plan_id, BEFORE_FINISH)
        case StopFinishing():
            return finishing_stopped(ctx)
        case _:
            assert_never(step)


def without_effect(step: NotedStep, following: TodoStep | None) -> str | None:
    """Return the error where a step that was done is what is to be done next: it would be for ever; else None."""
    if following != step:
        return None
    in_file, in_log = "edit or remove the line", "`prloom doctor` may show why"
    match step:
        case Correct(todo=todo):
            what, fix = f"plan.md: the box of {_named(todo)} is to be checked", in_file
        case Propose(todo=todo):
            what, fix = f"plan.md: {_named(todo)} is to wait until a person allows it", in_file
        case BlockPlan(todo=todo):
            what, fix = f"plan.md: {_named(todo)} is to block the plan", in_file
        case Unblock(block=block):
            what, fix = "the block of the plan is to end", f"`{block.way_on}` may end it"
        case FinishAgain():
            what, fix = "the beforeFinish hooks are to run again", in_log
        case StopFinishing():
            what, fix = "the plan is to be blocked, because the beforeFinish hooks add TODOs each time", in_log
        case _:
            assert_never(step)
    return f"{what}, and that changed nothing; {fix}"


def _named(todo: TodoItem) -> str:
    return f'the TODO "{todo.title}" ({todo.id})'


def reopened(todo_id: str) -> DecisionParts:
    """Return that a TODO that was done is requested again: its next commit is of another round."""
    return {"work": WorkStep(todo_id=todo_id, verdict="reopened", reason="it was requested again", box="open")}


def unblocked() -> DecisionParts:
    """Return the end of a block."""
    return {"unblocked": True}


def finished(plan_id: str) -> DecisionParts:
    """Return that the beforeFinish hooks of a plan without open TODOs have run."""
    return {"work": WorkStep(todo_id=plan_id, verdict="finished")}


def hooks_run(plan_id: str, hook: LifeHook) -> DecisionParts:
    """Return that every plugin's hook of a point about the whole plan has run."""
    return {"work": WorkStep(todo_id=plan_id, verdict="hooks_run", hook=hook)}


def hooked(work: TodoWork, plugin: str) -> WorkStep:
    """Return that a plugin's hook of this phase has run; it is committed with the hook's outcome."""
    after = replace(work, hooked=(*work.hooked, plugin))
    return WorkStep(todo_id=work.id, verdict="hooked", work=after)


BlockCause = Literal["worktree", "branch", "hook", "setup", "signature"]


def blocked(ctx: WorkContext, reason: str, *, way_on: str, cause: BlockCause) -> DecisionParts:
    """Return the block of a plan whose worktree, branch or plugin has to be put right by a person first."""
    return {"block": Block(reason=reason, since=Timestamp.of(ctx.now), way_on=way_on, cause=cause)}


def with_further(
    parts: DecisionParts, work: TodoWork, todos: Iterable[NewTodo], known: Container[str]
) -> DecisionParts:
    """Return a step that adds the further TODOs of a worker's answer; those that are `known` were added before.

    What the attempts at one TODO propose by the same title is one TODO.
    """
    new = {_further_id(work, todo): todo for todo in todos}
    added = tuple(
        Todo(id=ident, title=todo.title, context=todo.context) for ident, todo in new.items() if ident not in known
    )
    if not added:
        return parts
    return {**parts, "todos": added}


def _further_id(work: TodoWork, todo: NewTodo) -> str:
    title = todo.title
    if len(title) == bounds.TITLE:  # it may have been cut; the context begins with the whole of it then
        title = f"{title}\n{todo.context}"
    return todo_ids.of_cause(f"{work.id}/{work.round}/{title}", "prloom/work")


def named(paths: Sequence[str], most: int = 5) -> str:
    """Return the first of the paths as a text, and how many more there are."""
    text = ", ".join(printable(path) for path in paths[:most])
    if len(paths) > most:
        return f"{text} and {len(paths) - most} more"
    return text


def without_change(work: TodoWork) -> TodoWork:
    """Return the work before its next run: what the last one changed stays in the worktree."""
    after = without_wait(work)
    return replace(after, phase="ready", run=None, tree=None, summary=None, message=None, hooked=(), review_failures=0)


def without_wait(work: TodoWork) -> TodoWork:
    """Return the work when what it waited for is there."""
    return replace(work, retry_at=None, waits_for=None, waits_since=None, limited=False, unusable=None)


def moved(
    work: TodoWork, verdict: WorkVerdict, after: TodoWork, reason: str | None = None, notes: str | None = None
) -> DecisionParts:
    """Return a step after which the work is in another state."""
    return {"work": WorkStep(todo_id=work.id, verdict=verdict, reason=reason, work=after, notes=notes)}


def todo_block(ctx: WorkContext, todo_id: str, reason: str) -> Block:
    """Return the block of a plan at a TODO, which ends when the TODO is open again."""
    way_on = command("todo", ctx.plan_id, "open", todo_id)
    return Block(reason=reason, since=Timestamp.of(ctx.now), way_on=way_on, todo=todo_id, cause="todo")
