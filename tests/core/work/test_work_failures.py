"""What an attempt comes to that has failed, or that a moved branch ends, and what a wait does."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest
from msgspec.structs import replace

from prloom import backoff
from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import work_failures
from prloom.core.work.work_failures import AttemptFailed
from prloom.core.work.work_steps import WorkContext, WorkRules
from prloom.model.decision import DecisionParts
from prloom.model.record import Timestamp
from prloom.model.work import Block, TodoWork, WorkStep, WorkVerdict

NOW = Timestamp(2026, 11, 23, 12, tzinfo=UTC)
CTX = WorkContext("fast", WorkRules(), NOW)
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

    assert (step.verdict, step.reason) == ("cut_short", MOVED)
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
    assert (parts["work"].verdict, parts["work"].reason) == (
        "parked",
        f"5 times, its change could not be committed: {MOVED}",
    )
    assert parts["block"] is not None
    assert parts["block"].way_on == "prloom todo fast open t-1"


RUNNING = TodoWork(id="t-1", title="T", phase="running", base="a", run="r")
READY = replace(RUNNING, phase="ready", run=None)
COMMITTED = replace(READY, phase="committed", commit="0123456789abcdef" * 2)
INITIAL, DEADLINE = CTX.rules.backoff.initial, CTX.rules.backoff.deadline


def step(verdict: WorkVerdict, reason: str, work: TodoWork) -> WorkStep:
    return WorkStep(todo_id="t-1", verdict=verdict, reason=reason, work=work)


def waiting(work: TodoWork, why: str, wait: timedelta, *, since: Timestamp = NOW, limited: bool = False) -> TodoWork:
    return replace(work, waits_for=why, waits_since=since, retry_at=Timestamp.of(NOW + wait), limited=limited)


def test_after_a_run_that_failed_there_is_a_wait_and_after_a_rejection_there_is_none() -> None:
    after = waiting(
        replace(READY, attempt=2, failures=1, feedback="Again."), "busy", backoff.delay(CTX.rules.backoff, 1, "t-1")
    )
    rejected = replace(READY, attempt=2, rejections=1, feedback="Slow.")

    run, review = AttemptFailed("run", "busy", "Again."), AttemptFailed("review", "slow", "Slow.")
    assert work_failures.failed(CTX, RUNNING, run) == {"work": step("failed", "busy", after)}
    assert work_failures.failed(CTX, RUNNING, review) == {"work": step("rejected", "slow", rejected)}


def test_a_check_that_failed_leaves_its_last_lines_for_people() -> None:
    lines = [f"line {number}" for number in range(30)]
    failure = AttemptFailed(kind="check", reason="it failed", feedback="mend it", output="\n".join(lines) + "\n")
    first = work_failures.failed(CTX, RUNNING, failure)["work"]
    assert first is not None
    assert first.work is not None

    parked = work_failures.failed(CTX, first.work, failure)["work"]

    assert parked is not None
    assert parked.verdict == "parked"
    assert first.output == parked.output == "\n".join(lines[-10:])


def test_a_run_that_was_cut_short_says_why() -> None:
    assert work_failures.cut_short(RUNNING, "stopped") == {"work": step("cut_short", "stopped", READY)}


@pytest.mark.parametrize("since", [None, Timestamp(2026, 11, 22, tzinfo=UTC)])
def test_a_limit_that_a_reviewer_meets_keeps_the_change_and_when_the_wait_began(since: Timestamp | None) -> None:
    checked = replace(RUNNING, phase="checked", tree="t", waits_since=since)
    after = waiting(checked, "limit", INITIAL, since=since or NOW, limited=True)

    assert work_failures.limited(CTX, checked, AgentWait("limit", NOW + INITIAL, known=True)) == {
        "work": step("limited", "limit", after)
    }


def test_a_commit_that_the_remote_refuses_five_times_blocks_the_plan_and_the_count_begins_anew() -> None:
    fourth = waiting(replace(COMMITTED, refusals=4), "no", INITIAL)
    reason = "no; commit 0123456789ab is kept on the local branch"
    block = Block(reason=reason, since=NOW, way_on="prloom resume fast", cause="branch")

    refused = work_failures.delayed(CTX, replace(COMMITTED, refusals=3), "no", refused=True)
    assert refused == {"work": step("delayed", "no", fourth)}
    refused = work_failures.delayed(CTX, fourth, "no", refused=True)
    assert refused == {"work": step("delayed", "no", COMMITTED), "block": block}
    unreachable = work_failures.delayed(CTX, fourth, "no network")
    assert unreachable == {"work": step("delayed", "no network", replace(fourth, waits_for="no network"))}


def test_a_wait_without_a_commit_ends_at_the_deadline_with_its_reason() -> None:
    parts = work_failures.delayed(CTX, replace(READY, waits_since=Timestamp.of(NOW - DEADLINE)), "no agent")

    assert parts["work"] == WorkStep(todo_id="t-1", verdict="parked", reason="no agent", box="blocked")


def test_a_run_that_a_machine_refuses_waits_for_another_machine() -> None:
    after = waiting(replace(READY, refusals=2), "busy", backoff.delay(CTX.rules.backoff, 2, "t-1"))

    assert work_failures.refused(CTX, replace(RUNNING, refusals=1), "busy") == {"work": step("delayed", "busy", after)}


def test_a_wait_that_a_person_ends_is_over_and_no_daily_limit_holds_for_its_todo() -> None:
    lifted = step("lifted", "a person ended the wait", replace(READY, lifted=True))

    assert work_failures.lifted(waiting(READY, "limit", INITIAL, limited=True)) == lifted
