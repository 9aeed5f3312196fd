"""Decide what a failed attempt at a TODO, or a wait of the work on one, comes to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal, assert_never

from msgspec.structs import replace

from prloom import backoff
from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import work_results
from prloom.core.work.work_results import moved, todo_block, without_change
from prloom.core.work.work_steps import WorkContext, WorkRules
from prloom.model.decision import DecisionParts
from prloom.model.record import Timestamp
from prloom.model.work import TodoWork, WorkStep, WorkVerdict

AttemptFailureKind = Literal["run", "answer", "violation", "check", "review"]


MOST_REBASE_FAILURES = 2
"""After how many failed attempts at its conflicts a rebase is given up, if `max_attempts` does not end it before."""

SHOWN_LINES, SHOWN_CHARACTERS = 10, 2000
"""How much of the end of a failed check's output its history shows."""

MOST_REFUSALS = 5
"""How often a remote may refuse a commit, or machines a run, before the plan is blocked."""

MOST_RACES = 3
"""How often a push may lose a race against what others push before a person is asked."""

MOST_MOVES = 5
"""How often somebody else may move the branch before a TODO's change is committed, before the TODO is parked."""


@dataclass(frozen=True)
class AttemptFailed:
    """Why an attempt at a TODO failed: in short, and what the next attempt is told.

    `tree` is the change of the attempt, and `output` what went wrong in its own words, where each tells whether two
    attempts in a row ended alike, which is no progress.
    """

    kind: AttemptFailureKind
    reason: str
    feedback: str
    tree: str | None = None
    output: str | None = None

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Digests of what the attempt came to: if the next one has one of them too, nothing moves."""
        found = []
        if self.tree is not None:
            found.append(self.tree)
        if self.output is not None:
            found.append(sha256(self.output.encode("utf-8", "surrogatepass")).hexdigest()[:16])
        return tuple(found)


def failed(ctx: WorkContext, work: TodoWork, failure: AttemptFailed) -> DecisionParts:
    """Return what follows a failed attempt: another one, or a parked TODO and a blocked plan."""
    why_parked = _why_parked(work, failure, ctx.rules)
    if why_parked is not None:
        end = parked(ctx, work, f"{why_parked}: {failure.reason}{_other_side(work, failure)}")
        return _with_output(end, failure)
    rejected = failure.kind == "review"
    after = replace(
        without_change(work),
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
            after,
            retry_at=Timestamp.of(ctx.now + wait),
            waits_for=failure.reason,
            waits_since=Timestamp.of(ctx.now),
            limited=False,
        )
    return _with_output(moved(work, _verdict(failure.kind), after, failure.reason), failure)


def _with_output(parts: DecisionParts, failure: AttemptFailed) -> DecisionParts:
    """Return a step with the last lines that a failed check printed, for people."""
    step = parts.get("work")
    if step is None or failure.kind != "check" or not failure.output:
        return parts
    lines = failure.output.rstrip().splitlines()[-SHOWN_LINES:]
    return {**parts, "work": replace(step, output="\n".join(lines)[-SHOWN_CHARACTERS:])}


def _verdict(kind: AttemptFailureKind) -> WorkVerdict:
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
        rounds = work.rejections + 1
        if rules.max_review_rounds and rounds >= rules.max_review_rounds:
            brake = _brake("max_review_rounds", rules.max_review_rounds)
            return f"{brake}: the reviewer rejected the change {'once' if rounds == 1 else f'{rounds} times'}"
        return None
    if rules.max_attempts and work.failures + 1 >= rules.max_attempts:
        return f"{_brake('max_attempts', rules.max_attempts)}: {work.failures + 1} attempts failed"
    if work.rebase and work.failures + 1 >= MOST_REBASE_FAILURES:
        return f"{work.failures + 1} attempts failed"
    return None


def _brake(name: str, limit: int) -> str:
    """Return the name of a limit, as all brakes are named; the block or the TODO has the command that lifts it."""
    return f"the brake {name} = {limit} is on"


def _other_side(work: TodoWork, failure: AttemptFailed) -> str:
    """Return the worker's last message, where it and the reviewer do not agree."""
    if failure.kind == "review" and work.summary:
        return f"; the worker's last message: {work.summary}"
    return ""


def parked(ctx: WorkContext, work: TodoWork, reason: str, *, notes: str | None = None) -> DecisionParts:
    """Return the end of the work on a TODO that needs a person; it blocks the plan, unless the others are to go on."""
    step = WorkStep(todo_id=work.id, verdict="parked", reason=reason, box="blocked", notes=notes)
    if ctx.rules.skip_blocked:
        return {"work": step}
    block = todo_block(ctx, work.id, f'the TODO "{work.title}" is blocked: {reason}')
    return {"work": step, "block": block}


def limited(ctx: WorkContext, work: TodoWork, wait: AgentWait) -> DecisionParts:
    """Return the wait for an agent program that is not run now, which is no failed attempt."""
    after = work
    if work.phase == "running":  # the run that found it is over
        after = without_change(work)
    after = replace(after, unusable=wait.unusable, tried=False)
    return _delayed(after, "limited", wait.reason, wait.until, since=work.waits_since or Timestamp.of(ctx.now))


