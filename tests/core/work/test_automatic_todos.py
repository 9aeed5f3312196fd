"""Failed checks and conflicts become TODOs without an agent, as often as the operator allows."""

from __future__ import annotations

from datetime import UTC

import pytest
from msgspec.structs import replace
from plan_states import an_open_event, folded
from values import an_event

from prloom.core.plans import todo_ids
from prloom.core.work import automatic_todos, work_requests, work_results
from prloom.core.work.work_steps import WorkContext, WorkRules
from prloom.model.decision import Change, DecisionParts, Todo
from prloom.model.event import Event
from prloom.model.plan import Plan
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState
from prloom.model.work import Block, CiFixes, DoneTodo, TodoWork

NOW = Timestamp(2026, 11, 23, 12, tzinfo=UTC)
HEAD = "0123456789abcdef" * 2


def after(state: DispatchState, parts: DecisionParts) -> DispatchState:
    others = {name: part for name, part in parts.items() if name != "changes"}
    return folded(state, *parts.get("changes", ()), **others)


def settle(state: DispatchState, *events: Event, **rules: object) -> DecisionParts:
    return automatic_todos.settle(
        WorkContext("fast", WorkRules(**rules), NOW), Plan(id="fast", branch="fast"), state, events
    )  # type: ignore[arg-type]


def a_failure(event_id: str, head: str | None = "h1", check: object = "test") -> Event:
    return an_event(event_id, type="check_failed", context={"check": check, "commit": head})


def triaged(reason: str, *event_ids: str) -> tuple[Change, ...]:
    return tuple(Change(event_id=each, verdict="todo", state="triaged", reason=reason) for each in event_ids)


def test_the_checks_that_failed_on_one_head_become_one_todo() -> None:
    failed = (a_failure("e1", HEAD), a_failure("e2", HEAD, check="lint"), a_failure("e3", head="h2"))

    todo = Todo(
        id=todo_ids.of_cause("e1/e2", "prloom/automatic"),
        title="Make the failed check pass: test, lint",
        context="It failed on commit 0123456789ab. The event has the end of its log.",
        event_ids=("e1", "e2"),
    )
    assert settle(DispatchState(), *failed) == {
        "changes": triaged("a failed check becomes a TODO, 1 of 3 times", "e1", "e2"),
        "todos": (todo,),
        "ci_fixes": CiFixes(count=1, head=HEAD),
    }


def test_a_check_without_a_name_is_called_by_what_its_event_says() -> None:
    events = [a_failure("e1", check=7), a_failure("e2", check=" "), a_failure("e3", check="x" * 90)]

    (todo,) = settle(DispatchState(), replace(events[0], title="build"), *events[1:])["todos"]

    assert todo.title == f"Make the failed check pass: build, a check, {'x' * 80}"


def test_when_a_pull_request_has_ended_its_checks_and_conflicts_are_nobodys_work() -> None:
    ctx, merged = WorkContext("fast", WorkRules(rebase="auto"), NOW), Plan(id="fast", branch="fast", status="merged")
    check, conflict, comment = a_failure("e1"), an_event("e2", type="merge_conflict"), an_event("e3")

    over = Change(event_id="e1", verdict="handled", state="handled", reason="the pull request is merged")
    parts = automatic_todos.settle(ctx, merged, DispatchState(), [check, conflict, comment])
    assert parts == {"changes": (over, replace(over, event_id="e2"))}
    assert automatic_todos.settle(ctx, merged, DispatchState(), [comment]) == {}


def test_after_as_many_todos_as_the_limit_a_person_is_asked() -> None:
    state = DispatchState()
    for number in range(3):
        parts = settle(state, a_failure(f"e{number}"))
        assert len(parts["todos"]) == 1
        state = after(state, parts)

    parts = settle(state, a_failure("e9"))

    assert "todos" not in parts
    (change,) = parts["changes"]
    assert (change.state, change.reason) == (
        "parked",
        "the brake max_ci_fixes = 3 is on: checks still fail after 3 TODOs to fix them; `prloom resume fast` lifts it",
    )
    assert parts["block"] == Block(reason=change.reason or "", since=NOW, way_on="prloom resume fast", cause="limit")


def test_no_limit_is_no_brake() -> None:
    parts = settle(DispatchState(), a_failure("e1"), max_ci_fixes=0)
    state = after(DispatchState(), parts)

    assert parts["changes"] == triaged("a failed check becomes a TODO, 1 of any number of times", "e1")
    assert "todos" in settle(state, a_failure("e2"), max_ci_fixes=0)


def test_a_head_that_prloom_made_goes_on_counting_and_one_of_a_person_begins_anew() -> None:
    state = after(DispatchState(), settle(DispatchState(), a_failure("e1"), max_ci_fixes=1))
    pushed = after(state, work_results.pushed(TodoWork(id="t", title="t", commit="ours"), "pushed"))

    now = TodoWork(id="u", title="u", commit="newer")
    pushed = replace(pushed, done_todos={"d": DoneTodo(commit="older")}, work=now)

    for head in ("ours", "older", "newer", None):
        braked = settle(pushed, a_failure("e2", head=head), max_ci_fixes=1)
        assert ("block" in braked, braked["ci_fixes"]) == (True, CiFixes(count=1, head=head))

    theirs = settle(pushed, a_failure("e3", head="theirs"), max_ci_fixes=1)
    assert "block" not in theirs
    assert "block" in settle(after(pushed, theirs), a_failure("e4", head="theirs"), max_ci_fixes=1)


