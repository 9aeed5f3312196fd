"""What a run waits for that nobody has begun is told while it waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from prloom.engine.runs.run_waits import RunWaits
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.claim import MessageEntry
from prloom.exchange.exchange import Exchange
from prloom.exchange.memory import MemoryStore
from prloom.exchange.message import Draft


@pytest.fixture
def exchange() -> Iterator[Exchange]:
    with Exchange(MemoryStore()) as exchange:
        exchange.publish_all([Draft(id="run", topic="agent.worker", body="x")])
        yield exchange


async def inspect(exchange: Exchange, told: list[str | None], *, slow: float = 60.0) -> None:
    waits = RunWaits()
    with waits.telling("run", told.append):
        await waits.inspect(AsyncExchange(exchange), "run", slow=slow)


async def test_a_run_that_a_machine_has_refused_waits_for_another_one(exchange: Exchange):
    claimed, told = exchange.claim("agent.worker"), []
    assert claimed is not None
    claimed.release("refused by m2: this machine does not run the agent claude", delay=timedelta(minutes=1))

    await inspect(exchange, told)

    refusal = "refused by m2: this machine does not run the agent claude"
    assert told == [f"no machine does the run yet; the last one said: {refusal}", None]


async def test_a_run_that_nobody_has_refused_waits_for_nothing(exchange: Exchange):
    told: list[str | None] = []

    await inspect(exchange, told)
    claimed = exchange.claim("agent.worker")
    assert claimed is not None
    claimed.release("the worker was stopped")
    await inspect(exchange, told)

    assert set(told) == {None}


async def test_a_run_whose_exchange_does_not_answer_waits_for_that(exchange: Exchange):
    told: list[str | None] = []
    answers = threading.Event()

    class Away(Exchange):
        def inspect(self, message_id: str) -> MessageEntry:
            assert answers.wait(60)
            return super().inspect(message_id)

    looking = asyncio.create_task(inspect(Away(exchange.store), told, slow=0.01))
    async with asyncio.timeout(60):
        while not told:  # noqa: ASYNC110 - it is told after a while
            await asyncio.sleep(0.01)
    answers.set()
    await looking

    assert told == ["the exchange of the runs does not answer; prloom tries to reach it", None, None]