def delayed(ctx: WorkContext, work: TodoWork, reason: str, *, refused: bool = False) -> DecisionParts:
    """Return the wait for what is no failure of an attempt: no agent is installed, or the remote cannot be reached.

    Each wait is as long as all before it together; after the deadline of all waits, the TODO is parked. A commit that
    is on the branch blocks the plan then, or as soon as the remote has `refused` it often enough: it stays there. A run
    that has begun is not begun again: its result is asked for again.
    """
    work = replace(work, refusals=work.refusals + refused)
    waited = timedelta()
    if work.waits_since is not None:
        waited = max(ctx.now - work.waits_since, timedelta())
    is_over = waited >= ctx.rules.backoff.deadline
    if is_over and work.commit is None:
        return parked(ctx, work, reason)
    if work.commit is not None and (is_over or work.refusals >= MOST_REFUSALS):
        return _unpushed(ctx, work, reason)
    wait = min(max(waited, ctx.rules.backoff.initial), ctx.rules.backoff.maximum)
    return _delayed(work, "delayed", reason, ctx.now + wait, since=work.waits_since or Timestamp.of(ctx.now))


def _unpushed(ctx: WorkContext, work: TodoWork, reason: str) -> DecisionParts:
    """Return the block of a plan whose commit the remote does not get; a person resumes it to have it tried again."""
    kept = f"{reason}; commit {(work.commit or '')[:12]} is kept on the local branch"
    parts = work_results.blocked(ctx, kept, way_on=f"prloom resume {ctx.plan_id}", cause="branch")
    after = replace(work_results.without_wait(work), refusals=0)
    return {**moved(work, "delayed", after, reason), **parts}


def review_failed(ctx: WorkContext, work: TodoWork, reason: str) -> DecisionParts:
    """Return what follows a reviewer's run without a verdict: another one, or a parked TODO.

    It says nothing about the change, so it is no failed attempt; but as many of them end the work as failed attempts.
    """
    after = replace(work, review_failures=work.review_failures + 1)
    if ctx.rules.max_attempts and after.review_failures >= ctx.rules.max_attempts:
        brake = _brake("max_attempts", ctx.rules.max_attempts)
        return parked(ctx, work, f"{brake}: {after.review_failures} reviews of the change failed: {reason}")
    return delayed(ctx, after, reason)


def refused(ctx: WorkContext, work: TodoWork, reason: str) -> DecisionParts:
    """Return the wait for a machine that does a run which another has refused: it is no failed attempt.

    The waits grow, and after the last of `MOST_REFUSALS` the TODO is parked.
    """
    after = replace(without_change(work), refusals=work.refusals + 1)
    if after.refusals >= MOST_REFUSALS:
        return parked(ctx, work, reason)
    wait = backoff.delay(ctx.rules.backoff, after.refusals, work.id)
    return _delayed(after, "delayed", reason, ctx.now + wait, since=Timestamp.of(ctx.now))


def lifted(work: TodoWork) -> WorkStep:
    """Return the end of a TODO's wait because a person requested that; daily limits do not hold for it any more."""
    after = replace(work_results.without_wait(work), lifted=True, tried=work.unusable is not None)
    return WorkStep(todo_id=work.id, verdict="lifted", reason="a person ended the wait", work=after)


def tried(work: TodoWork, reason: str) -> WorkStep:
    """Return the end of a TODO's wait for an agent program, which is tried whatever the last run of it has shown."""
    after = replace(work_results.without_wait(work), tried=True)
    return WorkStep(todo_id=work.id, verdict="lifted", reason=reason, work=after)


def limit_changed(work: TodoWork, reason: str) -> WorkStep:
    """Return the end of a TODO's wait for what is not as it was; what there is to wait for now holds."""
    return WorkStep(todo_id=work.id, verdict="lifted", reason=reason, work=work_results.without_wait(work))


def branch_moved(ctx: WorkContext, work: TodoWork, reason: str) -> DecisionParts:
    """Return that the work begins again on what somebody else has moved the branch to: it is no failed attempt.

    What moves it may be a check or a hook, which does so each time: after `MOST_MOVES`, the TODO is parked.
    """
    moves, told = work.moves + 1, work.feedback
    if moves >= MOST_MOVES:
        return parked(ctx, work, f"{moves} times, its change could not be committed: {reason}")
    gone = f"{reason}. The last attempt's change is not in the worktree any more; make it on what is there now."
    if work.tree is not None:
        told = gone
    elif told is not None:  # the change of an attempt that failed was there for the next one
        told = f"{told}\n\n{gone}"
    return work_results.begun_again(replace(work, moves=moves, feedback=told), reason)


def race_lost(ctx: WorkContext, work: TodoWork, reason: str) -> DecisionParts:
    """Return that a rebase begins again on what others have pushed meanwhile, or after `MOST_RACES` a parked TODO."""
    moves = work.moves + 1
    if moves >= MOST_RACES:
        return parked(ctx, work, f"{moves} times, its result could not be pushed: {reason}")
    return work_results.begun_again(replace(work, moves=moves), reason)


def cut_short(work: TodoWork, reason: str) -> DecisionParts:
    """Return that a run ended because prloom did; it is no failed attempt."""
    return moved(work, "cut_short", without_change(work), reason)


def _delayed(
    work: TodoWork, verdict: WorkVerdict, reason: str, retry_at: datetime, *, since: Timestamp
) -> DecisionParts:
    after = replace(
        work,
        retry_at=Timestamp.of(retry_at),
        waits_for=reason,
        waits_since=since,
        limited=verdict == "limited",
    )
    return moved(work, verdict, after, reason)
