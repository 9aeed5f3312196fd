from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from prloom.extensions.running_call import Deadline

NEVER = timedelta(minutes=5)
SOON = timedelta(milliseconds=20)


async def test_what_overruns_its_limit_is_ended() -> None:
    deadline = Deadline(SOON)

    with pytest.raises(TimeoutError):
        async with deadline:
            await asyncio.Event().wait()

    assert deadline.over


async def test_a_time_limit_of_something_else_is_not_taken_for_this_one() -> None:
    deadline = Deadline(NEVER)

    with pytest.raises(TimeoutError):
        async with deadline:
            raise TimeoutError

    assert not deadline.over


async def test_the_limit_stands_still_while_it_is_paused() -> None:
    async with Deadline(SOON) as deadline:
        with deadline.paused():
            await asyncio.sleep(2 * SOON.total_seconds())

    assert not deadline.over


async def test_overlapping_pauses_end_with_the_last_of_them() -> None:
    async with Deadline(SOON) as deadline:
        first, second = deadline.paused(), deadline.paused()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        await asyncio.sleep(2 * SOON.total_seconds())
        second.__exit__(None, None, None)

    assert not deadline.over


async def test_after_a_pause_only_what_was_left_is_left() -> None:
    deadline = Deadline(SOON)

    async def pause_and_go_on() -> None:
        async with deadline:
            with deadline.paused():
                pass
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await pause_and_go_on()

    assert deadline.over


async def test_a_pause_that_outlives_the_deadline_is_harmless() -> None:
    async with Deadline(NEVER) as deadline:
        pause = deadline.paused()
        pause.__enter__()
    pause.__exit__(None, None, None)

    assert not deadline.over
