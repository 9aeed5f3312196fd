"""Which hooks about a whole plan are due, and what happens to the work on a plan that has ended."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest
from plan_states import a_queued_action, an_open_event, folded

from prloom.core.plans.plan_file import TodoItem
from prloom.core.work import plan_life, work_results
from prloom.core.work.work_steps import Continue, RunHooks, Withdraw
from prloom.model.plan import Plan
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState
from prloom.model.work import Block, Kept, LifeHook, TodoWork

AT = Timestamp(2026, 11, 23, 12, tzinfo=UTC)
LATER = Timestamp(2026, 11, 24, 12, tzinfo=UTC)
BLOCK = Block(reason="plugin p: no", since=AT, way_on="prloom resume fast")
OPEN = TodoItem("t-1", "Make it fast")


def a_plan(status: str = "active", *, activates: bool = False) -> Plan:
    return Plan(id="fast", branch="fast", status=status, activates=activates)


def due(plan: Plan, state: DispatchState, *todos: TodoItem, presented: bool = True) -> plan_life.PlanHookStep | None:
    return plan_life.next_step(plan, state, todos, presented=presented)


def test_a_new_plan_is_shown_to_the_hooks_before_any_todo() -> None:
    assert due(a_plan(activates=True), DispatchState(), OPEN) == RunHooks("afterActivate")
    assert due(a_plan(), DispatchState(), OPEN) is None


@pytest.mark.parametrize("state", [DispatchState(block=BLOCK), DispatchState(paused=True)])
def test_nothing_begins_on_a_plan_that_is_blocked_or_paused(state: DispatchState) -> None:
    assert due(a_plan(activates=True), state) is None


def test_what_follows_the_finish_waits_for_the_pull_request_and_for_todos() -> None:
    finished = folded(DispatchState(unfinished=True), **work_results.finished("fast"))

    assert due(a_plan(), finished) == RunHooks("afterFinish")
    assert due(a_plan(), finished, presented=False) is None
    assert due(a_plan(), finished, OPEN) is None
    assert due(a_plan(), folded(finished, **work_results.hooks_run("fast", "afterFinish"))) is None


@pytest.mark.parametrize("status", ["merged", "closed"])
def test_the_end_of_a_plan_is_told_once_and_again_after_it_was_reopened(status: str) -> None:
    ended = folded(DispatchState(), plan_status=status, at=AT)

    assert due(a_plan(status), ended) == RunHooks("afterMerge")
    assert ended.ended_at == AT

    told = folded(ended, **work_results.hooks_run("fast", "afterMerge"))
    assert due(a_plan(status), told) is None
    assert due(a_plan(status), folded(told, plan_status=status, at=LATER)) is None

    again = folded(folded(told, plan_status="active"), plan_status="merged", at=LATER)
    assert (due(a_plan("merged"), again), again.ended_at) == (RunHooks("afterMerge"), LATER)


def test_a_reopened_plan_forgets_the_end_that_was_not_told_yet() -> None:
    ended = DispatchState(hooks_due=("afterMerge",), plan_hooked=("afterMerge:a",), ended_at=AT)

    reopened = folded(ended, plan_status="active")

    assert (reopened.hooks_due, reopened.plan_hooked, reopened.ended_at) == ((), (), None)


def test_a_block_keeps_the_hooks_of_the_end_from_running() -> None:
    ended = folded(DispatchState(), plan_status="merged", block=BLOCK)

    assert due(a_plan("merged"), ended) is None
    assert due(a_plan("merged"), folded(ended, unblocked=True)) == RunHooks("afterMerge")


def test_a_block_of_before_ends_with_the_plan() -> None:
    ended = folded(DispatchState(block=BLOCK), plan_status="merged")

    assert due(a_plan("merged"), ended) == RunHooks("afterMerge")


def test_the_work_on_a_todo_ends_with_the_plan_but_a_report_is_made() -> None:
    def working(phase: str) -> DispatchState:
        return folded(DispatchState(work=TodoWork(id="t-1", title="fast", phase=phase)), plan_status="merged")  # type: ignore[arg-type]

    running, pushed = working("running"), working("pushed")

    assert running.work is not None
    assert due(a_plan("merged"), running) == Withdraw(running.work, "the pull request is merged")
    assert pushed.work is not None
    assert due(a_plan("merged"), pushed) == Continue(pushed.work)


@pytest.mark.parametrize("hook", ["afterActivate", "beforeFinish", "afterFinish", "afterMerge"])
def test_which_plugins_were_called_is_forgotten_when_all_were(hook: LifeHook) -> None:
    state = DispatchState(plan_hooked=(f"{hook}:a", "afterTodo:b"))
    assert folded(state, **work_results.hooks_run("fast", hook)).plan_hooked == ("afterTodo:b",)


def test_which_plugins_were_called_before_the_finish_is_forgotten_with_it() -> None:
    state = DispatchState(plan_hooked=("beforeFinish:a", "afterTodo:b"), finish_rounds=2)
    after = folded(state, **work_results.finished("fast"))

    assert (after.plan_hooked, after.finish_rounds) == (("afterTodo:b",), 0)


def test_a_worktree_is_kept_for_a_while_but_one_that_a_rule_adopted_is_not() -> None:
    ended = folded(folded(DispatchState(), plan_status="merged", at=AT), **work_results.hooks_run("fast", "afterMerge"))
    ruled = Plan(id="fast", branch="fast", status="merged", rule="@me")

    assert plan_life.kept(a_plan("merged"), ended, (), timedelta(days=1)) == Kept(until=LATER)
    assert plan_life.kept(ruled, ended, (), timedelta(days=1)) == Kept(until=AT)


def test_nothing_is_known_of_a_worktree_before_the_hooks_of_the_end_have_run_nor_of_one_in_use() -> None:
    ended = folded(DispatchState(), plan_status="merged")

    assert plan_life.kept(a_plan("merged"), ended, (), timedelta()) is None
    assert plan_life.kept(a_plan(), DispatchState(ended_at=AT), (), timedelta()) is None
    assert plan_life.kept(a_plan("merged"), DispatchState(), (), timedelta()) is None


def test_what_waits_in_a_plan_keeps_its_worktree() -> None:
    sign = a_queued_action("a-2", courtesy=True)
    queue = {"a-1": a_queued_action(), "a-2": sign, "a-3": a_queued_action("a-3")}
    waits = DispatchState(ended_at=AT, block=BLOCK, open={"e1": an_open_event(), "e2": an_open_event()}, queue=queue)

    assert plan_life.kept(a_plan("closed"), waits, (OPEN,), timedelta()) == Kept(
        reason="it is blocked (plugin p: no), 2 events are open, 2 actions are open, 1 TODO is open"
    )