def test_a_person_lifts_the_brake_and_what_it_has_stopped_is_looked_at_again() -> None:
    state = after(DispatchState(), settle(DispatchState(), a_failure("e1"), max_ci_fixes=1))
    opened = {"e2": an_open_event("e2", type="check_failed"), "e3": an_open_event("e3", state="parked", reason="else")}
    before = DispatchState(open=opened, ci_fixes=state.ci_fixes)
    braked = after(before, settle(state, a_failure("e2"), max_ci_fixes=1))
    assert braked.open["e2"].state == "parked"
    again = Change(event_id="e2", verdict="retried", state="pending", reason="a person lifted the brake")
    assert automatic_todos.lifted(braked) == {"changes": (again,), "ci_fixes": CiFixes()}

    resumed = after(braked, work_requests.resumed(braked))

    assert (resumed.block, resumed.ci_fixes.count) == (None, 0)
    assert {event.id: event.state for event in resumed.open.values()} == {"e2": "pending", "e3": "parked"}


def test_where_no_event_waits_any_more_only_the_block_of_the_brake_lets_the_count_begin_anew() -> None:
    block = Block(reason="r", since=NOW, way_on="prloom resume fast", cause="limit")
    state = DispatchState(block=block, ci_fixes=CiFixes(count=3))

    assert automatic_todos.lifted(state) == {"ci_fixes": CiFixes()}
    assert automatic_todos.lifted(replace(state, block=replace(block, cause="operator"))) == {}


def test_another_block_stays_as_it_is() -> None:
    other = Block(reason="r", since=NOW, way_on="prloom unblock fast")
    state = after(DispatchState(block=other), settle(DispatchState(), a_failure("e1"), max_ci_fixes=1))

    assert "block" not in settle(state, a_failure("e2"), max_ci_fixes=1)


def stopped(block: Block | None) -> DispatchState:
    """Return the state of a plan with this block, after the brake has stopped the failed check `e2`."""
    counted = after(DispatchState(), settle(DispatchState(), a_failure("e1"), max_ci_fixes=1))
    opened = {"e2": an_open_event("e2", type="check_failed")}
    before = DispatchState(open=opened, ci_fixes=counted.ci_fixes, block=block)
    return after(before, settle(before, a_failure("e2"), max_ci_fixes=1))


OF_A_TODO = stopped(Block(reason="TODO x", since=NOW, way_on="prloom todo fast open t-1", todo="t-1", cause="todo"))
BLOCKED_SINCE = after(stopped(None), work_requests.blocked(stopped(None), "fast", "wait", NOW))
OPENED_SINCE = after(OF_A_TODO, work_requests.opened(OF_A_TODO, "t-1"))


@pytest.mark.parametrize("state", [OF_A_TODO, BLOCKED_SINCE, OPENED_SINCE], ids=["a TODO's", "the operator's", "none"])
def test_a_resume_lifts_the_brake_whatever_blocks_the_plan(state: DispatchState) -> None:
    assert state.open["e2"].state == "parked"

    resumed = after(state, work_requests.resumed(state))

    assert (resumed.block, resumed.ci_fixes.count, resumed.open["e2"].state) == (None, 0, "pending")
    assert work_requests.resumed(resumed) == {}


@pytest.mark.parametrize(("state", "count", "is_in"), [(stopped(None), 0, "pending"), (BLOCKED_SINCE, 1, "parked")])
def test_the_end_of_its_own_block_lifts_the_brake_and_that_of_another_does_not(
    state: DispatchState, count: int, is_in: str
) -> None:
    unblocked = after(state, work_requests.unblocked(state))

    assert (unblocked.block, unblocked.ci_fixes.count, unblocked.open["e2"].state) == (None, count, is_in)


@pytest.mark.parametrize("mode", ["on_request", "never"])
def test_a_conflict_is_the_agents_unless_rebases_are_automatic(mode: str) -> None:
    assert settle(DispatchState(), an_event("e1", type="merge_conflict"), rebase=mode) == {}


def test_a_conflict_becomes_one_todo_to_rebase() -> None:
    parts = settle(DispatchState(), an_event("e1", type="merge_conflict"), rebase="auto")

    (todo,) = parts["todos"]
    assert todo == automatic_todos.rebase_todo("fast/e1", ("e1",))
    assert (todo.id, todo.rebase) == (todo_ids.of_cause("fast/e1", "triage/rebase"), True)
    changes = triaged('[work] rebase = "auto": the plan has a TODO to rebase the branch', "e1")
    assert parts == {"changes": changes, "todos": (todo,), "rebase_requested": True}
    assert settle(after(DispatchState(), parts), an_event("e2", type="merge_conflict"), rebase="auto") == {
        "changes": triaged("the plan has a TODO to rebase the branch already", "e2")
    }


def test_what_people_say_is_left_to_the_agent() -> None:
    assert settle(DispatchState(), an_event("e1"), rebase="auto") == {}
