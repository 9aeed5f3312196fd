"""Decide what a step of the work on a TODO comes to: each function returns the parts of a decision that record it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, assert_never

from msgspec.structs import replace

from prloom import backoff
from prloom.core import outbox
from prloom.core.naming import printable
from prloom.core.work import BlockPlan, Correct, Propose, Take, Withdraw, WorkContext, WorkRules
from prloom.model.decision import DecisionParts
from prloom.model.record import Timestamp
from prloom.model.work import Block, TodoWork, WorkStep, WorkVerdict


def taken(step: Take, event_ids: tuple[str, ...], *, rebase: bool = False) -> DecisionParts:
    """Return the beginning of the work on a TODO that these events requested."""
    todo = step.todo
    assert todo.id is not None  # noqa: S101 - next_step takes no other
    work = TodoWork(id=todo.id, title=todo.title, round=step.round, event_ids=event_ids, rebase=rebase)
    return {"work": WorkStep(todo_id=todo.id, verdict="taken", work=work)}


def proposed(ctx: WorkContext, step: Propose) -> DecisionParts:
    """Return that a TODO waits until a person allows it."""
    assert step.todo.id is not None  # noqa: S101 - next_step looks at no other
    reason = f"it waits for `prloom todo {ctx.plan_id} go {step.todo.id}`"
    return {"work": WorkStep(todo_id=step.todo.id, verdict="proposed", reason=reason)}


def prepared(work: TodoWork, base: str, reason: str | None = None) -> DecisionParts:
    """Return that the worktree is ready, at the commit `base`."""
    return _moved(work, "prepared", replace(work, phase="prepared", base=base), reason)


def ready(work: TodoWork) -> DecisionParts:
    """Return that the beforeTodo hooks have run."""
    return _moved(work, "ready", replace(work, phase="ready", hooked=()))


def started(work: TodoWork, *, run: str, agent: str) -> DecisionParts:
    """Return that a worker is started."""
    session = None
    if work.agent == agent:
        session = work.session
    after = replace(
        work, phase="running", run=run, agent=agent, session=session, retry_at=None, waits_for=None, waits_since=None
    )
    return {**_moved(work, "started", after, f"attempt {work.attempt}, with {agent}"), "run": run}


def changed(
    work: TodoWork, *, tree: str, summary: str, message: str | None, notes: str | None, remark: str | None = None
) -> DecisionParts:
    """Return that a worker made a change that broke no rule."""
    after = replace(work, phase="changed", tree=tree, summary=summary, message=message, violated=False)
    return _moved(work, "changed", after, remark, notes=notes)


def checked(work: TodoWork, checks: Sequence[str]) -> DecisionParts:
    """Return that all checks passed."""
    reason = "no checks are configured"
    if checks:
        reason = f"passed: {', '.join(checks)}"
    return _moved(work, "checked", replace(work, phase="checked"), reason)


def approved(work: TodoWork, reason: str) -> DecisionParts:
    """Return that the change was reviewed, or needs no review."""
    return _moved(work, "approved", replace(work, phase="reviewed"), reason)


def accepted(work: TodoWork) -> DecisionParts:
    """Return that the afterTodo hooks have run, so that the change may be committed."""
    return _moved(work, "accepted", replace(work, phase="accepted", hooked=()))


def committed(work: TodoWork, commit: str) -> DecisionParts:
    """Return that the change is a commit on the plan's branch."""
    return _moved(work, "committed", replace(work, phase="committed", commit=commit), commit)


def pushed(work: TodoWork, reason: str, *, commit: str | None = None) -> DecisionParts:
    """Return that the branch was pushed, or need not be; `commit` is the TODO's commit where a rebase changed it."""
    after = replace(work, phase="pushed", commit=commit or work.commit, retry_at=None, waits_for=None, waits_since=None)
    return _moved(work, "pushed", after, reason)


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
    return _moved(work, "nothing_to_do", after, summary, notes=notes)


def resolved(work: TodoWork) -> DecisionParts:
    """Return that a worker resolved the conflict at which a rebase had stopped, so that the rebase goes on."""
    return _moved(work, "resolved", replace(_without_change(work), feedback=None))


