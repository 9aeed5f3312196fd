"""What each step of the work on a TODO leaves in the log: its verdict, its reason, and the state of the work."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC

import pytest
from msgspec.structs import replace

from prloom.core.plans.plan_file import TodoItem
from prloom.core.work import work_results as results
from prloom.core.work.work_steps import (
    BlockPlan,
    Correct,
    FinishAgain,
    NotedStep,
    Propose,
    StopFinishing,
    Take,
    Unblock,
    Withdraw,
    WorkContext,
    WorkRules,
)
from prloom.model.decision import DecisionParts
from prloom.model.record import Timestamp
from prloom.model.work import Block, TodoWork, WorkStep, WorkVerdict

NOW = Timestamp(2026, 11, 23, 12, tzinfo=UTC)
CTX = WorkContext("fast", WorkRules(), NOW)
TODO = TodoItem("t-1", "Make it fast", reason="ask me")
TOLD = TodoWork(id="t-1", title="x", phase="running", attempt=2, base="b", feedback="no", fingerprints=("f",))
RAN = replace(TOLD, run="r-1", violated=True, refusals=3, review_failures=2, hooked=("p",))
FREE = replace(RAN, tree="old", summary="old", message="old", commit="c-0")
WORK = replace(FREE, retry_at=NOW, waits_for="a limit", waits_since=NOW, limited=True)
NEW = TodoWork(id="t-1", title="Make it fast")
RUNS = replace(FREE, run="r-2", agent="a", session="s")
CHANGED = replace(FREE, phase="changed", tree="t", summary="s", message="m", violated=False, refusals=0)
CHECKED = replace(WORK, phase="checked", checks=("a", "b"))
SAME = replace(WORK, phase="pushed", tree=None, commit=None, summary="s", message=None)
AGAIN = replace(TOLD, phase="ready", commit="c-0", violated=True, refusals=3)
NEXT = replace(AGAIN, tree="t", attempt=3, feedback=None, fingerprints=(), violated=False, refusals=0)
GONE = Withdraw(WORK, "it was taken out")
BLOCK = Block(reason="", since=NOW, way_on="prloom todo fast open t-1", todo="t-1", cause="todo")
KEPT = Block(reason="it was taken out; c-0 stays", since=NOW, way_on="prloom resume fast", cause="branch")
COPY = "its commit is on the branch; an older copy of the plan was saved"


def step(verdict: WorkVerdict, reason: str | None, after: TodoWork | None = None, **values: str) -> DecisionParts:
    found = WorkStep(todo_id="t-1", verdict=verdict, reason=reason, work=after)
    return {"work": replace(found, **values)}


@pytest.mark.parametrize(
    ("recorded", "parts"),
    [
        (
            lambda: results.taken(Take(TODO, 2), ("e1",), rebase=True, answer="yes"),
            step("taken", None, replace(NEW, round=2, event_ids=("e1",), rebase=True, answer="yes")),
        ),
        (lambda: results.prepared(NEW, "b", "why"), step("prepared", "why", replace(NEW, phase="prepared", base="b"))),
        (lambda: results.ready(RAN), step("ready", None, replace(RAN, phase="ready", hooked=()))),
        (
            lambda: results.started(replace(WORK, agent="a", session="s"), run="r-2", agent="a"),
            {**step("started", "attempt 2, with a", RUNS), "run": "r-2"},
        ),
        (
            lambda: results.changed(WORK, tree="t", summary="s", message="m", notes="n", remark="odd"),
            step("changed", "odd", CHANGED, notes="n"),
        ),
        (lambda: results.nothing_to_do(WORK, "s", "n"), step("nothing_to_do", "s", SAME, notes="n")),
        (lambda: results.resolved(WORK, "t", notes="n", remark="odd"), step("resolved", "odd", NEXT, notes="n")),
        (lambda: results.checked(WORK, ("a", "b")), step("checked", "passed: a, b", CHECKED)),
        (lambda: results.approved(WORK, "good"), step("approved", "good", replace(FREE, phase="reviewed"))),
        (lambda: results.accepted(WORK), step("accepted", None, replace(WORK, phase="accepted", hooked=()))),
        (lambda: {"work": results.hooked(WORK, "q")}, step("hooked", None, replace(WORK, hooked=("p", "q")))),
        (
            lambda: results.committed(WORK, "c-1"),
            step("committed", "c-1", replace(WORK, phase="committed", commit="c-1")),
        ),
        (
            lambda: results.pushed(WORK, "to x", commit="c-1"),
            step("pushed", "to x", replace(FREE, phase="pushed", commit="c-1")),
        ),
        (lambda: results.done(WORK, pause=False), step("done", "old", box="done", commit="c-0")),
        (lambda: results.done(WORK, pause=True), {**step("done", "old", box="done", commit="c-0"), "paused": True}),
        (
            lambda: results.begun_again(WORK, "moved"),
            step("cut_short", "moved", replace(AGAIN, phase="taken", base=None, commit=None)),
        ),
        (lambda: results.removed(CTX, GONE), step("removed", "it was taken out")),
        (lambda: results.removed(CTX, GONE, "c-0 stays"), {**step("removed", KEPT.reason), "block": KEPT}),
        (lambda: results.hooks_run("fast", "afterMerge"), step("hooks_run", None, todo_id="fast", hook="afterMerge")),
        (lambda: results.reopened("t-1"), step("reopened", "it was requested again", box="open")),
        (lambda: results.noted(CTX, Propose(TODO)), step("proposed", "it waits for `prloom todo fast go t-1`")),
        (lambda: results.noted(CTX, Correct(TODO)), step("corrected", COPY, box="done")),
        (
            lambda: results.noted(CTX, BlockPlan(TODO)),
            {"block": replace(BLOCK, reason='the TODO "Make it fast" is blocked: ask me')},
        ),
    ],
)
def test_a_step_records_its_verdict_its_reason_and_no_more_of_the_last_run_than_the_next_step_needs(
    recorded: Callable[[], DecisionParts], parts: DecisionParts
) -> None:
    assert recorded() == parts


def test_no_more_than_five_paths_are_named() -> None:
    assert results.named("abcde") == "a, b, c, d, e"
    assert results.named("abcdefg") == "a, b, c, d, e and 2 more"


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (
            Correct(TODO),
            'plan.md: the box of the TODO "Make it fast" (t-1) is to be checked, and that ',
        ),
        (Propose(TODO), 'plan.md: the TODO "Make it fast" (t-1) is to wait until a person allows it, and that '),
        (BlockPlan(TODO), 'plan.md: the TODO "Make it fast" (t-1) is to block the plan, and that changed nothing; '),
        (Unblock(BLOCK), "the block of the plan is to end, and that changed nothing; `prloom todo fast open t-1` may "),
        (FinishAgain(), "the beforeFinish hooks are to run again, and that changed nothing; "),
        (StopFinishing(), "the plan is to be blocked, because the beforeFinish hooks add TODOs each time, and that "),
    ],
)
def test_a_step_that_is_to_be_done_again_after_it_was_done_is_an_error(step: NotedStep, problem: str) -> None:
    assert (results.without_effect(step, step) or "").startswith(problem)
    assert results.without_effect(step, None) is None
    assert results.without_effect(step, Correct(replace(TODO, id="t-2"))) is None
