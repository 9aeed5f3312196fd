"""Decide what the run of a worker comes to that was to resolve the conflict at which a rebase has stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prloom.core.answers.worker_answer import WorkAnswer
from prloom.core.text.naming import printable
from prloom.core.work import work_failures, work_results, worker_results
from prloom.core.work.work_failures import AttemptFailed
from prloom.core.work.work_steps import WorkContext
from prloom.core.work.worker_results import WorkerReport
from prloom.model.decision import DecisionParts
from prloom.model.work import TodoWork


@dataclass(frozen=True, kw_only=True)
class RebaseConflict:
    """The conflict of a rebase onto `base` in some files, after a worker's run.

    `left` are those of the files that still have the marks of a conflict, and `resolution` is the commit that says how
    it was resolved.
    """

    base: str
    paths: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    resolution: str = ""


def judge(ctx: WorkContext, work: TodoWork, report: WorkerReport, conflict: RebaseConflict) -> DecisionParts:
    """Return what a run comes to. A question, where there is one, is for the caller to post."""
    work = worker_results.after_run(work, report)
    parts = worker_results.without_use(ctx, work, report)
    if parts is None:
        assert isinstance(report.answer, WorkAnswer)  # noqa: S101 - else the run is of no use
        parts = _by_files(ctx, work, report, report.answer, conflict)
    step = parts.get("work")
    if step is not None and step.verdict == "parked" and conflict.paths:
        where = f"the rebase onto {printable(conflict.base)} conflicts in {work_results.named(conflict.paths)}"
        parts = work_results.with_remark(parts, where)
    return {**parts, "note": report.remark}


def barred(ctx: WorkContext, work: TodoWork, base: str, sentences: Sequence[str]) -> DecisionParts:
    """Return that a conflict is left to a person, since no worker may change its files, as these sentences say."""
    reason = f"the rebase onto {printable(base)} conflicts in what workers must not change: {'; '.join(sentences)}"
    return work_failures.parked(ctx, work, reason)


def _by_files(
    ctx: WorkContext, work: TodoWork, report: WorkerReport, answer: WorkAnswer, conflict: RebaseConflict
) -> DecisionParts:
    """Return what a run comes to that broke no rule, by whether the conflict is resolved."""
    if conflict.left:
        return work_failures.failed(ctx, work, _unresolved(conflict))
    if answer.outcome == "nothing_to_do" and report.paths:
        return work_failures.failed(ctx, work, worker_results.changed_all_the_same(report))
    remark = worker_results.good_all_the_same(report)
    return work_results.resolved(
        work, conflict.resolution, notes=answer.notes or None, todos=answer.todos, remark=remark
    )


def _unresolved(conflict: RebaseConflict) -> AttemptFailed:
    reason = f"the conflict with {printable(conflict.base)} is not resolved in {work_results.named(conflict.left)}"
    return AttemptFailed(kind="check", reason=reason, feedback=f"{reason}. Remove the marks of the conflict.")
