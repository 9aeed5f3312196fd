"""A plan at work: what its trouble does to it, and what it does not do to others."""

from __future__ import annotations

import itertools
import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from faulty_disks import WatchedDisk
from stage import Stage, said

from prloom.api import PluginContext, TriageContext
from prloom.core.delivery.outbox import cockpit_marker
from prloom.engine.plan.rules import rules
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.errors import StorageError
from prloom.model.pull_request import KeptPullRequest


class BrokenDisk(WatchedDisk):
    """A disk on which nothing can be written while it is `broken`."""

    broken = False

    def about_to(self, operation: str) -> None:
        if self.broken and operation == "write":
            raise OSError(28, "No space left on device")


def plan_state(stage: Stage) -> dict[str, Any]:
    return json.loads((stage.local() / "state.json").read_text())


def rest(runtime: PlanRuntime, now: Any) -> timedelta:
    assert runtime.failure.until is not None
    return runtime.failure.until - now


def test_a_bridge_is_told_whether_the_cockpit_is_in_a_comment_or_in_the_description(registry: PlanRegistry):
    runtime = registry.runtimes["pr-7"]
    adopted = runtime.tracked.cockpit

    runtime.event_store.commit("pull_request", "test", pull_request=KeptPullRequest(opened=True))

    assert (adopted, runtime.tracked.cockpit) == (cockpit_marker("pr-7"), None)


def test_trouble_that_comes_back_soon_has_lasted_since_it_came_first(stage: Stage, registry: PlanRegistry):
    runtime, since = registry.runtimes["pr-7"], []
    for error, pause in (("no room", 30), ("no room", 30), ("no exchange", 30), ("no exchange", 3600)):
        runtime.fail(error)
        since.append(plan_state(stage)["lastErrorAt"][11:19])
        stage.clock.now += timedelta(seconds=pause)
        runtime.reopen()
        runtime.succeeded()
    runtime.fail("no exchange")

    assert since == ["12:00:00", "12:00:00", "12:01:00", "12:01:00"]
    assert plan_state(stage)["lastErrorAt"][11:19] == "13:01:30"


def test_what_is_still_at_work_on_a_plan_in_trouble_can_write_nothing(registry: PlanRegistry):
    runtime = registry.runtimes["pr-7"]
    runtime.fail("the disk is full")

    with pytest.raises(StorageError, match="the disk is full"):
        runtime.event_store.commit("triage", "agent")


def test_trouble_that_comes_back_soon_makes_a_plan_rest_longer_each_time(stage: Stage, registry: PlanRegistry):
    runtime = registry.runtimes["pr-7"]
    rests = []
    for _ in range(12):
        runtime.fail("again")
        rests.append(rest(runtime, stage.clock()))
        stage.clock.now = runtime.failure.until
        runtime.reopen()
        runtime.succeeded()

    assert rests[:4] == sorted(rests[:4])
    assert rests[3] > 4 * rests[0]
    assert timedelta(minutes=4) < rests[-1] <= timedelta(minutes=5)


def test_trouble_after_a_calm_time_is_new_trouble(stage: Stage, registry: PlanRegistry):
    runtime = registry.runtimes["pr-7"]
    for _ in range(5):
        runtime.fail("again")
        stage.clock.now = runtime.failure.until
    stage.clock.advance(hours=1)

    runtime.fail("again")

    assert rest(runtime, stage.clock()) <= timedelta(seconds=1)


def test_many_jobs_that_fail_of_one_trouble_are_one_trouble(stage: Stage, registry: PlanRegistry):
    runtime = registry.runtimes["pr-7"]
    runtime.fail("the disk is full")
    first = runtime.failure.until

    runtime.fail("decisions.jsonl cannot be written any more")

    assert runtime.failure.until == first
    assert plan_state(stage)["lastError"] == "the disk is full"


def test_trouble_that_cannot_even_be_written_down_is_borne(stage: Stage, pr_7: Path):
    disk = BrokenDisk()
    registry = PlanRegistry(stage.paths, rules(stage.config), stage.clock, disk=disk)
    registry.update(rules(stage.config))
    disk.broken = True

    registry.runtimes["pr-7"].fail("no room")
    registry.repository.fail("no room")

    disk.broken = False
    registry.close()
    assert plan_state(stage).get("lastError") is None


async def test_the_error_of_an_earlier_dispatcher_goes_when_the_plan_can_be_worked_on(stage: Stage):
    stage.adopt(last_error="the disk was full", last_error_at="2026-01-01T00:00:00.000Z")

    await stage.tick()

    assert plan_state(stage).get("lastError") is None