def begun_again(work: TodoWork, reason: str) -> DecisionParts:
    """Return that the work on a TODO begins again with the preparation of the worktree."""
    after = replace(_without_change(work), phase="taken", base=None, commit=None)
    return _moved(work, "cut_short", after, reason)


def removed(step: Withdraw) -> DecisionParts:
    """Return the end of the work on a TODO that was taken out of the plan."""
    return {"work": WorkStep(todo_id=step.work.id, verdict="removed", reason=step.reason)}


def corrected(step: Correct) -> DecisionParts:
    """Return that the box of a TODO that is done is checked again."""
    assert step.todo.id is not None  # noqa: S101 - it is in done_todos
    reason = "its commit is on the branch; an older copy of the plan was saved"
    return {"work": WorkStep(todo_id=step.todo.id, verdict="corrected", reason=reason, box="done")}


def blocked_by_todo(ctx: WorkContext, step: BlockPlan) -> DecisionParts:
    """Return the block of a plan at a TODO whose box says that it is blocked."""
    assert step.todo.id is not None  # noqa: S101 - next_step looks at no other
    reason = f'the TODO "{step.todo.title}" is blocked'
    return {"block": _todo_block(ctx, step.todo.id, reason)}


def reopened(todo_id: str) -> DecisionParts:
    """Return that a TODO that was done is requested again: its next commit is of another round."""
    return {"work": WorkStep(todo_id=todo_id, verdict="reopened", reason="it was requested again", box="open")}


def unblocked() -> DecisionParts:
    """Return the end of a block."""
    return {"unblocked": True}


def finished(plan_id: str) -> DecisionParts:
    """Return that the hooks of a plan without open TODOs have run."""
    return {"work": WorkStep(todo_id=plan_id, verdict="finished")}


def hooked(work: TodoWork, plugin: str) -> WorkStep:
    """Return that a plugin's hook of this phase has run; it is committed with the hook's outcome."""
    after = replace(work, hooked=(*work.hooked, plugin))
    return WorkStep(todo_id=work.id, verdict="hooked", work=after)


BlockCause = Literal["worktree", "branch", "hook"]


def blocked(ctx: WorkContext, reason: str, *, way_on: str, cause: BlockCause) -> DecisionParts:
    """Return the block of a plan whose worktree, branch or plugin has to be put right by a person first."""
    return {"block": Block(reason=reason, since=Timestamp.of(ctx.now), way_on=way_on, cause=cause)}


def further_id(work: TodoWork, number: int) -> str:
    """Return the id of the number-th further TODO that a worker proposes."""
    return (
        "t-" + outbox.action_id(f"{work.id}/{work.round}/{work.attempt}", "prloom/work", number).removeprefix("a-")[:12]
    )


def named(paths: Sequence[str], most: int = 5) -> str:
    """Return the first of the paths as a text, and how many more there are."""
    text = ", ".join(printable(path) for path in paths[:most])
    if len(paths) > most:
        return f"{text} and {len(paths) - most} more"
    return text


# ---- failures


Failure = Literal["run", "answer", "violation", "check", "review"]


@dataclass(frozen=True)
class AttemptFailed:
    """Why an attempt at a TODO failed: in short, and what the next attempt is told.

    `fingerprints` are digests of what the attempt produced: the same twice in a row is no progress.
    """

    kind: Failure
    reason: str
    feedback: str
    fingerprints: tuple[str, ...] = ()


def failed(ctx: WorkContext, work: TodoWork, failure: AttemptFailed) -> DecisionParts:
    """Return what follows a failed attempt: another one, or a parked TODO and a blocked plan."""
    why_parked = _why_parked(work, failure, ctx.rules)
    if why_parked is not None:
        return parked(ctx, work, f"{why_parked}: {failure.reason}")
    rejected = failure.kind == "review"
    after = replace(
        _without_change(work),
        attempt=work.attempt + 1,
        failures=work.failures + (not rejected),
        rejections=work.rejections + rejected,
        feedback=failure.feedback,
        fingerprints=failure.fingerprints,
        violated=failure.kind == "violation",
    )
    if failure.kind == "run":  # whatever it was, it may be over after a while; the others do not depend on time
        wait = backoff.delay(ctx.rules.backoff, after.failures, work.id)
        after = replace(
            after, retry_at=Timestamp.of(ctx.now + wait), waits_for=failure.reason, waits_since=Timestamp.of(ctx.now)
        )
    return _moved(work, _verdict(failure.kind), after, failure.reason)


