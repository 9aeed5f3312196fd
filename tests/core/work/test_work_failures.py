"""What an attempt comes to that a moved branch ends."""

from __future__ import annotations

from datetime import UTC

from prloom.core.work import work_failures
from prloom.core.work.work_steps import WorkContext, WorkRules
from prloom.model.decision import DecisionParts
from prloom.model.record import Timestamp
from prloom.model.work import TodoWork, WorkStep

CTX = WorkContext("fast", WorkRules(), Timestamp(2026, 11, 23, 12, tzinfo=UTC))
MOVED = "branch fast is at b and no longer at a"


def moved(work: TodoWork) -> WorkStep:
    step = parts_of(work)["work"]
    assert step is not None
    return step


def parts_of(work: TodoWork) -> DecisionParts:
    return work_failures.branch_moved(CTX, work, MOVED)


def test_the_work_begins_again_with_the_preparation_and_no_attempt_counts() -> None:
    before = TodoWork(id="t-1", title="T", phase="accepted", base="a", tree="t", session="s", run="r", attempt=2)

    step = moved(before)

    assert step.verdict == "cut_short"
    assert step.work is not None
    assert (step.work.phase, step.work.base, step.work.tree, step.work.session) == ("taken", None, None, "s")
    assert (step.work.attempt, step.work.failures, step.work.moves) == (2, 0, 1)


def test_the_next_attempt_is_told_that_the_change_of_the_last_one_is_gone() -> None:
    after = moved(TodoWork(id="t-1", title="T", phase="accepted", base="a", tree="t", feedback="older")).work

    assert after is not None
    assert (after.feedback or "").startswith(f"{MOVED}. The last attempt's change is not in the worktree any more")


def test_what_a_failed_attempt_is_to_be_told_is_not_forgotten() -> None:
    failed = moved(TodoWork(id="t-1", title="T", phase="ready", base="a", feedback="the check failed")).work
    new = moved(TodoWork(id="t-1", title="T", phase="ready", base="a")).work

    assert failed is not None
    assert (failed.feedback or "").startswith(f"the check failed\n\n{MOVED}")
    assert new is not None
    assert new.feedback is None


def test_a_branch_that_is_moved_each_time_parks_the_todo() -> None:
    parts = parts_of(TodoWork(id="t-1", title="T", phase="accepted", base="a", tree="t", moves=4))

    assert parts["work"] is not None
    assert parts["work"].verdict == "parked"
    assert parts["block"] is not None
    assert parts["block"].way_on == "prloom todo fast open t-1"
