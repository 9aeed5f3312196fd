"""What a run waits for that nobody has begun is known while it waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from run_messages import a_message

from prloom.agents import run_message
from prloom.agents.run_message import RunMessage
from prloom.engine.runs.run_waits import RunWaits
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.claim import MessageEntry
from prloom.exchange.exchange import Exchange
from prloom.exchange.memory import MemoryStore
from prloom.exchange.message import Draft
from prloom.model.record import Timestamp
from prloom.model.work_report import RunWait

ASKED = a_message(plan="pr-7")
REFUSAL = "refused by m2: this machine does not run the agent claude"
LATER = timedelta(seconds=31)


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def exchange(clock: Clock) -> Iterator[Exchange]:
    with Exchange(MemoryStore(clock=clock)) as exchange:
        exchange.publish_all([Draft(id="run", topic="agent.worker", body="x")])
        yield exchange


async def wait(exchange: Exchange, clock: Clock, asked: RunMessage = ASKED) -> RunWait | None:
    waits = RunWaits(clock)
    await waits.inspect(AsyncExchange(exchange), "run", asked, slow=60)
    return waits.waiting.get("run")


async def test_a_run_that_a_machine_has_refused_waits_for_another_one_until_a_machine_looks_again(
    exchange: Exchange, clock: Clock
):
    claimed, begun = exchange.claim("agent.worker"), Timestamp.of(clock.now)
    assert claimed is not None
    claimed.release(REFUSAL, delay=timedelta(minutes=1))

    assert await wait(exchange, clock) == RunWait(
        reason=f"no machine does the run yet; the last one said: {REFUSAL}",
        since=begun,
        until=Timestamp.of(clock.now + timedelta(minutes=1)),
        plan="pr-7",
        todo="t-1",
    )


async def test_a_run_that_nobody_takes_waits_after_half_a_minute_for_a_worker(exchange: Exchange, clock: Clock):
    published = Timestamp.of(clock.now)
    assert await wait(exchange, clock) is None

    clock.now += LATER

    reason = "no worker has taken the run yet; `prloom worker` on a machine that has the agent does"
    assert await wait(exchange, clock) == RunWait(reason=reason, since=published, plan="pr-7", todo="t-1")


async def test_a_run_for_this_machine_only_waits_for_no_other_machine(exchange: Exchange, clock: Clock):
    exchange.publish_all([Draft(id="here", topic=run_message.topic_here("worker"), body="x")])
    clock.now += LATER
    waits = RunWaits(clock)

    await waits.inspect(AsyncExchange(exchange), "here", ASKED)

    assert waits.waiting["here"].reason == "no worker has taken the run yet"


async def test_a_run_that_its_worker_handed_back_waits_since_then(exchange: Exchange, clock: Clock):
    claimed = exchange.claim("agent.worker")
    assert claimed is not None
    clock.now += timedelta(minutes=1)
    claimed.release("the worker was stopped")
    back = Timestamp.of(clock.now)
    assert await wait(exchange, clock) is None

    clock.now += LATER
    waiting = await wait(exchange, clock)

    assert waiting is not None
    assert waiting.since == back


async def test_a_run_waits_no_more_when_a_worker_takes_it_nor_when_it_is_done(exchange: Exchange, clock: Clock):
    waits = RunWaits(clock)
    clock.now += LATER
    await waits.inspect(AsyncExchange(exchange), "run", ASKED)
    assert set(waits.waiting) == {"run"}

    claimed = exchange.claim("agent.worker")
    assert claimed is not None
    await waits.inspect(AsyncExchange(exchange), "run", ASKED)

    assert waits.waiting == {}
    assert await wait(exchange, clock) is None
    claimed.complete("done")
    clock.now += LATER
    assert await wait(exchange, clock) is None


async def test_a_run_whose_exchange_does_not_answer_waits_for_that_since_it_was_first_so(
    exchange: Exchange, clock: Clock
):
    waits, answers, first = RunWaits(clock), threading.Event(), Timestamp.of(clock.now)

    class Away(Exchange):
        def inspect(self, message_id: str) -> MessageEntry:
            assert answers.wait(60)
            return super().inspect(message_id)

    async def looked() -> RunWait:
        before = waits.waiting.get("run")
        looking = asyncio.create_task(waits.inspect(AsyncExchange(Away(exchange.store)), "run", ASKED, slow=0.01))
        async with asyncio.timeout(60):
            while waits.waiting.get("run") is before:  # noqa: ASYNC110 - it is known after a while
                await asyncio.sleep(0.01)
        looking.cancel()
        return waits.waiting["run"]

    found = await looked()
    clock.now += LATER
    again = await looked()
    answers.set()
    await waits.inspect(AsyncExchange(exchange), "run", ASKED)

    reason = "the exchange of the runs does not answer; prloom tries to reach it"
    assert found == again == RunWait(reason=reason, since=first, plan="pr-7", todo="t-1")
    assert waits.waiting["run"].reason.startswith("no worker")
