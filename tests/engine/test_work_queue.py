"""Plans are woken once for all that woke them, and a wait ends when something is woken or due."""

from __future__ import annotations

import asyncio
from math import inf

from prloom.engine.work_queue import WorkQueue


def never() -> float:
    return inf


def at_once() -> float:
    return 0.0


def test_a_plan_that_is_roused_twice_is_worked_through_once():
    wakes = WorkQueue()

    wakes.rouse("pr-7", "pr-8")
    wakes.rouse("pr-7")

    assert sorted(wakes.drain()) == ["pr-7", "pr-8"]
    assert not wakes


def test_the_repository_as_a_whole_is_roused_like_a_plan():
    wakes = WorkQueue()

    wakes.rouse("")

    assert list(wakes.drain()) == [""]


def test_what_is_no_plan_wakes_nobody():
    wakes = WorkQueue()

    wakes.rouse(None)

    assert not wakes


def test_a_tick_that_is_wanted_wakes_no_plan():
    wakes = WorkQueue()

    wakes.want_tick()

    assert wakes.tick_wanted
    assert not wakes


async def test_a_wait_ends_when_somebody_is_roused_meanwhile():
    wakes = WorkQueue()
    waiting = asyncio.ensure_future(wakes.wait(inf, never))
    await asyncio.sleep(0)

    wakes.rouse("pr-7")

    assert await waiting
    assert list(wakes.drain()) == ["pr-7"]


async def test_a_wait_ends_when_a_job_ends_that_was_no_plans():
    wakes = WorkQueue()
    wakes.rouse(None)

    assert await wakes.wait(inf, never)


async def test_a_wait_ends_when_a_tick_is_wanted():
    wakes = WorkQueue()
    wakes.want_tick()

    assert await wakes.wait(inf, never)


async def test_a_wait_ends_with_what_is_due_though_nobody_was_roused():
    assert not await WorkQueue().wait(inf, at_once)


async def test_a_wait_ends_with_its_time_though_nothing_is_due():
    assert not await WorkQueue().wait(asyncio.get_running_loop().time(), never)


async def test_what_was_roused_before_is_no_reason_to_wait_less_later():
    wakes = WorkQueue()
    wakes.rouse("pr-7")
    wakes.drain()

    assert not await wakes.wait(inf, at_once)
