"""Plans are woken once for all that woke them, and a wait ends when something is woken or due."""

from __future__ import annotations

import asyncio
from math import inf

import pytest

from prloom.engine.work_queue import WorkQueue


@pytest.fixture
def queue() -> WorkQueue:
    return WorkQueue()


def never() -> float:
    return inf


def at_once() -> float:
    return 0.0


def test_a_plan_that_is_roused_twice_is_worked_through_once(queue: WorkQueue):
    queue.add("pr-7", "pr-8")
    queue.add("pr-7")

    assert sorted(queue.drain()) == ["pr-7", "pr-8"]
    assert not queue


def test_the_repository_as_a_whole_is_roused_like_a_plan(queue: WorkQueue):
    queue.add("")

    assert list(queue.drain()) == [""]


def test_what_is_no_plan_queue_nobody(queue: WorkQueue):
    queue.add(None)

    assert not queue


def test_a_tick_that_is_wanted_queue_no_plan(queue: WorkQueue):
    queue.want_tick()

    assert queue.tick_wanted
    assert not queue


async def test_a_wait_ends_when_somebody_is_roused_meanwhile(queue: WorkQueue):
    waiting = asyncio.ensure_future(queue.wait(inf, never))
    await asyncio.sleep(0)

    queue.add("pr-7")

    assert await waiting
    assert list(queue.drain()) == ["pr-7"]


async def test_a_wait_ends_when_a_job_ends_that_was_no_plans(queue: WorkQueue):
    queue.add(None)

    assert await queue.wait(inf, never)


async def test_a_wait_ends_when_a_tick_is_wanted(queue: WorkQueue):
    queue.want_tick()

    assert await queue.wait(inf, never)


async def test_a_wait_ends_with_what_is_due_though_nobody_was_roused():
    assert not await WorkQueue().wait(inf, at_once)


async def test_a_wait_ends_with_its_time_though_nothing_is_due():
    assert not await WorkQueue().wait(asyncio.get_running_loop().time(), never)


async def test_what_was_roused_before_is_no_reason_to_wait_less_later(queue: WorkQueue):
    queue.add("pr-7")
    queue.drain()

    assert not await queue.wait(inf, at_once)
