from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command_line import Prloom, Refusal
from stage import Stage, said
from stage_parts import deferring
from worked_plan import WorkedPlan

from prloom.api import Author, Refused
from prloom.core.waits import agent_wait
from prloom.core.work import work_failures
from prloom.storage.dispatcher_files import OWNER, DispatcherLock
from prloom.storage.safe_dir import SafeDir


@pytest.fixture
async def waiting(stage: Stage) -> Stage:
    """Two deferred events of one plan and one of another, a held one, and a failed action."""
    stage.adopt()
    stage.adopt("other", pr=8)
    stage.plugin("quiet", deferring(saying="wait"))
    stage.bridge.refuse = lambda action: Refused("locked")
    stage.append(said("d1", "wait"), said("d2", "wait"), said("h", author=Author("eve", "none")), said("t"))
    await stage.take_in(said("d3", "wait"), plan_id="other")
    return stage


def states(stage: Stage) -> dict[str, str]:
    opened = {**stage.open(), **stage.open("other")}
    return {event_id: event["state"] for event_id, event in opened.items()}


async def test_a_deferred_event_is_due_now(waiting: Stage, prloom: Prloom) -> None:
    ran = prloom("retry", "d1", "d3")

    assert (ran.code, ran.out) == (0, "Due now: d1, d3.\n")
    assert states(waiting) == {"d1": "pending", "d2": "deferred", "h": "held", "d3": "pending"}


async def test_all_deferred_events_are_due_now_or_those_of_one_plan(waiting: Stage, prloom: Prloom) -> None:
    assert prloom("retry", "--deferred", "other").out == "Due now: d3.\n"
    assert prloom("retry", "--deferred", "--yes").out == "Due now: d1, d2.\n"
    assert prloom("retry", "--deferred", "--parked").out == "Nothing is deferred or parked.\n"


async def test_all_parked_events_are_due_now(waiting: Stage, prloom: Prloom) -> None:
    waiting.clock.advance(days=8)
    await waiting.tick()

    assert prloom("retry", "--parked", "pr-7", "--yes").out == "Due now: d1, d2.\n"
    assert states(waiting)["d3"] == "parked"


@pytest.mark.parametrize("words", [["--deferred"], ["--deferred", "--parked", "pr-7", "other"]])
async def test_all_in_a_state_are_not_retried_unasked(waiting: Stage, refused: Refusal, words: list[str]) -> None:
    assert refused("retry", *words) == (
        "prloom: 3 events match, and nothing was retried; "
        f"to retry all of them, run `prloom retry {' '.join(words)} --yes`\n"
    )
    assert states(waiting)["d1"] == "deferred"


async def test_a_failed_action_is_tried_again_by_its_id_or_its_events(waiting: Stage, prloom: Prloom) -> None:
    (action,) = waiting.state()["queue"]

    assert prloom("retry", action).out == f"Due now: {action}.\n"
    assert not waiting.state()["queue"][action].get("failed")
    await waiting.tick()
    assert waiting.state()["queue"][action]["failed"]
    assert prloom("retry", "t").code == 0
    assert not waiting.state()["queue"][action].get("failed")


async def test_a_dispatcher_that_does_not_answer_is_not_said_to_do_it(waiting: Stage, prloom: Prloom) -> None:
    with SafeDir.make(waiting.root, "prloom", ".local") as local, DispatcherLock(local):
        long_ago = (datetime.now(UTC) - timedelta(minutes=5)).timestamp()
        os.utime(Path(local.path) / OWNER, (long_ago, long_ago))

        assert prloom("retry", "d1").out == (
            f"Saved, to retry: d1. It is not done yet: the dispatcher, process {os.getpid()}, is running, but does not"
            f" answer; end it with `kill {os.getpid()}`, or with `kill -9 {os.getpid()}` if it stays, and run"
            " `prloom start` again.\n"
        )
        assert states(waiting)["d1"] == "deferred"

    await waiting.tick()
    assert waiting.fate("d1") == ["pending", "deferred", "pending", "deferred"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("h", "h is held; to approve it, run `prloom approve h`"),
        ("d11", "no event, reply, action or TODO d11; did you mean d1?"),
        ("fresh", "fresh was not taken in yet; run `prloom start`"),
    ],
)
async def test_what_waits_for_no_retry_is_refused_before_anything_is_written(
    waiting: Stage, refused: Refusal, name: str, told: str
) -> None:
    waiting.append(said("fresh"))

    assert refused("retry", "d1", name) == f"prloom: {told}\n"
    assert states(waiting)["d1"] == "deferred"
    assert not (waiting.root / "prloom/.local/control.jsonl").exists()


