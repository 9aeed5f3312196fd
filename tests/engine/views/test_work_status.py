"""What `prloom status --json` says of the work on a plan's TODOs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from stage import Stage
from worked_plan import WorkedPlan

from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import work_failures, work_requests, work_results
from prloom.core.work.work_steps import WorkRules
from prloom.engine.views import status
from prloom.model import record
from prloom.model.record import Timestamp
from prloom.model.work_report import RunningWork, RunWait
from prloom.storage import json_codec, paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir


def read(stage: Stage) -> Mapping[str, Any]:
    """Return what a program reads of the plan."""
    plans: list[Mapping[str, Any]] = json.loads(json_codec.encode(status.read(stage.paths, stage.clock())))["plans"]
    (plan,) = plans
    return plan


def boxes(stage: Stage, *states: str) -> None:
    text = "".join(f"- [{state}] TODO {number}\n" for number, state in enumerate(states))
    (stage.adopt() / "plan.md").write_text(f"# Plan\n\n## TODO\n\n{text}")


@pytest.mark.parametrize(
    ("states", "expected"), [("x ", "active"), ("xx", "review"), ("x-", "review"), ("", "review"), ("b", "review")]
)
def test_a_plan_is_active_while_a_todo_is_open_and_then_in_review(stage: Stage, states: str, expected: str) -> None:
    boxes(stage, *states)

    assert (read(stage)["status"], read(stage)["blocked"], read(stage)["block"]) == (expected, False, None)


def test_a_paused_or_merged_plan_has_that_status_although_a_todo_is_open(stage: Stage) -> None:
    plan = WorkedPlan(stage, "Make it fast")
    plan.commit({"paused": True}, by="operator", stage="operator")
    assert read(stage)["status"] == "paused"

    state = stage.local() / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "status": "merged"}))

    assert read(stage)["status"] == "merged"


def test_todos_are_counted_by_their_boxes_without_those_that_were_dropped(stage: Stage) -> None:
    boxes(stage, *"xx b-")

    assert read(stage)["todos"] == {"total": 4, "done": 2, "blocked": 1, "current": None}


def test_the_todo_that_is_worked_on_is_shown_with_its_attempt_and_run_and_when_that_began(stage: Stage) -> None:
    plan = WorkedPlan(stage, "Make it fast", "Make it small").fail("1 failed")
    stage.clock.advance(minutes=5)
    plan.at("running")
    stage.clock.advance(minutes=5)

    shown = read(stage)

    assert (shown["status"], shown["commits"]) == ("active", 0)
    assert shown["todos"]["current"] == {
        "id": "t-1",
        "title": "Make it fast",
        "attempt": 2,
        "run": "run-2",
        "startedAt": "2026-01-01T12:05:00.000Z",
        "ageMs": 300_000,
        "phase": "running",
        "agent": "claude",
    }


def test_a_wait_of_the_work_is_shown_with_its_reason_and_its_end(stage: Stage) -> None:
    plan = WorkedPlan(stage, "Make it fast").at("ready")
    until = stage.clock() + timedelta(hours=3)

    plan.commit(
        work_failures.limited(plan.ctx, plan.work, AgentWait("the usage limit is reached", until, known=True)),
        by="claude",
    )

    assert read(stage)["todos"]["current"]["wait"] == {
        "reason": "the usage limit is reached",
        "since": "2026-01-01T12:00:00.000Z",
        "until": "2026-01-01T15:00:00.000Z",
    }


def test_a_parked_todo_blocks_the_plan_with_its_reason_and_the_command_that_goes_on(stage: Stage) -> None:
    WorkedPlan(stage, "Make it fast", "Make it small").park()

    shown = read(stage)

    assert (shown["status"], shown["blocked"], shown["lastError"]) == ("active", True, None)
    assert shown["block"] == {
        "reason": 'the TODO "Make it fast" is blocked: no progress: two attempts in a row ended alike: '
        "make test failed: 1 failed",
        "since": "2026-01-01T12:00:00.000Z",
        "todo": "t-1",
        "wayOn": "prloom todo pr-7 open t-1",
        "ageMs": 0,
        "title": "Make it fast",
    }
    assert shown["todos"] == {"total": 2, "done": 0, "blocked": 1, "current": None}


def test_a_plan_that_is_blocked_at_its_last_todo_is_not_in_review(stage: Stage) -> None:
    plan = WorkedPlan(stage, "Make it fast").park()
    assert read(stage)["status"] == "active"

    plan.commit(work_requests.resumed(plan.state), by="operator", stage="operator")
    plan.done()

    assert (read(stage)["status"], read(stage)["blocked"]) == ("review", False)


def test_commits_are_counted_over_all_rounds_and_a_todo_without_a_change_is_none(stage: Stage) -> None:
    plan = WorkedPlan(stage, "Make it fast", "Make it small").done("t-1").at("running")
    plan.commit(work_results.nothing_to_do(plan.work, "It is small.", None))
    plan.done("t-2")
    assert (read(stage)["commits"], read(stage)["todos"]["done"]) == (1, 2)

    plan.commit(work_requests.opened(plan.state, "t-1"))
    plan.done("t-1")

    assert read(stage)["commits"] == 2


def test_a_todo_that_has_to_be_allowed_is_shown_with_the_command_until_it_is_gone_from_the_plan(stage: Stage) -> None:
    plan = WorkedPlan(stage, "Make it fast", rules=WorkRules(mode="ask"))
    plan.step()

    assert read(stage)["todos"]["proposed"] == {
        "id": "t-1",
        "title": "Make it fast",
        "wayOn": "prloom todo pr-7 go t-1",
        "since": "2026-01-01T12:00:00.000Z",
    }
    (stage.local() / "plan.md").write_text("# Plan\n")
    assert "proposed" not in read(stage)["todos"]


def test_what_a_run_waits_for_is_shown_while_the_dispatcher_runs_that_says_so(stage: Stage) -> None:
    WorkedPlan(stage, "Make it fast").at("ready")
    since = Timestamp.of(stage.clock())
    wait = RunWait(reason="no machine does the run yet", since=since, until=since, plan="pr-7", todo="t-1")
    with SafeDir.make(stage.root, *paths.LOCAL, paths.BUS, paths.BUS_STATE) as folder:
        Document(folder, paths.WORK).save(record.to_wire(RunningWork(run_waits={"r-1": wait})))

    after = read(stage)["todos"]["current"]
    with DispatcherLock(SafeDir.make(stage.root, *paths.LOCAL)):
        meanwhile = read(stage)["todos"]["current"]

    assert "wait" not in after
    assert meanwhile["wait"] == {"reason": wait.reason, "since": str(since), "until": str(since)}
