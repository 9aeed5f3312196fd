"""What is done next with a pull request follows from the plan, what was done, and what is shown already."""

from __future__ import annotations

from datetime import datetime, timedelta

from prloom.core.plans.plan_file import TodoItem
from prloom.core.pull_requests import pull_request
from prloom.core.pull_requests.pull_request import MarkReady, OpenPullRequest, ShowCockpit, Step
from prloom.model.plan import Plan
from prloom.model.pull_request import KeptPullRequest
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState
from prloom.model.work import DoneTodo

NOW = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
PLAN = Plan(id="fast", branch="fast", pr=7)
DONE = {"t-1": DoneTodo(commit="a" * 40)}
LISTED = (TodoItem("t-1", "a", "done"),)
SHOWN = KeptPullRequest(opened=True, shown=pull_request.digest("what there is"))


def step(
    plan: Plan = PLAN, kept: KeptPullRequest = SHOWN, *, opens: bool = True, sound: bool = True, is_done: bool = True
) -> Step | None:
    """Return what is done next for a plan whose one TODO was done or has not begun."""
    done, listed = (DONE, LISTED) if is_done else ({}, (TodoItem("t-1", "a"),))
    state = DispatchState(done_todos=done, pull_request=kept)
    return pull_request.next_step(plan, state, listed, "what there is", opens=opens, now=NOW, sound=sound)


def test_it_is_opened_once_there_is_a_commit_to_show():
    none = Plan(id="fast", branch="fast")

    assert step(none) == OpenPullRequest()
    assert step(none, is_done=False) is None
    assert step(none, opens=False) is None


def test_what_is_not_shown_yet_is_shown_first():
    assert step(kept=KeptPullRequest(opened=True)) == ShowCockpit(own=True)
    assert step(kept=KeptPullRequest()) == ShowCockpit(own=False)


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
    assert step(over, KeptPullRequest(opened=True, shown="before", ended=True)) is None
    assert step(over, KeptPullRequest()) is None
