"""What other commands ask of the dispatcher: carried out once, by every plan that it is about."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from stage import Stage, said
from stage_parts import deferring

from prloom.api import Author


def waiting(stage: Stage) -> list[Any]:
    file = stage.root / "prloom/.local/bus/state/control.json"
    return json.loads(file.read_text()).get("waiting", [])


async def two_plans_with_deferred_events(stage: Stage) -> None:
    stage.plugin("later", deferring(3_600_000))
    for number in (1, 2):
        stage.adopt(f"pr-{number}", pr=number)
    stage.bridge.news = [said("one", pr=1), said("two", pr=2)]
    await stage.tick()


async def test_a_retry_makes_an_event_due_now_and_no_other(stage: Stage):
    await two_plans_with_deferred_events(stage)

    await stage.carry_out("retry", "one")

    assert stage.fate("one", "pr-1") == ["pending", "deferred", "pending", "deferred"]
    assert stage.fate("two", "pr-2") == ["pending", "deferred"]


async def test_an_approval_is_void_for_another_text_than_the_one_that_was_seen(stage: Stage):
    stage.adopt()
    await stage.poll(said("evil", author=Author("eve", "none")))
    await stage.carry_out("approve", "evil", digests={"evil": "of another text"})
    assert stage.open()["evil"]["state"] == "held"

    await stage.carry_out("approve", "evil", digests={"evil": stage.open()["evil"]["digest"]})

    assert stage.triager.batches == [("evil",)]


async def test_a_request_for_what_nobody_has_changes_nothing_and_is_not_kept(stage: Stage):
    await two_plans_with_deferred_events(stage)

    await stage.carry_out("drop", "nobody's")

    assert waiting(stage) == []
    assert {event["state"] for event in stage.open("pr-1").values()} == {"deferred"}


async def test_a_poll_that_is_asked_for_during_a_poll_is_made_after_it(stage: Stage):
    stage.adopt()
    asked, release = asyncio.Event(), asyncio.Event()

    async def hang(what: str) -> None:
        asked.set()
        await release.wait()

    stage.bridge.waits = hang
    async with stage.running() as dispatcher:
        await asked.wait()
        stage.ask("poll")
        await stage.until(lambda: dispatcher._pollers.requested == {"forge"})
        assert stage.bridge.polls == 1
        release.set()

        await stage.until(lambda: stage.bridge.polls == 2)


# ---- plans that cannot be used just now


async def test_what_a_plan_cannot_do_now_waits_for_it_and_the_others_do_it_once(stage: Stage):
    await two_plans_with_deferred_events(stage)
    events = stage.local("pr-1") / "bus/events.jsonl"
    events.rename(events.with_name("away"))
    events.mkdir()
    await stage.carry_out("retry", states=("deferred",))
    await stage.tick()
    assert [each["plans"] for each in waiting(stage)] == [["pr-1"]]
    assert len(stage.fate("two", "pr-2")) == 4

    events.rmdir()
    events.with_name("away").rename(events)
    await stage.tick()

    assert waiting(stage) == []
    assert len(stage.fate("one", "pr-1")) == 4
    assert len(stage.fate("two", "pr-2")) == 4


@pytest.mark.parametrize(("verb", "named", "decisions"), [("retry", "two", 4), ("poll", "pr-1", 2)])
async def test_a_poll_and_a_request_whose_events_were_all_found_wait_for_no_other_plan(
    stage: Stage, verb: Any, named: str, decisions: int
):
    await two_plans_with_deferred_events(stage)
    (stage.local("pr-1") / "state.json").write_text("{")

    await stage.carry_out(verb, named)

    assert waiting(stage) == []
    assert len(stage.fate("two", "pr-2")) == decisions


async def test_what_waits_for_a_plan_is_given_up_after_a_day(stage: Stage, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING)
    await two_plans_with_deferred_events(stage)
    (stage.local("pr-1") / "state.json").write_text("{")
    await stage.carry_out("retry", "one")
    assert len(waiting(stage)) == 1

    await stage.tick_after(days=1, seconds=1)

    assert waiting(stage) == []
    assert "prloom ignores it" in caplog.text


async def test_a_request_for_a_plan_that_was_given_up_is_forgotten(stage: Stage):
    await two_plans_with_deferred_events(stage)
    (stage.local("pr-1") / "state.json").write_text("{")
    await stage.carry_out("retry", "one")
    (stage.local("pr-1") / "state.json").unlink()

    await stage.tick()

    assert waiting(stage) == []


async def test_a_damaged_memory_of_requests_carries_out_again_what_changes_nothing(stage: Stage):
    await two_plans_with_deferred_events(stage)
    await stage.carry_out("drop", "one", reason="spam")
    (stage.root / "prloom/.local/bus/state/control.json").write_text("{")

    await stage.tick()

    assert stage.fate("one", "pr-1")[-1] == "dropped"
    assert stage.fate("one", "pr-1").count("dropped") == 1
