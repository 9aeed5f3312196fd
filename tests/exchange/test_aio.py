from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from prloom.exchange import connect_async
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.claim import Availability, ClaimRequest, ClaimTaken, Settled, Settlement
from prloom.exchange.errors import ClaimOverError, StoreError
from prloom.exchange.exchange import Exchange
from prloom.exchange.memory import MemoryStore
from prloom.exchange.protocol import ExchangeStore, Listener

NOTHING = timedelta(0)
LONG = timedelta(minutes=1)


async def test_a_request_is_answered_by_a_worker_of_another_connection(tmp_path: Path):
    async def upper(exchange: AsyncExchange) -> None:
        async for claim in exchange.claims("work", patience=LONG):
            await claim.renew()
            await claim.complete(claim.message.body.upper(), metadata={"n": 1})
            return

    async with connect_async(tmp_path / "exchange.db") as here, connect_async(tmp_path / "exchange.db") as there:
        async with asyncio.TaskGroup() as group:
            group.create_task(upper(there))
            reply = await here.request("work", "x", patience=LONG, track=True)

        assert reply is not None
        assert reply.body == "X"
        assert reply.parent_id is not None
        assert (await here.check(reply.conversation_id)).outcome == "success"
        assert (await here.inspect(reply.parent_id)).delivery.state == "done"
        assert await here.message(reply.id) == reply
        assert [each.topic for each in await here.stats()] == ["work", "work.completed"]
        (ended,) = await here.claim_notifications()
        assert await here.ack_notification(ended)
        assert await here.prune(NOTHING) == 2


async def test_waiting_lets_other_tasks_run_and_ends_when_cancelled():
    exchange = AsyncExchange(Exchange(MemoryStore()))
    waiting = asyncio.create_task(anext(exchange.claims("work")))
    await asyncio.sleep(0)

    await exchange.publish("work", "x")

    claim = await asyncio.wait_for(waiting, 60)
    assert claim.message.body == "x"
    again = asyncio.create_task(anext(exchange.claims("work")))
    await asyncio.sleep(0)
    again.cancel()
    with pytest.raises(asyncio.CancelledError):
        await again


async def test_a_claim_that_is_made_while_its_worker_is_cancelled_is_released():
    class SlowStore(MemoryStore):
        def claim(self, ask: ClaimRequest) -> ClaimTaken | None:
            begun.set()
            assert go_on.wait(60)
            return super().claim(ask)

    begun, go_on = threading.Event(), threading.Event()
    exchange = AsyncExchange(Exchange(SlowStore()))
    published = await exchange.publish("work", "x")
    claiming = asyncio.create_task(exchange.claim("work"))
    assert await asyncio.to_thread(begun.wait, 60)
    claiming.cancel()
    await asyncio.sleep(0)
    go_on.set()

    with pytest.raises(asyncio.CancelledError):
        await claiming

    assert (await exchange.inspect(published.id)).delivery.state == "ready"


async def test_following_yields_what_comes():
    exchange = AsyncExchange(Exchange(MemoryStore()))
    await exchange.publish("work", "1")
    followed = exchange.follow(topic="work", patience=LONG)
    seen = [(await anext(followed)).body]
    await exchange.publish("work", "2")

    seen.append((await anext(followed)).body)

    assert seen == ["1", "2"]
    await followed.aclose()
    assert [each.body async for each in exchange.follow(patience=NOTHING)] == ["1", "2"]


async def test_each_ending_can_be_awaited():
    exchange = AsyncExchange(Exchange(MemoryStore()))
    topics = []
    for _ in range(4):
        await exchange.publish("work", "x")
    for how in ("fail", "time_out", "release"):
        claim = await exchange.claim("work")
        settled = await (claim.release() if how == "release" else getattr(claim, how)("why"))
        topics.append(settled.reply and settled.reply.topic)
    assert topics == ["work.failed", "work.timed_out", None]

    published = await exchange.publish("other", "x")
    await exchange.subscribe(published.id)
    assert (await exchange.cancel(published.id)).topic == "other.cancelled"
    assert (await exchange.retry(published.id)).state == "ready"
    assert len(await exchange.read(topic="work", limit=2)) == 2