def _verdict(kind: Failure) -> WorkVerdict:
    match kind:
        case "review":
            return "rejected"
        case "violation":
            return "violated"
        case "run" | "answer" | "check":
            return "failed"
        case _:
            assert_never(kind)


def _why_parked(work: TodoWork, failure: AttemptFailed, rules: WorkRules) -> str | None:
    """Return the limit that a failure reaches, or None where there is another attempt."""
    if not set(failure.fingerprints).isdisjoint(work.fingerprints):
        return "no progress: two attempts in a row ended alike"
    if failure.kind == "violation" and work.violated:
        return "two attempts in a row broke the rules"
    if failure.kind == "review":
        if work.rejections + 1 > rules.max_review_rounds:
            return f"the reviewer rejected the change {work.rejections + 1} times"
        return None
    if work.failures + 1 >= rules.max_attempts:
        return f"{work.failures + 1} attempts failed"
    return None


def parked(ctx: WorkContext, work: TodoWork, reason: str) -> DecisionParts:
    """Return the end of the work on a TODO that needs a person; it blocks the plan, unless the others are to go on."""
    step = WorkStep(todo_id=work.id, verdict="parked", reason=reason, box="blocked")
    if ctx.rules.skip_blocked:
        return {"work": step}
    block = _todo_block(ctx, work.id, f'the TODO "{work.title}" is blocked: {reason}')
    return {"work": step, "block": block}


def limited(ctx: WorkContext, work: TodoWork, reason: str, retry_at: datetime) -> DecisionParts:
    """Return the wait for a usage limit, which is no failed attempt."""
    return _delayed(work, "limited", reason, retry_at, ctx.now)


def delayed(ctx: WorkContext, work: TodoWork, reason: str) -> DecisionParts:
    """Return the wait for what is no failure of an attempt: no agent is installed, or the remote cannot be reached.

    Each wait is as long as all before it together; after the deadline of all waits, the TODO is parked.
    """
    waited = timedelta()
    if work.waits_since is not None:
        waited = max(ctx.now - work.waits_since, timedelta())
    if waited >= ctx.rules.backoff.deadline and work.commit is None:
        return parked(ctx, work, reason)
    wait = min(max(waited, ctx.rules.backoff.initial), ctx.rules.backoff.maximum)
    return _delayed(work, "delayed", reason, ctx.now + wait, ctx.now)


def lifted(work: TodoWork) -> WorkStep:
    """Return the end of a TODO's wait because a person requested that; daily limits do not hold for it any more."""
    after = replace(work, retry_at=None, waits_for=None, waits_since=None, lifted=True)
    return WorkStep(todo_id=work.id, verdict="lifted", reason="a person ended the wait", work=after)


def cut_short(work: TodoWork, reason: str) -> DecisionParts:
    """Return that a run ended because prloom did; it is no failed attempt."""
    return _moved(work, "cut_short", _without_change(work), reason)


def _delayed(work: TodoWork, verdict: WorkVerdict, reason: str, retry_at: datetime, now: datetime) -> DecisionParts:
    after = work
    if work.phase == "running":
        after = _without_change(work)
    since = work.waits_since or Timestamp.of(now)
    after = replace(after, retry_at=Timestamp.of(retry_at), waits_for=reason, waits_since=since)
    return _moved(work, verdict, after, reason)


def _without_change(work: TodoWork) -> TodoWork:
    """Return the work before its next run: what the last one changed stays in the worktree."""
    return replace(work, phase="ready", run=None, tree=None, summary=None, message=None, hooked=())


def _moved(
    work: TodoWork, verdict: WorkVerdict, after: TodoWork, reason: str | None = None, notes: str | None = None
) -> DecisionParts:
    return {"work": WorkStep(todo_id=work.id, verdict=verdict, reason=reason, work=after, notes=notes)}


def _todo_block(ctx: WorkContext, todo_id: str, reason: str) -> Block:
    way_on = f"prloom todo {ctx.plan_id} open {todo_id}"
    return Block(reason=reason, since=Timestamp.of(ctx.now), way_on=way_on, todo=todo_id, cause="todo")
