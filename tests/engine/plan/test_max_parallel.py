"""How many runs of one agent program there may be at the same time."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fake_clock import NOON, Clock
from stage import Stage

from prloom.agents import registry
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.in_flight import InFlight
from prloom.model.record import Timestamp
from prloom.model.work_report import RunLimit


def limit(setting: str) -> RunLimit:
    return RunLimit(setting=setting, since=Timestamp.of(NOON))


def pool(root: Path) -> AgentPool:
    return AgentPool(root=root, environ={}, parallel=9, workers=9)


async def test_a_run_waits_until_one_more_of_its_program_may_go_on_and_the_setting_is_named(stage: Stage):
    stage.configure("[agents.claude]\nmax_parallel = 1\n")
    agents, first, second = pool(stage.root), InFlight(Clock()), InFlight(Clock())
    claude, begun = registry.get("claude"), asyncio.Event()

    async def other() -> None:
        async with agents.room(claude, stage.config, second):
            begun.set()

    async with agents.room(claude, stage.config, first):
        waiting = asyncio.create_task(other())
        while second.waits_for is None:  # noqa: ASYNC110 - it waits for one turn of the loop
            await asyncio.sleep(0)
        assert (first.waits_for, second.waits_for) == (None, "agents.claude.max_parallel")
        assert not begun.is_set()
    await waiting

    assert begun.is_set()
    assert second.waits_for is None


async def test_other_programs_and_those_without_a_limit_do_not_wait(stage: Stage):
    stage.configure("[agents.claude]\nmax_parallel = 1\n")
    agents, flight = pool(stage.root), InFlight(Clock())

    async with agents.room(registry.get("claude"), stage.config, flight):
        for _ in range(2):
            async with agents.room(registry.get("codex"), stage.config, flight):
                assert flight.waits_for is None


async def test_a_run_that_is_given_up_while_it_waits_takes_no_place(stage: Stage):
    stage.configure("[agents.amp]\nmax_parallel = 1\n")
    agents, amp = pool(stage.root), registry.get("amp")

    async def wait() -> None:
        async with agents.room(amp, stage.config, InFlight(Clock())):
            raise AssertionError("there was no room")

    async with agents.room(amp, stage.config, InFlight(Clock())):
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    async with asyncio.timeout(60), agents.room(amp, stage.config, InFlight(Clock())):
        pass


async def test_a_worker_that_waits_for_its_program_keeps_no_slot_and_no_turn_from_others(stage: Stage):
    stage.configure("[agents.claude]\nmax_parallel = 1\n")
    agents = AgentPool(root=stage.root, environ={}, parallel=1, workers=2)
    claude, first, second, third = registry.get("claude"), InFlight(Clock()), InFlight(Clock()), InFlight(Clock())

    async def other() -> None:
        async with agents.worker(claude, stage.config, second):
            pass

    async with agents.worker(claude, stage.config, first):
        await agents.workers.begin_preparing(second)
        waiting = asyncio.create_task(other())
        while second.todo_limit is None:  # noqa: ASYNC110 - it waits for one turn of the loop
            await asyncio.sleep(0)
        assert second.todo_limit == limit("agents.claude.max_parallel")
        assert not second.preparing
        async with asyncio.timeout(60), agents.worker(registry.get("codex"), stage.config, third):
            assert third.todo_limit is None
    await waiting

    assert second.todo_limit is None
