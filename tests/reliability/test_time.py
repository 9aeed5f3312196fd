"""The clock goes back an hour, or forward a day, or the machine sleeps for eight hours.

Nothing waits for longer than was named, nothing is lost, and what is due at last is done once and not in a storm.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from stage import Clock, Stage, answered, said
from stage_parts import deferring

from prloom.api import Author, PluginContext, Refused, TriageContext
from prloom.api.http import HttpNeeds
from prloom.engine.views import status
from prloom.transport.client import Client

HOUR = timedelta(hours=1)
EVENTS = tuple(f"c{number}" for number in range(1, 6))


def putting_off(ctx: PluginContext) -> None:
    """Put each event off for ten minutes, and handle it when it comes again."""

    @ctx.hook("beforeTriage")
    def later(plan: str, triage: TriageContext) -> str:
        for event in triage.events:
            if triage.deferral(event.id) is None:
                triage.mark_event_deferred(event.id, "not yet", 600_000)
            else:
                triage.mark_event_handled(event.id)
        return plan


def failing(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def fail(plan: str, triage: TriageContext) -> str:
        raise RuntimeError("no luck")


# ---- an hour back


async def test_no_wait_is_an_hour_longer_because_the_clock_went_back(stage: Stage, pr_7: Path):
    host = stage.plugin("later", putting_off)
    stage.append(*map(said, EVENTS))

    async with stage.rounds() as again:
        await again()
        await again(hours=-1)

    assert [stage.fate(event_id) for event_id in EVENTS] == [["pending", "deferred", "pending", "handled"]] * 5
    assert host.shown == [EVENTS, EVENTS]


async def test_a_dispatcher_that_starts_after_the_clock_went_back_sees_that_too(stage: Stage, pr_7: Path):
    stage.plugin("later", putting_off)
    await stage.take_in(said("c1"))

    await stage.tick_after(hours=-1)

    assert stage.fate("c1") == ["pending", "deferred", "pending", "handled"]


async def test_who_waits_again_does_so_by_the_new_clock_and_is_not_asked_in_a_storm(stage: Stage, pr_7: Path):
    host = stage.plugin("later", deferring(600_000))
    stage.append(said("c1"))

    async with stage.rounds() as again:
        await again()
        stage.clock.advance(hours=-1)
        for _ in range(20):
            await again()
            stage.clock.advance(seconds=10)

    assert len(host.calls) == 2
    assert stage.open()["c1"]["deferral"]["deferredUntil"] == "2026-01-01T11:10:00.000Z"


async def test_a_clock_that_is_put_right_by_seconds_ends_no_wait(stage: Stage, pr_7: Path):
    host = stage.plugin("later", deferring(600_000))
    stage.append(said("c1"))

    async with stage.rounds() as again:
        await again()
        await again(seconds=-30)

    assert len(host.calls) == 1


async def test_a_long_agents_run_in_a_single_tick_is_no_clock_that_went_back(stage: Stage, pr_7: Path):
    stage.append(said("c1"))

    async def for_an_hour() -> None:
        stage.clock.advance(hours=1)

    stage.triager.before = for_an_hour
    stage.triager.answer = lambda batch: None
    await stage.tick()

    assert len(stage.triager.batches) == 1
    assert stage.fate("c1")[-1] == "deferred"


async def test_an_action_is_tried_again_no_later_because_the_clock_went_back(stage: Stage, pr_7: Path):
    stage.append(said("c1"))
    stage.bridge.refuse = lambda action: Refused("busy", retryable=True)

    async with stage.rounds() as again:
        await again()
        stage.bridge.refuse = lambda action: None
        await again(hours=-1)

    assert stage.bridge.said == ["re c1"]


async def test_an_author_is_looked_up_again_no_later_because_the_clock_went_back(stage: Stage, pr_7: Path):
    stage.append(said("c1", author=Author("ann")))

    async with stage.rounds() as again:
        await again()
        assert stage.open()["c1"]["state"] == "held"
        await again(hours=-1)
        stage.bridge.permissions["ann"] = "write"
        await again(minutes=2)

    assert stage.fate("c1")[-1] == "triaged"


async def test_a_bridge_is_asked_no_later_because_the_clock_went_back_and_only_once(stage: Stage):
    async with stage.running():
        await stage.until(lambda: stage.bridge.polls == 1)
        stage.clock.advance(hours=-1)
        await ticks(stage)
        stage.clock.advance(seconds=61)
        await stage.until(lambda: stage.bridge.polls == 2)
        stage.clock.advance(seconds=59)
        await ticks(stage)

    assert stage.bridge.polls == 2


async def test_a_plugin_that_was_switched_off_is_tried_no_later_because_the_clock_went_back(stage: Stage, pr_7: Path):
    stage.plugin("broken", failing)
    stage.append(*map(said, EVENTS))

    async with stage.rounds() as again:
        await again()
        (before,) = (each["error"] for each in stage.published("plugins"))
        await again(hours=-1)
        (after,) = (each["error"] for each in stage.published("plugins"))

    assert before.startswith("switched off until 2026-01-01T12:0")
    assert after.startswith("switched off until 2026-01-01T11:0")


async def test_a_plan_in_trouble_rests_no_longer_because_the_clock_went_back(stage: Stage, pr_7: Path):
    stage.append(said("c1"))

    async with stage.rounds() as again:
        journal = pr_7 / "bus/decisions.jsonl"
        journal.mkdir()
        await again()
        journal.rmdir()
        await again(hours=-1)
        await again(seconds=2)

    assert stage.fate("c1")[-1] == "triaged"


async def test_a_servers_limits_hold_for_no_longer_because_the_clock_went_back():
    clock = Clock()
    answers = httpx.MockTransport(lambda request: httpx.Response(201, json={}))
    needs = HttpNeeds(base_url="https://forge.example/", pause=1)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.advance(seconds=seconds)

    client = Client(needs, "token", clock=clock, sleep=sleep, transport=answers)
    await client.request("POST", "https://forge.example/comments", body={})
    clock.advance(hours=-1)
    await client.request("POST", "https://forge.example/comments", body={})
    await client.close()

    assert slept == [1.0]


# ---- a day forward, and eight hours of sleep


@pytest.mark.parametrize("away", [timedelta(days=1), timedelta(hours=8)], ids=["a day forward", "eight hours asleep"])
async def test_after_a_leap_everything_that_is_due_is_done_once(stage: Stage, away: timedelta, pr_7: Path):
    host = stage.plugin("later", deferring(600_000))
    stage.append(*map(said, EVENTS))

    async with stage.rounds() as again:
        await again()
        stage.clock.advance(seconds=away.total_seconds())
        polled = stage.bridge.polls
        for _ in range(10):
            await again()

    assert stage.bridge.polls - polled == 10  # each round of this stage asks once
    assert host.shown == [EVENTS, EVENTS]  # together, and once for all that was missed
    assert {each["state"] for each in stage.open().values()} == {"deferred"}
    assert {each["deferral"]["attempts"] for each in stage.open().values()} == {2}


async def test_after_a_leap_a_bridge_is_asked_once_for_all_the_times_that_were_missed(stage: Stage):
    async with stage.running():
        await stage.until(lambda: stage.bridge.polls == 1)
        stage.clock.advance(hours=8)
        await stage.until(lambda: stage.bridge.polls == 2)
        await ticks(stage)

    assert stage.bridge.polls == 2


async def test_after_a_leap_an_agent_is_asked_once_about_each_event_that_it_failed_on(stage: Stage, pr_7: Path):
    stage.append(*map(said, EVENTS))
    stage.triager.answer = lambda batch: None

    async with stage.rounds() as again:
        await again()
        stage.triager.answer = answered
        await again(hours=8)

    assert stage.triager.batches[0] == EVENTS
    assert sorted(event_id for batch in stage.triager.batches[1:] for event_id in batch) == sorted(EVENTS)
    assert sorted(stage.bridge.said) == [f"re {event_id}" for event_id in EVENTS]


# ---- what is told of it


@pytest.mark.parametrize("leap", [-HOUR, timedelta(days=1), timedelta(hours=8)])
async def test_the_status_stays_sensible(stage: Stage, leap: timedelta, pr_7: Path):
    stage.plugin("later", deferring(600_000))
    stage.append(said("c1"))

    async with stage.rounds() as again:
        await again()
        stage.clock.advance(seconds=leap.total_seconds())
        await again()
        shown = status.read(stage.paths, stage.clock())

    (plan,) = (plan for plan in shown.plans if plan.id == "pr-7")
    (waiting,) = plan.events.deferred
    assert waiting.age_ms == max(leap // timedelta(milliseconds=1), 0)
    assert waiting.attempts == 2
    assert stage.clock() < waiting.deferred_until
    assert plan.last_error is None


async def test_it_is_said_that_the_clock_went_back(stage: Stage, caplog: pytest.LogCaptureFixture):
    async with stage.rounds() as again:
        await again()
        await again(hours=-1)
        await again()

    assert [text for text in caplog.messages if "clock" in text] == [
        "the clock was turned back by 1:00:00; prloom adjusts the times, so that nothing waits longer"
    ]


async def ticks(stage: Stage, count: int = 5) -> None:
    """Let a dispatcher that runs tick so often."""
    owner = stage.root / "prloom/.local/dispatcher.owner.json"
    for _ in range(count):
        before = owner.stat().st_mtime_ns
        await stage.until(lambda before=before: owner.stat().st_mtime_ns != before)
