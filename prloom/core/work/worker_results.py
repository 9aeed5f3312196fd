"""Decide what a worker's run comes to: by the worktree and the answer, never by its exit code alone."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from prloom.core.answers.json_answer import InvalidAnswer
from prloom.core.answers.worker_answer import WorkAnswer
from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import work_failures, work_results
from prloom.core.work.work_failures import AttemptFailed
from prloom.core.work.work_steps import WorkContext
from prloom.model.decision import DecisionParts
from prloom.model.kinds import RunOutcome
from prloom.model.work import TodoWork, WorkStep


@dataclass(frozen=True, kw_only=True)
class WorkerReport:
    """What a run left: how it ended, its answer (None: there is none), and the inspected change.

    `wait` is why its program cannot be used now, where the run has shown that. `said` is the text that the answer was
    looked for in. `session` is that of the run. `paths` are what the worktree changes in the TODO's base commit, `tree`
    that change as a tree. `violations` are the rules that it broke, as sentences. `remark` is something else to know
    about the run. `refused` says that a machine refused it, so that no agent was started, and `lost` that something
    killed the processes of an interrupted run while prloom went on.
    """

    end: RunOutcome
    error: str = ""
    wait: AgentWait | None = None
    answer: WorkAnswer | InvalidAnswer | None = None
    said: str = ""
    session: str | None = None
    paths: tuple[str, ...] = ()
    tree: str = ""
    violations: tuple[str, ...] = ()
    remark: str | None = None
    refused: bool = False
    lost: bool = False


def judge(ctx: WorkContext, work: TodoWork, report: WorkerReport) -> DecisionParts:
    """Return what a run comes to. A question, where there is one, is for the caller to post."""
    work = after_run(work, report)
    parts = without_use(ctx, work, report)
    if parts is None:
        assert isinstance(report.answer, WorkAnswer)  # noqa: S101 - else the run is of no use
        parts = _by_answer(ctx, work, report, report.answer)
    return {**parts, "note": report.remark}


def after_run(work: TodoWork, report: WorkerReport) -> TodoWork:
    """Return the work with the session of its latest run, and with how many runs in a row were lost."""
    losses = 0
    if report.end == "interrupted":
        losses = work.losses + report.lost
    return replace(work, session=report.session or work.session, losses=losses)


def without_use(ctx: WorkContext, work: TodoWork, report: WorkerReport) -> DecisionParts | None:
    """Return what a run comes to that is of no use, whatever it was to do; None where its change is to be judged.

    It was cut short or refused, has met a usage limit, broke a rule, left no answer, or asks a person.
    """
    if report.end == "interrupted":
        return _interrupted(ctx, work, report)
    if report.refused:
        return work_failures.refused(ctx, work, report.error)
    answer = report.answer
    has_good_answer = isinstance(answer, WorkAnswer)
    if report.wait is not None and not has_good_answer:
        return work_failures.limited(ctx, work, report.wait)
    if report.violations:
        return work_failures.failed(ctx, work, _violation(report))
    if not has_good_answer:
        return work_failures.failed(ctx, work, _without_answer(report))
    assert isinstance(answer, WorkAnswer)  # noqa: S101 - it was looked at above
    if answer.outcome == "blocked":
        return work_failures.parked(ctx, work, answer.question or answer.summary, notes=answer.notes or None)
    return None


def _interrupted(ctx: WorkContext, work: TodoWork, report: WorkerReport) -> DecisionParts:
    """Return what a run comes to that was cut short.

    Anyone may have killed the processes of one run; where the next one is lost, too, that is the runs' own doing.
    """
    if report.lost and work.losses > 1:
        return work_failures.failed(ctx, work, _without_answer(report))
    return work_failures.cut_short(work, report.error or "prloom stopped while the worker ran")


def is_final(step: WorkStep, answer: WorkAnswer) -> bool:
    """Whether a run's answer is accepted at once, for there is no change that may turn out to be none.

    The further TODOs of every other answer count when its change is committed.
    """
    return (answer.outcome, step.verdict) in {("blocked", "parked"), ("nothing_to_do", "nothing_to_do")}


def good_all_the_same(report: WorkerReport) -> str | None:
    """Return a remark on a run whose change and answer are good, if its program failed."""
    if report.end == "failed":
        return f"the change and the answer are good, although the program failed: {report.error}"
    return None


def _by_answer(ctx: WorkContext, work: TodoWork, report: WorkerReport, answer: WorkAnswer) -> DecisionParts:
    """Return what a run comes to that broke no rule, by its answer and by whether it changed anything."""
    match answer.outcome:
        case "nothing_to_do":
            if report.paths:
                return work_failures.failed(ctx, work, changed_all_the_same(report))
            return work_results.nothing_to_do(work, answer.summary, answer.notes or None)
        case "done" if not report.paths:
            return work_failures.failed(ctx, work, _UNCHANGED)
    return work_results.changed(
        work,
        tree=report.tree,
        summary=answer.summary,
        message=answer.commit_message or None,
        notes=answer.notes or None,
        todos=answer.todos,
        remark=good_all_the_same(report),
    )


_UNCHANGED = AttemptFailed(
    kind="answer",
    reason="the worker says that it is done, but changed nothing",
    feedback="Your answer said `done`, but no file in the worktree is changed. Make the change, or answer "
    "`nothing_to_do` or `blocked`.",
    output="done without a change",
)


def _violation(report: WorkerReport) -> AttemptFailed:
    said = "\n".join(f"- {each}" for each in report.violations)
    return AttemptFailed(
        kind="violation",
        reason="; ".join(report.violations),
        feedback=f"Your change was refused because it breaks these rules:\n{said}\nUndo what you did of that, and keep "
        "the rest. Leave alone what somebody else changed.",
    )


def _without_answer(report: WorkerReport) -> AttemptFailed:
    if report.end != "ok":
        reason = report.error or "the run failed"
        return AttemptFailed(kind="run", reason=reason, feedback=f"The previous run ended early: {reason}")
    problem = "its final message has no JSON object with an `outcome`"
    if isinstance(report.answer, InvalidAnswer):
        problem = report.answer.problem
    return AttemptFailed(
        kind="answer",
        reason=f"the worker's answer cannot be used: {problem}",
        feedback=f"Your answer could not be used: {problem}. Your changes are still in the worktree. Write the answer "
        "in the form that was asked for.",
        output=report.said,
    )


def changed_all_the_same(report: WorkerReport) -> AttemptFailed:
    """Return the failure of a worker that says that there is nothing to do, and has changed something."""
    named = work_results.named(report.paths)
    return AttemptFailed(
        kind="answer",
        reason=f"the worker says that there is nothing to do, but changed {named}",
        feedback=f"Your answer said `nothing_to_do`, but these files are changed: {named}. Answer `done` if the change "
        "is wanted, or undo it.",
        output=f"nothing to do, with the change {report.tree}",
    )
