"""What a person's request about the work lifts, and what it leaves as it is."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC

import pytest
from msgspec.structs import replace
from plan_states import a_queued_action, an_open_event

from prloom.core.work import work_requests
from prloom.model.decision import Change, DecisionParts, DeliveryChange
from prloom.model.record import Timestamp
from prloom.model.run import UnusableAgent, UnusableCause
from prloom.model.state import DispatchState
from prloom.model.work import Block, CiFixes, TodoWork, WorkStep

NOW = Timestamp(2026, 11, 23, 12, tzinfo=UTC)
DAILY = "the brake max_runs_per_day = 1 is on"
REPLIES = "the brake max_replies_per_thread_per_day = 1 is on"
WORK = TodoWork(id="t-1", title="x", phase="ready")
WAITS = replace(WORK, retry_at=NOW, waits_for=DAILY, waits_since=NOW, limited=True)
LIFTED = WorkStep(todo_id="t-1", verdict="lifted", reason="a person ended the wait", work=replace(WORK, lifted=True))
OPERATOR = Block(reason="blocked by the operator", since=NOW, way_on="prloom unblock fast")
HOOK = replace(OPERATOR, reason="a plugin failed", cause="hook")
OWN = replace(HOOK, todo="t-1", cause="todo")
ANEW = WorkStep(todo_id="t-1", verdict="retried", reason="a retry was requested", box="open")


def again(event_id: str) -> Change:
    return Change(event_id=event_id, verdict="retried", state="pending", reason="a person lifted the brake")


def test_a_resume_lifts_every_brake_and_leaves_what_waits_for_something_else() -> None:
    held = {
        "daily": an_open_event("daily", state="deferred", reason=DAILY),
        "quiet": an_open_event("quiet", state="deferred", reason="somebody is still writing"),
        "odd": an_open_event("odd", state="deferred"),
    }
    check = an_open_event("fixes", state="parked", reason="the brake max_ci_fixes = 1 is on")
    a, b = (a_queued_action(each, attempts=1, next_try=NOW, error=each) for each in (REPLIES, "no network"))
    state = DispatchState(paused=True, work=WAITS, open={**held, "fixes": check}, queue={a.id: a, b.id: b})

    assert work_requests.resumed(state) == {
        "work": LIFTED,
        "paused": False,
        "changes": (again("fixes"), again("daily")),
        "ci_fixes": CiFixes(),
        "deliveries": (DeliveryChange(action_id=a.id, state="queued", attempts=1),),
    }
    assert work_requests.resumed(DispatchState(open=held)) == {"changes": (again("daily"),)}


@pytest.mark.parametrize(
    ("block", "ended", "parts"),
    [
        (OWN, (), {"unblocked": True, "work": ANEW}),
        (OWN, ("t-1",), {"unblocked": True}),
        (HOOK, (), {"unblocked": True}),
    ],
)
def test_a_resume_tries_the_todo_that_blocks_the_plan_anew_unless_a_person_ended_it_and_ends_no_other_wait(
    block: Block, ended: Collection[str], parts: DecisionParts
) -> None:
    assert work_requests.resumed(DispatchState(block=block, work=WAITS), ended) == parts


def test_to_open_a_todo_ends_its_own_block_and_no_other() -> None:
    assert work_requests.opened(DispatchState(block=OWN), "t-1") == {"work": ANEW, "unblocked": True}
    assert work_requests.opened(DispatchState(block=OPERATOR), "t-1") == {"work": ANEW}


def test_the_operators_block_takes_the_place_of_any_other_and_is_made_once() -> None:
    own = replace(OPERATOR, reason=HOOK.reason)

    assert work_requests.blocked(DispatchState(), "fast", None, NOW) == {"block": OPERATOR}
    assert work_requests.blocked(DispatchState(block=OPERATOR), "fast", None, NOW) == {}
    assert work_requests.blocked(DispatchState(block=HOOK), "fast", HOOK.reason, NOW) == {"block": own}


@pytest.mark.parametrize(
    ("cause", "agent", "ends"),
    [
        ("start", "claude", True),
        ("identity", "git", True),
        ("usage_limit", "claude", False),
        ("sign_in", "claude", False),
        ("usage_limit", "codex", True),
        ("sign_in", "codex", True),
    ],
)
def test_a_start_ends_the_waits_that_settings_caused_and_those_for_programs_that_no_stage_uses_any_more(
    cause: UnusableCause, agent: str, *, ends: bool
) -> None:
    waits = replace(
        WORK, retry_at=NOW, waits_for="no", waits_since=NOW, unusable=UnusableAgent(agent=agent, cause=cause)
    )
    lifted = WorkStep(todo_id="t-1", verdict="lifted", reason="the dispatcher was started again", work=WORK)

    assert work_requests.agents_changed(DispatchState(work=waits), {"claude"}) == ({"work": lifted} if ends else {})
