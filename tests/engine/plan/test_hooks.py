"""How a plugin's hook is run on a plan's events, and what becomes of them when it fails, waits or is overtaken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from stage import FunctionHost, Stage, said
from stage_parts import deferring, failing_on, handling, passing

from prloom.api import PluginContext, TriageContext
from prloom.core.text import bounds
from prloom.core.waits import breaker
from prloom.extensions.host.interface import HookFailed
from prloom.model.hook import HookCall

Meeting = Callable[[HookCall], Awaitable[None]]


def meeting(*failures: HookFailed | None) -> Meeting:
    """Return what fails the first calls like this, and lets the later ones run."""
    left = list(failures)

    async def meet(call: HookCall) -> None:
        failure = left.pop(0) if left else None
        if failure is not None:
            raise failure

    return meet


def waiting(seconds: float) -> HookFailed:
    return HookFailed("its process is started again later", kind="waiting", retry_after=timedelta(seconds=seconds))


def ready(stage: Stage, register: Callable[[PluginContext], None] = passing, **more: Any) -> FunctionHost:
    stage.adopt()
    return stage.plugin("p", register, **more)


# ---- failing


async def test_with_on_error_pass_the_event_goes_on_to_the_agent(stage: Stage):
    ready(stage, failing_on("bad"), on_error="pass")

    await stage.poll(said("a", "bad"), said("b"))

    assert sorted(event_id for batch in stage.triager.batches for event_id in batch) == ["a", "b"]


async def test_a_plans_preset_may_let_events_pass_where_the_others_wait(stage: Stage):
    stage.configure('[presets.brave.plugins.settings.p]\non_error = "pass"\n')
    stage.adopt("pr-1", pr=1)
    stage.adopt("pr-2", pr=2, preset="brave")
    stage.plugin("p", failing_on("bad"))

    await stage.poll(said("a", "bad", pr=1), said("b", "bad", pr=2))

    assert stage.triager.batches == [("b",)]
    assert stage.open("pr-1")["a"]["state"] == "deferred"


async def test_a_hook_that_overruns_its_limit_takes_no_effect(stage: Stage):
    stage.configure('[plugins]\nhook_timeout = "50ms"\n')
    host = ready(stage)

    async def hang(call: HookCall) -> None:
        await asyncio.Event().wait()

    host.meets = hang

    await stage.poll(said("a"))

    assert stage.open()["a"]["state"] == "deferred"
    assert "overran" in stage.open()["a"]["reason"]


async def test_a_host_that_breaks_in_a_way_nobody_thought_of_is_that_plugins_failure(stage: Stage):
    host = ready(stage)

    async def explode(call: HookCall) -> None:
        raise KeyError("what")

    host.meets = explode

    await stage.poll(said("a"))

    assert stage.open()["a"]["deferral"]["owner"] == "p"
    assert "KeyError" in stage.open()["a"]["reason"]


async def test_an_outcome_too_long_to_be_written_down_is_the_hooks_failure_and_not_the_plans(stage: Stage):
    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def long(plan: str, triage: TriageContext) -> str:
            return "x" * (17 * 1024 * 1024) if triage.events[0].id == "a" else plan

    ready(stage, register)
    await stage.poll(said("a"))

    await stage.poll(said("b"))

    assert "cannot be saved" in stage.open()["a"]["reason"]
    assert stage.triager.batches == [("b",)]


# ---- processes that die, and those that wait to be started again


async def test_a_plugin_whose_process_waits_to_be_started_is_no_failed_attempt(stage: Stage):
    host = ready(stage)
    host.meets = meeting(waiting(40))

    await stage.poll(said("a"), said("b"))

    wait = stage.open()["a"]["deferral"]
    assert (wait["attempts"], wait["deferredUntil"]) == (0, "2026-01-01T12:00:40.000Z")
    assert host.shown == [("a", "b")]
    assert stage.published("plugins")[0]["error"] is None


async def test_a_process_that_is_started_again_in_a_moment_is_waited_for(stage: Stage):
    host = ready(stage)
    host.meets = meeting(waiting(0.01))

    await stage.poll(said("a"))

    assert host.shown == [("a",), ("a",)]
    assert stage.triager.batches == [("a",)]


async def test_a_call_that_was_stopped_for_anothers_sake_runs_again_and_is_not_counted(stage: Stage):
    host = ready(stage)
    host.meets = meeting(HookFailed("it was stopped", kind="stopped"), HookFailed("again", kind="stopped"))

    await stage.poll(said("a"))

    assert len(host.calls) == 3
    assert stage.fate("a") == ["pending", "pending", "pending", "triaged"]


async def test_whoever_was_in_a_process_that_died_is_shown_again_alone_before_it_is_blamed(stage: Stage):
    host = ready(stage)
    inside: list[HookCall] = []

    async def meet(call: HookCall) -> None:
        inside.append(call)
        await asyncio.sleep(0)
        guilty = any(event.id == "killer" for each in inside for event in each.events)
        await asyncio.sleep(0)
        inside.remove(call)
        if guilty:
            raise HookFailed("its process died", kind="died")

    host.meets = meet

    await stage.poll(said("innocent"), said("killer"), said("harmless"))

    assert {event["id"]: event["state"] for event in stage.open().values()} == {"killer": "deferred"}
    assert sorted(event_id for batch in stage.triager.batches for event_id in batch) == ["harmless", "innocent"]


# ---- a plugin that keeps failing


async def test_a_plugin_that_keeps_failing_is_switched_off_visibly_and_its_events_stay_deferred(stage: Stage):
    host = ready(stage, failing_on("bad"))
    stage.bridge.news = [said(f"bad{number}", "bad") for number in range(breaker.THRESHOLD)]
    async with stage.rounds() as again:
        await again()
        stage.bridge.news.append(said("good"))
        calls = len(host.calls)

        await again()

        assert len(host.calls) == calls
        good = stage.open()["good"]
        assert (good["state"], good["deferral"]["attempts"]) == ("deferred", 0)
        assert "p is switched off" in good["reason"]
        assert "switched off until" in stage.published("plugins")[0]["error"]


async def test_a_plugin_that_was_switched_off_is_tried_by_one_call_and_works_again(stage: Stage):
    for number in (1, 2, 3):
        stage.adopt(f"pr-{number}", pr=number)
    host = stage.plugin("p", failing_on("bad"))
    stage.bridge.news = [said(f"bad{number}", "bad", pr=1) for number in range(breaker.THRESHOLD)]
    async with stage.rounds() as again:
        await again()
        stage.bridge.news += [said(f"good{number}", pr=number) for number in (2, 3)]
        await again()
        host.calls.clear()
        together: list[int] = []
        at_once = 0

        async def count(call: HookCall) -> None:
            nonlocal at_once
            at_once += 1
            together.append(at_once)
            await asyncio.sleep(0)
            at_once -= 1
            if call.plan_id == "pr-1":
                raise HookFailed("still bad")

        host.meets = count
        await again(minutes=1)

        assert max(together) == 1
        assert sorted(event_id for batch in stage.triager.batches for event_id in batch) == ["good2", "good3"]


async def test_a_plugin_that_fails_on_one_event_every_second_is_switched_off_for_it(stage: Stage):
    stage.configure('[backoff]\ninitial = "1s"\nmaximum = "1s"')
    host = ready(stage, failing_on("bad"))
    stage.bridge.news = [said("a", "bad")]
    async with stage.rounds() as again:
        for _ in range(40):
            await again()
            stage.clock.advance(seconds=1)

        assert len(host.calls) == breaker.THRESHOLD
        error = stage.published("plugins")[0]["error"]
        assert error.startswith("switched off for the event that it fails on until ")
        assert error.endswith(
            "after 5 failures in a row: beforeTriage failed on a: beforeTriage raised ValueError: bad"
        )
        assert "p is switched off" in stage.open()["a"]["reason"]


async def test_an_event_for_which_a_plugin_is_switched_off_delays_none_that_comes_with_it(stage: Stage):
    stage.configure('[backoff]\ninitial = "1s"\nmaximum = "1s"')
    ready(stage, failing_on("bad"))
    stage.bridge.news = [said("a", "bad")]
    async with stage.rounds() as again:
        for _ in range(breaker.THRESHOLD):
            await again()
            stage.clock.advance(seconds=1)
        stage.ask("retry", "a")
        stage.bridge.news.append(said("good"))

        await again()

        assert stage.triager.batches == [("good",)]
        assert stage.open()["a"]["state"] == "deferred"


async def test_a_reason_of_five_megabytes_is_cut_when_it_is_accepted(stage: Stage):
    ready(stage, deferring(reason="x" * 5_000_000))

    await stage.poll(said("a"))

    wait = stage.open()["a"]["deferral"]
    assert wait["reason"] == "x" * (bounds.REASON - 1) + "…"
    assert sum(len(line) for line in (stage.local() / "bus/decisions.jsonl").read_bytes().splitlines()) < 10_000


# ---- overtaken


async def test_a_hook_that_was_overtaken_by_another_writer_runs_again_on_what_that_wrote(stage: Stage):
    for number in range(2):
        stage.adopt(f"pr-{number}", pr=number)
    both = asyncio.Barrier(2)
    first = [True, True]

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def add(plan: str, triage: TriageContext) -> None:
            triage.update_global_state("sum", lambda old: (old or 0) + 1)

    host = stage.plugin("p", register)

    async def meet(call: HookCall) -> None:
        if first:
            first.pop()
            await both.wait()

    host.meets = meet

    await stage.poll(*[said(f"e{number}", pr=number) for number in range(2)])

    writes = [w["values"] for n in range(2) for d in stage.decisions(f"pr-{n}") for w in d.get("writes", ())]
    assert sorted(write["sum"] for write in writes) == [1, 2]
    assert len(host.calls) == 3


async def test_a_hook_that_rewrote_a_plan_which_a_person_edits_meanwhile_runs_again_on_theirs(stage: Stage):
    local = stage.adopt()
    edits = ["by a person\n"]

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def add(plan: str, triage: TriageContext) -> str:
            return f"{plan}and by a plugin\n"

    host = stage.plugin("p", register)

    async def meet(call: HookCall) -> None:
        if edits:
            (local / "plan.md").write_text(edits.pop())

    host.meets = meet

    await stage.poll(said("a"))

    assert (local / "plan.md").read_text() == "by a person\nand by a plugin\n"


async def test_an_event_that_was_superseded_while_the_hook_ran_keeps_its_end(stage: Stage):
    stage.adopt()

    host = stage.plugin("p", handling("on {body}"))
    running, go_on = asyncio.Event(), asyncio.Event()

    async def meet(call: HookCall) -> None:
        if not running.is_set():
            running.set()
            await go_on.wait()

    host.meets = meet
    stage.append(said("old", "first"))
    async with stage.running():
        await running.wait()
        stage.append(said("new", "second", context={"supersedes": "old"}))
        await stage.until(lambda: "superseded" in stage.fate("old"))
        go_on.set()
        await stage.until(lambda: stage.bridge.said != [])

    assert stage.bridge.said == ["on second"]
    assert stage.state()["done"] == {"superseded": 1, "handled": 1}
