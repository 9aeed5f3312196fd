"""Deferrals that end when something happens: an event arrives, a TODO ends, or the plugin says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from stage import Stage, said

from prloom.api import Author, Event, HookContext, PluginContext, TriageContext
from prloom.engine.views import status, why
from prloom.model.hook import HookCall
from prloom.storage import json_codec


def gate(**asked: Any) -> Any:
    """Return a plugin that defers the event `e1` once, and says `seen` of others."""

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def wait(plan: str, triage: TriageContext) -> None:
            for event in triage.events:
                if event.id == "e1" and triage.deferral("e1") is None:
                    triage.mark_event_deferred("e1", "it waits", **asked)

    return register


def states(stage: Stage) -> Mapping[str, str]:
    return {name: event["state"] for name, event in stage.state()["open"].items()}


async def begin(stage: Stage, **asked: Any) -> None:
    stage.adopt()
    stage.plugin("gate", gate(**asked))
    await stage.poll(said("e1"))
    assert states(stage) == {"e1": "deferred"}


@pytest.mark.parametrize(
    ("wake_on", "event"),
    [
        ({"types": ["check_*"]}, said("e2", type="check_failed")),
        ({"types": ["pr_pushed"]}, said("e2", body="", type="pr_pushed")),
        ({"threads": ["t1"]}, said("e2", context={"thread": "t1"})),
        ({"types": ["x"], "threads": ["t1"], "todo": "none"}, said("e2", context={"thread": "t1"})),
    ],
)
async def test_an_event_that_meets_the_condition_ends_the_wait_also_after_a_restart(
    stage: Stage, wake_on: Any, event: Event
):
    await begin(stage, wake_on=wake_on)

    await stage.poll(event)

    assert states(stage) == {}
    (step,) = [each for each in why.document(why.find(stage.paths, "e1")).steps if each.verdict == "woken"]
    assert step.reason == f"{event.type} e2 arrived"


async def test_a_stranger_ends_no_wait_before_a_person_approves(stage: Stage):
    await begin(stage, wake_on={"types": ["pr_comment"]})

    await stage.poll(said("e2", author=Author("mallory", "none")))
    assert states(stage) == {"e1": "deferred", "e2": "held"}

    await stage.carry_out("approve", "e2")
    assert states(stage) == {}


@pytest.mark.parametrize("box", ["- [x] Do it <!-- prloom:todo d1 -->", "- [-] Do it <!-- prloom:todo d1 -->", ""])
async def test_a_todo_that_ends_in_any_way_ends_the_wait(stage: Stage, box: str):
    local = stage.adopt()
    (local / "plan.md").write_text("# Plan\n\n## TODO\n- [ ] Do it <!-- prloom:todo d1 -->\n")
    stage.plugin("gate", gate(wake_on={"todo": "d1"}))
    await stage.poll(said("e1"))
    await stage.tick_after(hours=5)
    assert states(stage) == {"e1": "deferred"}

    (local / "plan.md").write_text(f"# Plan\n\n## TODO\n{box}\n")
    await stage.tick()

    assert states(stage) == {}


async def test_a_plugin_ends_its_own_wait_together_with_what_it_writes(stage: Stage):
    def register(ctx: PluginContext) -> None:
        gate(wake_on={"types": ["never"]})(ctx)

        @ctx.hook("onEvent")
        def end(event: Event, hook: HookContext) -> None:
            if event.id == "e2":
                hook.set_state("ended", value=True)
                hook.wake("e1")

    stage.adopt()
    stage.plugin("gate", register)
    await stage.poll(said("e1"))
    assert states(stage) == {"e1": "deferred"}

    await stage.poll(said("e2"))

    assert states(stage) == {}


async def test_what_arrives_while_the_hook_runs_is_not_missed(stage: Stage):
    stage.adopt()
    host = stage.plugin("gate", gate(wake_on={"types": ["pr_pushed"]}))
    stage.bridge.news.append(said("e1"))
    stage.clock.advance(seconds=1)

    async with stage.running() as dispatcher:
        arrived = asyncio.Event()

        async def push_meanwhile(call: HookCall) -> None:
            if [event.id for event in call.events] == ["e1"] and not arrived.is_set():
                arrived.set()
                stage.append(said("e2", body="", type="pr_pushed"))
                runtime = dispatcher.registry.runtimes["pr-7"]
                while "e2" not in runtime.seen_ids:  # noqa: ASYNC110 - the dispatcher tells nobody
                    await asyncio.sleep(0.001)

        host.meets = push_meanwhile
        async with asyncio.timeout(60):
            while not stage.triager.batches:  # noqa: ASYNC110 - likewise
                await asyncio.sleep(0.001)

    assert stage.triager.batches == [("e1",)]


async def test_status_says_what_the_event_waits_for(stage: Stage):
    await begin(stage, wake_on={"types": ["check_*"]})

    (plan,) = status.read(stage.paths, stage.clock()).plans

    (event,) = json.loads(json_codec.encode(plan.events))["deferred"]
    assert event["wakeOn"] == {"types": ["check_*"]}
