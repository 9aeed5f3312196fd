"""What is done next with a pull request follows from the plan, what was done, and what is shown already."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from prloom.core.plans.plan_file import TodoItem
from prloom.core.pull_requests import pull_request
from prloom.core.pull_requests.pull_request import MarkReady, OpenPullRequest, PullRequestStep, ShowCockpit
from prloom.core.work.work_steps import WorkRules
from prloom.model.plan import Plan
from prloom.model.pull_request import KeptPullRequest
from prloom.model.record import Position, Timestamp
from prloom.model.state import DispatchState, QueuedAction
from prloom.model.work import Block, DoneTodo, TodoWork

NOW = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
PLAN = Plan(id="fast", branch="fast", pr=7)
DONE = {"t-1": DoneTodo(commit="a" * 40)}
LISTED = (TodoItem("t-1", "a", "done"),)
WORK = TodoWork(id="t-1", title="a")
SHOWN = KeptPullRequest(opened=True, shown=pull_request.digest("what there is"))


def step(
    plan: Plan = PLAN,
    kept: KeptPullRequest = SHOWN,
    *,
    opens: bool = True,
    sound: bool = True,
    is_done: bool = True,
    work: TodoWork | None = None,
) -> PullRequestStep | None:
    """Return what is done next for a plan whose one TODO was done or has not begun."""
    done, listed = (DONE, LISTED) if is_done else ({}, (TodoItem("t-1", "a"),))
    state = DispatchState(done_todos=done, pull_request=kept, work=work)
    return pull_request.next_step(plan, state, listed, "what there is", opens=opens, now=NOW, sound=sound)


def test_it_is_opened_once_there_is_a_commit_to_show():
    none = Plan(id="fast", branch="fast")

    assert step(none) == OpenPullRequest()
    assert step(none, is_done=False) is None
    assert step(none, opens=False) is None


def test_what_is_not_shown_yet_is_shown_first():
    assert step(kept=KeptPullRequest(opened=True)) == ShowCockpit(own=True)
    assert step(kept=KeptPullRequest()) == ShowCockpit(own=False)


def queued(**fields: Any) -> dict[str, QueuedAction]:
    return {"a-1": QueuedAction(id="a-1", position=Position(1, 0), target="forge", since=Timestamp.of(NOW), **fields)}


@pytest.mark.parametrize(
    ("state", "todos", "shown"),
    [
        ({}, (), False),
        ({}, LISTED, False),
        ({"queue": queued()}, (), False),
        ({"queue": queued(draft=True)}, (), True),
        ({"paused": True}, (), True),
        ({"done_todos": DONE}, (), True),
        ({}, (TodoItem("t-1", "a"),), True),
        ({"work": WORK}, (), True),
        ({"proposed": "t-1"}, (), True),
        ({"block": Block(reason="why", since=Timestamp.of(NOW), way_on="prloom resume fast")}, (), True),
        ({"pull_request": KeptPullRequest(shown="before")}, (), True),
    ],
)
def test_a_pull_request_of_anothers_gets_a_cockpit_once_there_is_something_to_read_or_to_tick(
    state: dict[str, Any], todos: tuple[TodoItem, ...], *, shown: bool
):
    found = pull_request.next_step(PLAN, DispatchState(**state), todos, "what there is", opens=True, now=NOW)

    assert found == (ShowCockpit(own=False) if shown else None)


def test_a_pull_request_of_prlooms_own_has_a_cockpit_also_where_there_is_nothing_to_do():
    state = DispatchState(pull_request=KeptPullRequest(opened=True))

    assert pull_request.next_step(PLAN, state, (), "nothing", opens=True, now=NOW) == ShowCockpit(own=True)


@pytest.mark.parametrize(("seconds", "waits"), [(-1, False), (0, True), (29, True), (30, False), (None, False)])
def test_while_a_todo_is_worked_on_the_cockpit_is_written_twice_a_minute_at_most(seconds: int | None, *, waits: bool):
    shown_at = None if seconds is None else Timestamp.of(NOW - timedelta(seconds=seconds))
    kept = KeptPullRequest(opened=True, shown="before", shown_at=shown_at)

    assert step(kept=kept, work=WORK) == (None if waits else ShowCockpit(own=True))
    assert step(kept=kept) == ShowCockpit(own=True)


@pytest.mark.parametrize(
    ("state", "todos", "finished"),
    [
        ({"done_todos": DONE}, (*LISTED, TodoItem("t-2", "b", "dropped")), True),
        ({"done_todos": DONE}, (*LISTED, TodoItem("t-2", "b", "blocked")), False),
        ({"done_todos": DONE, "unfinished": True}, LISTED, False),
        ({"done_todos": DONE, "work": WORK}, LISTED, False),
        ({}, (TodoItem("t-2", "b", "dropped"),), False),
    ],
)
def test_it_is_finished_once_something_was_done_and_nothing_is_left(
    state: dict[str, Any], todos: tuple[TodoItem, ...], *, finished: bool
):
    assert pull_request.is_finished(DispatchState(**state), todos) is finished


def test_cockpits_with_different_halves_of_a_character_are_different():
    assert pull_request.digest("\ud83d") != pull_request.digest("\ud83e")


def test_it_is_ready_once_all_is_done():
    assert step() == MarkReady()
    assert step(is_done=False) is None


def test_it_stays_a_draft_while_it_cannot_be_read_who_is_to_review_it():
    assert step(sound=False) is None


def test_nothing_is_left_to_do_once_it_is_ready():
    assert step(kept=KeptPullRequest(opened=True, shown=SHOWN.shown, ready=True)) is None


def test_a_pull_request_of_anothers_stays_as_ready_as_its_author_made_it():
    assert step(kept=KeptPullRequest(shown=SHOWN.shown)) is None


def test_after_an_error_nothing_is_done_before_its_time():
    later = KeptPullRequest(retry_at=Timestamp.of(NOW + timedelta(seconds=1)), opened=True)
    due = KeptPullRequest(retry_at=Timestamp.of(NOW), opened=True)

    assert step(kept=later) is None
    assert step(kept=due) == ShowCockpit(own=True)


def test_of_one_that_ended_the_last_is_shown_once():
    over = Plan(id="fast", branch="fast", pr=7, status="merged")

    assert step(over, KeptPullRequest(opened=True, shown="before")) == ShowCockpit(own=True)
    assert step(over, KeptPullRequest(opened=True)) == ShowCockpit(own=True)
    assert step(over, KeptPullRequest(shown="before")) == ShowCockpit(own=False)
    assert step(over, SHOWN) is None
    assert step(over, KeptPullRequest(opened=True, shown="before"), work=WORK) is None
    assert step(over, KeptPullRequest(opened=True, shown="before", ended=True)) is None
    assert step(over, KeptPullRequest()) is None


# ---- the boxes that are offered


def boxes(rules: WorkRules | None = None, **fields: Any) -> tuple[str, ...]:
    return tuple(pull_request.view(DispatchState(**fields), (), "", rules or WorkRules(), host=None).boxes)


TRIPPED = Block(reason="no", since=Timestamp.of(NOW), way_on="x", cause="todo")
BY_PERSON = Block(reason="no", since=Timestamp.of(NOW), way_on="x")


@pytest.mark.parametrize(
    ("offered", "fields"),
    [
        (("pause",), {}),
        (("resume",), {"paused": True}),
        (("pause", "retry"), {"block": TRIPPED}),
        (("pause", "resume"), {"block": BY_PERSON}),
        (("pause", "retry"), {"queue": queued(failed=True)}),
        (("pause", "rebase"), {"commits": 1}),
        (("pause",), {"commits": 1, "rebase_todo": "t-9"}),
        (("pause", "go"), {"proposed": "t-1"}),
    ],
)
def test_a_box_is_offered_that_would_do_something_now(offered: tuple[str, ...], fields: dict[str, Any]):
    assert boxes(**fields) == offered


def test_a_block_by_a_todo_is_told_once_at_that_todo():
    block = replace(TRIPPED, todo="t-1")
    blocked = (TodoItem("t-1", "A", "blocked", reason="no"),)
    found = pull_request.view(DispatchState(block=block), blocked, "", WorkRules(), host=None)

    assert (found.blocked, found.block, found.todos[0].reason) == (True, None, "no")
    assert pull_request.view(DispatchState(block=block), (), "", WorkRules(), host=None).block == "no"


def test_no_rebase_is_offered_where_the_operator_wants_none():
    assert boxes(WorkRules(rebase="never"), commits=1) == ("pause",)


def test_the_cockpit_counts_the_replies_that_wait_and_tells_what_was_changed_and_checked():
    done = {"t-1": DoneTodo(commit="a" * 40, summary="It is fast.", checks=("make test",))}
    found = pull_request.view(
        DispatchState(done_todos=done, queue=queued(draft=True)), LISTED, "", WorkRules(), host=None
    )

    assert (found.drafts, found.checks, found.todos[0].summary) == (1, ("make test",), "It is fast.")