async def test_an_event_that_is_done_or_due_already_is_refused(waiting: Stage, prloom: Prloom) -> None:
    waiting.bridge.refuse = lambda action: None
    waiting.append(said("done"))
    await waiting.tick()
    prloom("retry", "d1")

    assert prloom("retry", "done").err == "prloom: done is already done; `prloom why` shows how it ended\n"
    assert prloom("retry", "d1").err == "prloom: d1 is already pending; run `prloom start`\n"


def test_nothing_named_is_a_mistake_of_usage(refused: Refusal) -> None:
    assert refused("retry", code=2).startswith(
        "prloom: name an event, a TODO, an action or an @AUTHOR, or use --plan, --deferred, --parked or --agent."
    )


def test_a_todo_that_waits_for_its_agent_is_due_now_by_its_name_or_that_of_the_agent(
    stage: Stage, prloom: Prloom
) -> None:
    plan = WorkedPlan(stage, "Make it fast").at("ready")
    wait = agent_wait.limited("claude", "the limit is reached", None, stage.clock())

    for words, due in ((["t-1"], "t-1"), (["--agent", "claude"], "claude")):
        plan.commit(work_failures.limited(plan.ctx, plan.work, wait))
        assert prloom("retry", *words).out == f"Due now: {due}.\n"
        assert (plan.work.retry_at, plan.work.tried) == (None, True)


def test_a_retry_that_changes_nothing_says_so(stage: Stage, prloom: Prloom, refused: Refusal) -> None:
    WorkedPlan(stage, "Make it fast").at("ready")

    assert refused("retry", "t-1") == (
        "prloom: the TODO t-1 waits for nothing that a retry ends; `prloom why t-1` shows how far it is\n"
    )
    assert prloom("retry", "--agent", "codex").out == "Nothing changed: codex is not waited for.\n"
    assert prloom("todo", "pr-7", "open", "t-1").out == (
        "Nothing changed: t-1 is open already, and waits for nothing that a person can end.\n"
    )
    assert prloom("resume", "pr-7").out == (
        "Nothing changed: pr-7 is not paused, not blocked, and waits for nothing that a person can end.\n"
    )


def test_a_todo_that_is_done_is_not_retried(stage: Stage, refused: Refusal) -> None:
    WorkedPlan(stage, "Make it fast").done()

    assert refused("retry", "t-1") == "prloom: the TODO t-1 is done; `prloom todo pr-7 open t-1` requests it again\n"


async def test_an_authors_waiting_events_are_due_now_after_a_yes(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.plugin("quiet", deferring(saying="wait"))
    ann, dan = Author("ann", "write"), Author("dan", "write")
    await stage.take_in(said("d1", "wait", author=ann), said("d2", "wait", author=ann), said("d3", "wait", author=dan))

    assert prloom("retry", "@ann").err == (
        "prloom: 2 events match, and nothing was retried; to retry all of them, run `prloom retry @ann --yes`\n"
    )
    assert prloom("retry", "@ann", "--yes").out == "Due now: d1, d2.\n"
    assert stage.open()["d3"]["state"] == "deferred"
    assert prloom("retry", "@ann").err == (
        "prloom: no event by ann is deferred or parked; `prloom events --author ann` lists those that are\n"
    )


async def test_a_plan_alone_stands_for_its_waiting_events_and_failed_actions(waiting: Stage, prloom: Prloom) -> None:
    (action,) = waiting.state()["queue"]

    ran = prloom("retry", "--plan", "pr-7")

    assert ran.err == (
        "prloom: 2 events and 1 action match, and nothing was retried; "
        "to retry all of them, run `prloom retry --plan pr-7 --yes`\n"
    )
    assert prloom("retry", "--plan", "pr-7", "--yes").out == f"Due now: d1, d2, {action}.\n"
    assert not waiting.state()["queue"][action].get("failed")
    assert states(waiting)["d3"] == "deferred"
    assert prloom("retry", "--plan", "pr-7").err == (
        "prloom: no event of plan pr-7 is deferred or parked, and no action is failed\n"
    )