async def test_a_block_that_raises_has_its_message_tried_again():
    exchange = AsyncExchange(Exchange(MemoryStore()))
    published = await exchange.publish("work", "x")
    claim = await exchange.claim("work")
    with pytest.raises(ZeroDivisionError):
        async with claim:
            1 / 0  # noqa: B018

    assert (await exchange.inspect(published.id)).claims[0].error == "ZeroDivisionError: division by zero"
    with pytest.raises(ClaimOverError):
        await claim.complete("late")
    await exchange.close()


WAITING: dict[str, Callable[[AsyncExchange, str], Awaitable[object]]] = {
    "claims": lambda exchange, _: anext(exchange.claims("work")),
    "follow": lambda exchange, _: anext(exchange.follow(topic="work")),
    "reply": lambda exchange, message_id: exchange.wait_for_reply(message_id),
}


class BeforeWaiting:
    """A store that calls a function before each wait."""

    def __init__(self, store: ExchangeStore, before: Callable[[], object]) -> None:
        self._store = store
        self._before = before

    def availability(self, topics: Sequence[str]) -> Availability:
        found = self._store.availability(topics)
        self._before()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.mark.parametrize("beneath", [False, True], ids=["here", "beneath"])
@pytest.mark.parametrize("how", WAITING)
async def test_a_task_that_waits_at_an_exchange_that_is_closed_gets_an_error(stores: Any, how: str, *, beneath: bool):
    def before_waiting() -> None:
        if beneath:
            store.close()
        begun.set()

    begun = threading.Event()
    store = stores.open()
    exchange = AsyncExchange(Exchange(BeforeWaiting(store, before_waiting)))
    published = await exchange.publish("other", "x")
    waiting = asyncio.ensure_future(WAITING[how](exchange, published.id))
    assert await asyncio.to_thread(begun.wait, 60)

    await exchange.close()

    with pytest.raises(StoreError, match=r"was closed; open it again$"):
        await asyncio.wait_for(waiting, 60)


@pytest.mark.parametrize("how", ["complete", "fail", "release"])
async def test_a_task_that_is_cancelled_while_it_settles_a_claim_ends_as_cancelled(how: str):
    class SlowStore(MemoryStore):
        def settle(self, claim_id: str, settlement: Settlement) -> Settled:
            settled = super().settle(claim_id, settlement)
            begun.set()
            assert go_on.wait(60)
            return settled

    async def work() -> None:
        async for claim in exchange.claims("work"):
            async with claim:
                await (claim.release() if how == "release" else getattr(claim, how)("why"))

    begun, go_on = threading.Event(), threading.Event()
    exchange = AsyncExchange(Exchange(SlowStore()))
    published = await exchange.publish("work", "x")
    working = asyncio.create_task(work())
    assert await asyncio.to_thread(begun.wait, 60)
    working.cancel()
    await asyncio.sleep(0)
    go_on.set()

    with pytest.raises(asyncio.CancelledError):
        await working

    (claim,) = (await exchange.inspect(published.id)).claims
    assert claim.status == {"complete": "completed", "fail": "failed", "release": "cancelled"}[how]


async def test_a_task_that_waits_already_is_woken_when_the_exchange_is_closed():
    class Signal(AsyncExchange):
        async def _wait(self, listener: Listener, limit: timedelta) -> None:
            begun.set()
            await super()._wait(listener, limit)

    begun = asyncio.Event()
    exchange = Signal(Exchange(MemoryStore()))
    waiting = asyncio.ensure_future(anext(exchange.claims("work")))
    await begun.wait()

    await exchange.close()

    with pytest.raises(StoreError, match=r"^the exchange was closed; open it again$"):
        await asyncio.wait_for(waiting, 60)
