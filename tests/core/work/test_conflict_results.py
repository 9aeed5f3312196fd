"""What the run of a worker comes to that was to resolve a conflict: as that of any other, and by the files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from prloom.core.answers.json_answer import InvalidAnswer
from prloom.core.answers.worker_answer import WorkAnswer
from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import conflict_results
from prloom.core.work.conflict_results import RebaseConflict
from prloom.core.work.work_steps import WorkContext, WorkRules
from prloom.core.work.worker_results import WorkerReport
from prloom.model.work import TodoWork, WorkStep

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WORK = TodoWork(id="t1", title="Rebase", phase="running", base="old", tree="note", rebase=True, run="r1")
STOPPED = RebaseConflict(base="main", paths=("a.py",), resolution="resolution")
DONE = WorkAnswer(outcome="done", summary="It is resolved.", notes="Theirs is newer.")
OK = WorkerReport(end="ok", answer=DONE, paths=("a.py",), tree="tree")


def step(
    report: WorkerReport, conflict: RebaseConflict = STOPPED, work: TodoWork = WORK, attempts: int = 3
) -> WorkStep:
    ctx = WorkContext("p", WorkRules(max_attempts=attempts), NOON)
    found = conflict_results.judge(ctx, work, report, conflict)["work"]
    assert found is not None
    return found


def test_a_resolution_is_taken_over_and_the_next_conflict_begins_anew():
    work = replace(WORK, feedback="once more", fingerprints=("x",), violated=True, failures=1)

    found = step(OK, work=work)

    assert (found.verdict, found.notes) == ("resolved", "Theirs is newer.")
    assert found.work is not None
    assert (found.work.phase, found.work.tree, found.work.attempt) == ("ready", "resolution", 2)
    assert (found.work.feedback, found.work.fingerprints, found.work.violated) == (None, (), False)
    assert found.work.failures == 1


def test_a_good_resolution_counts_although_the_program_failed():
    found = step(WorkerReport(end="failed", error="exit code 1", answer=DONE, paths=("a.py",), tree="tree"))

    assert found.verdict == "resolved"
    assert "although the program failed: exit code 1" in (found.reason or "")


def test_a_conflict_may_be_resolved_by_the_files_as_they_are():
    answer = WorkAnswer(outcome="nothing_to_do", summary="The file stays deleted.")

    assert step(WorkerReport(end="ok", answer=answer)).verdict == "resolved"
    assert step(WorkerReport(end="ok", answer=DONE)).verdict == "resolved"
    assert step(WorkerReport(end="ok", answer=answer, paths=("b.py",))).verdict == "failed"


@pytest.mark.parametrize(
    ("report", "verdict", "failures"),
    [
        (WorkerReport(end="interrupted"), "cut_short", 0),
        (WorkerReport(end="failed", refused=True), "delayed", 0),
        (WorkerReport(end="limited", wait=AgentWait("limit", NOON + timedelta(hours=3), known=True)), "limited", 0),
        (WorkerReport(end="failed", error="overloaded"), "failed", 1),
        (WorkerReport(end="ok", answer=InvalidAnswer("no outcome")), "failed", 1),
        (WorkerReport(end="ok", answer=DONE, violations=("CLAUDE.md is protected",)), "violated", 1),
    ],
    ids=["cut short", "refused", "limited", "failed", "no answer", "violation"],
)
def test_a_run_of_no_use_comes_to_what_it_does_for_any_worker(report: WorkerReport, verdict: str, failures: int):
    found = step(report)

    assert found.verdict == verdict
    assert found.work is not None
    assert (found.work.phase, found.work.failures) == ("ready", failures)


def test_marks_that_are_left_are_failures():
    left = RebaseConflict(base="main", paths=("a.py", "b.py"), left=("b.py",))

    found, reason = step(OK, left), "the conflict with main is not resolved in b.py"
    assert found.work is not None
    assert (found.reason, found.work.feedback) == (reason, f"{reason}. Remove the marks of the conflict.")


@pytest.mark.parametrize(
    ("attempts", "failures", "reason"),
    [
        (3, 1, "2 attempts failed"),
        (0, 1, "2 attempts failed"),
        (2, 1, "the brake max_attempts = 2 is on: 2 attempts failed"),
        (1, 0, "the brake max_attempts = 1 is on: 1 attempts failed"),
    ],
)
def test_the_second_failure_gives_the_rebase_up_or_the_first_where_the_operator_says_so(
    attempts: int, failures: int, reason: str
):
    found = step(
        WorkerReport(end="failed", error="overloaded"), work=replace(WORK, failures=failures), attempts=attempts
    )

    assert found.verdict == "parked"
    assert found.reason == f"{reason}: overloaded; the rebase onto main conflicts in a.py"


def test_what_else_is_to_be_known_of_a_run_is_noted():
    ctx, report = WorkContext("p", WorkRules(), NOON), WorkerReport(end="ok", answer=DONE, remark="main was moved")

    assert conflict_results.judge(ctx, WORK, report, STOPPED)["note"] == "main was moved"


def test_a_question_parks_the_todo_with_the_files():
    answer = WorkAnswer(outcome="blocked", summary="", question="Whose?")

    found = step(WorkerReport(end="ok", answer=answer))

    assert (found.verdict, found.box) == ("parked", "blocked")
    assert found.reason == "Whose?; the rebase onto main conflicts in a.py"
