"""What takes time runs beside everything else, and its failure is its plan's."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from datetime import timedelta

import pytest
from stage import Stage

from prloom.engine.plan.dependencies import BackgroundTasks
from prloom.engine.plan.rules import rules
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.errors import PrloomError


@pytest.fixture
def runtime(stage: Stage) -> Iterator[PlanRuntime]:
    stage.adopt()
    registry = PlanRegistry(stage.paths, rules(stage.config), stage.clock)
    registry.update(rules(stage.config))
    yield registry.runtimes["pr-7"]
    registry.close()


async def hang() -> None:
    await asyncio.Event().wait()


async def test_the_end_of_a_job_is_told_with_its_plan(runtime: PlanRuntime):
    over: list[str | None] = []
    jobs = BackgroundTasks(over.append)
    jobs.spawn(runtime, lambda: asyncio.sleep(0))
    jobs.spawn(None, lambda: asyncio.sleep(0))

    while jobs:
        await jobs.wait()

    assert sorted(map(str, over)) == ["None", "pr-7"]


async def test_a_jobs_failure_is_its_plans_trouble(stage: Stage, runtime: PlanRuntime):
    async def fail() -> None:
        raise PrloomError("no such thing")

    jobs = BackgroundTasks(lambda plan_id: None)
    jobs.spawn(runtime, fail)
    await jobs.wait()

    assert runtime.failure.active(stage.clock())
    assert json.loads((stage.local() / "state.json").read_text())["lastError"] == "no such thing"


async def test_a_bug_in_a_job_of_no_plan_is_logged_with_its_trace(caplog: pytest.LogCaptureFixture):
    async def fail() -> None:
        raise ZeroDivisionError

    jobs = BackgroundTasks(lambda plan_id: None)
    jobs.spawn(None, fail)
    await jobs.wait()

    assert "ZeroDivisionError" in caplog.text
    assert "Traceback" in caplog.text


async def test_the_jobs_of_a_plan_that_is_gone_are_ended_and_no_others(runtime: PlanRuntime):
    over: list[str | None] = []
    jobs = BackgroundTasks(over.append)
    jobs.spawn(runtime, hang)
    jobs.spawn(None, hang)

    jobs.cancel(runtime)
    await jobs.wait()

    assert over == ["pr-7"]
    assert jobs
    await jobs.end()


async def test_what_does_not_let_itself_be_ended_is_left_alone(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING)
    free = asyncio.Event()

    async def stubborn() -> None:
        while not free.is_set():
            try:
                await free.wait()
            except asyncio.CancelledError:
                continue

    jobs = BackgroundTasks(lambda plan_id: None, patience=timedelta(milliseconds=10))
    jobs.spawn(None, stubborn)
    await asyncio.sleep(0)

    await jobs.end()

    assert "does not end; prloom no longer waits for it" in caplog.text
    free.set()
    await jobs.wait()