def test_trouble_of_the_repositorys_own_bus_does_not_make_it_look_like_a_plans_worktree(
    stage: Stage, registry: PlanRegistry
):
    registry.repository.fail("no room")
    registry.publish([], [], stage.clock())

    assert not (stage.root / "prloom/.local/state.json").exists()
    assert stage.published("unreadable") == {"": "no room"}


async def test_a_bug_on_one_plan_keeps_no_other_from_being_worked_on(stage: Stage):
    stage.adopt("pr-1", pr=1)
    stage.adopt("pr-2", pr=2)
    stage.bridge.news = [said("one", pr=1), said("two", pr=2)]

    class Buggy(type(stage.triager)):
        async def triage(self, runtime: PlanRuntime, step: Any) -> None:
            if runtime.id == "pr-1":
                raise KeyError("a bug")
            await super().triage(runtime, step)

    stage.triager = Buggy()

    await stage.tick()

    assert stage.bridge.said == ["re two"]
    assert stage.open("pr-1")["one"]["state"] == "pending"
    state = json.loads((stage.local("pr-1") / "state.json").read_text())
    assert "a bug in prloom: KeyError" in state["lastError"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), "there is not enough memory; close other programs, or give prloom more memory"),
        (OSError(5, "Input/output error", "/x/runs/1"), "Input/output error (/x/runs/1); check the disk"),
        (
            ExceptionGroup("unhandled errors in a TaskGroup", [PermissionError(13, "Permission denied", "/x")]),
            "Permission denied (/x); correct the permissions",
        ),
    ],
    ids=["memory", "disk", "group"],
)
async def test_what_the_machine_refuses_is_not_called_a_bug(
    stage: Stage, caplog: pytest.LogCaptureFixture, error: Exception, told: str, pr_7: Path
):
    stage.bridge.news = [said("one")]

    class Refused(type(stage.triager)):
        async def triage(self, runtime: PlanRuntime, step: Any) -> None:
            raise error

    stage.triager = Refused()

    await stage.tick()

    assert json.loads((stage.local() / "state.json").read_text())["lastError"] == told
    assert f"{told}; plan pr-7 is tried again later" in caplog.messages
    assert "a bug" not in caplog.text
    assert "Traceback" not in caplog.text


async def test_a_bug_that_stays_backs_off(stage: Stage, pr_7: Path):
    calls = []

    class Buggy(type(stage.triager)):
        async def triage(self, runtime: PlanRuntime, step: Any) -> None:
            calls.append(stage.clock())
            raise KeyError("a bug")

    stage.triager = Buggy()
    stage.bridge.news = [said("a")]
    async with stage.rounds() as again:
        for _ in range(120):
            await again()
            stage.clock.advance(seconds=5)

    gaps = [later - earlier for earlier, later in itertools.pairwise(calls)]
    assert len(calls) < 12
    assert gaps[-1] > timedelta(minutes=2)


async def test_a_worktree_that_is_removed_by_hand_while_a_hook_runs_harms_nobody(stage: Stage):
    stage.adopt("pr-1", pr=1)
    stage.adopt("pr-2", pr=2)

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def handle(plan: str, triage: TriageContext) -> None:
            triage.emit_comment(triage.events[0].reply_to, f"on {triage.events[0].id}")
            triage.mark_event_handled(triage.events[0].id)

    host = stage.plugin("p", register)

    async def meet(call: Any) -> None:
        if call.plan_id == "pr-1":
            shutil.rmtree(stage.paths.worktree("pr-1"))

    host.meets = meet
    stage.bridge.news = [said("one", pr=1), said("two", pr=2)]
    async with stage.running() as dispatcher:
        await stage.until(lambda: stage.bridge.said == ["on two"])
        await stage.until(lambda: list(dispatcher.registry.runtimes) == ["pr-2"])
        assert not stage.paths.worktree("pr-1").exists()


async def test_a_plan_that_was_removed_and_adopted_anew_is_a_new_plan(stage: Stage, pr_7: Path):
    async with stage.running() as dispatcher:
        await stage.until(lambda: "pr-7" in dispatcher.registry.runtimes)
        first = dispatcher.registry.runtimes["pr-7"]
        stage.paths.worktree("pr-7").rename(stage.root / "away")
        stage.adopt()
        await stage.until(lambda: dispatcher.registry.runtimes.get("pr-7") not in {None, first})
        stage.append(said("a"))

        await stage.until(lambda: stage.bridge.said == ["re a"])
    assert not (stage.root / "away/prloom/.local/bus/decisions.jsonl").exists()
