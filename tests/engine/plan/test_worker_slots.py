"""How many workers there are at the same time, and how many plans are prepared for one."""

from __future__ import annotations

import asyncio

from fake_clock import NOON, Clock

from prloom.engine.plan.in_flight import InFlight
from prloom.engine.plan.worker_slots import WorkerSlots
from prloom.model.record import Timestamp
from prloom.model.work_report import RunLimit


def limit(setting: str) -> RunLimit:
    return RunLimit(setting=setting, since=Timestamp.of(NOON))


async def turns_of_the_loop() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_more_plans_are_prepared_ahead_than_there_are_workers_and_the_setting_is_named():
    slots, plans = WorkerSlots(2), [InFlight(Clock()) for _ in range(3)]

    waiting = [asyncio.create_task(slots.begin_preparing(plan)) for plan in plans]
    await turns_of_the_loop()

    assert [plan.preparing for plan in plans] == [True, True, False]
    assert [plan.todo_limit for plan in plans] == [None, None, limit("agents.workers")]
    slots.end_preparing(plans[0])
    await asyncio.gather(*waiting)
    assert [plan.preparing for plan in plans] == [False, True, True]
    assert plans[2].todo_limit is None


async def test_a_plan_that_has_a_worker_lets_the_next_one_be_prepared():
    slots, first, second = WorkerSlots(1), InFlight(Clock()), InFlight(Clock())
    await slots.begin_preparing(first)
    waiting = asyncio.create_task(slots.begin_preparing(second))

    async with slots.slot(first):
        await waiting

        assert (first.preparing, second.preparing) == (False, True)


async def test_a_plan_that_is_prepared_waits_for_a_worker_and_the_setting_is_named():
    slots, first, second = WorkerSlots(1), InFlight(Clock()), InFlight(Clock())

    async def work() -> None:
        async with slots.slot(second):
            pass

    async with slots.slot(first):
        waiting = asyncio.create_task(work())
        await turns_of_the_loop()
        assert second.todo_limit == limit("agents.workers")
    await waiting

    assert second.todo_limit is None


async def test_a_plan_that_is_given_up_while_it_waits_takes_no_turn():
    slots, first, second, third = WorkerSlots(1), InFlight(Clock()), InFlight(Clock()), InFlight(Clock())
    await slots.begin_preparing(first)
    waiting = asyncio.create_task(slots.begin_preparing(second))
    await turns_of_the_loop()

    waiting.cancel()
    await asyncio.wait([waiting])
    slots.end_preparing(second)
    slots.end_preparing(first)

    async with asyncio.timeout(60):
        await slots.begin_preparing(third)
    assert (second.preparing, second.todo_limit) == (False, None)


async def test_a_turn_is_taken_and_ended_once():
    slots, first, second = WorkerSlots(1), InFlight(Clock()), InFlight(Clock())
    await slots.begin_preparing(first)
    await slots.begin_preparing(first)

    slots.end_preparing(first)
    slots.end_preparing(first)
    await slots.begin_preparing(second)
    waiting = asyncio.create_task(slots.begin_preparing(first))
    await turns_of_the_loop()

    assert not waiting.done()
    waiting.cancel()
