"""The exchange for asynchronous programs: the same words, awaited; the store works in threads, waiting does not."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Self, Unpack

from prloom.exchange import validation
from prloom.exchange.errors import ExchangeError, StoreError
from prloom.exchange.protocol import PAGE, MessageFilter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from types import TracebackType

    from prloom.exchange.claim import Claim, Delivery, Ended, MessageEntry, Settled, Settlement, TopicStats
    from prloom.exchange.claimed_message import ClaimedMessage
    from prloom.exchange.exchange import Checked, Exchange
    from prloom.exchange.message import Draft, Message, Metadata
    from prloom.exchange.options import Publishing, Working
    from prloom.exchange.protocol import Listener

_CLOSED = "the exchange was closed; open it again"


class AsyncClaimedMessage:
    """A claim in hand; see `ClaimedMessage`, whose every method is here to be awaited."""

    def __init__(self, held: ClaimedMessage) -> None:
        self.held = held
        self.message = held.message
        self.delivery = held.delivery

    @property
    def id(self) -> str:
        """The claim's id."""
        return self.held.id

    @property
    def claim(self) -> Claim:
        """The claim as it was last seen."""
        return self.held.claim

    async def renew(self, lease: timedelta | None = None) -> Claim:
        """Hold the claim from now on for as long as it was asked for, or for `lease`."""
        return await asyncio.to_thread(self.held.renew, lease)

    async def complete(self, body: str, *, topic: str | None = None, metadata: Metadata | None = None) -> Settled:
        """End the claim as completed, and publish the reply."""
        return await asyncio.to_thread(self.held.complete, body, topic=topic, metadata=metadata)

    async def fail(
        self,
        error: str,
        *,
        body: str | None = None,
        topic: str | None = None,
        metadata: Metadata | None = None,
        retry: bool = False,
    ) -> Settled:
        """End the claim as failed, for good or to be tried again."""
        return await asyncio.to_thread(self.held.fail, error, body=body, topic=topic, metadata=metadata, retry=retry)

    async def time_out(self, error: str, *, metadata: Metadata | None = None) -> Settled:
        """End the claim as timed out."""
        return await asyncio.to_thread(self.held.time_out, error, metadata=metadata)

    async def release(self, reason: str = "handed back") -> Settled:
        """End the claim without counting the attempt."""
        return await asyncio.to_thread(self.held.release, reason)

    async def settle(self, settlement: Settlement) -> Settled:
        """End the claim as a value says."""
        return await asyncio.to_thread(self.held.settle, settlement)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(asyncio.to_thread(self.held.__exit__, kind, error, trace))


class AsyncExchange:
    """An exchange whose every method is awaited; the words are those of `Exchange`. Close it at the end."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._closed = False
        self._waiting: set[asyncio.Future[None]] = set()

    async def publish(self, topic: str, body: str, **options: Unpack[Publishing]) -> Message:
        """Publish a message, and return it when it is on disk; see `Exchange.publish`."""
        return await asyncio.to_thread(self.exchange.publish, topic, body, **options)

    async def publish_all(self, drafts: Sequence[Draft]) -> tuple[Message, ...]:
        """Publish drafts in this order, all or none."""
        return await asyncio.to_thread(self.exchange.publish_all, drafts)

    async def claim(self, topics: str | Iterable[str], **options: Unpack[Working]) -> AsyncClaimedMessage | None:
        """Claim the next message of these topics; None where none is ready."""
        claiming = asyncio.create_task(asyncio.to_thread(self.exchange.claim, topics, **options))
        try:
            held = await asyncio.shield(claiming)
        except asyncio.CancelledError:
            with suppress(ExchangeError):  # a claim that nobody is there to get
                if (unwanted := await claiming) is not None:
                    await asyncio.to_thread(unwanted.release)
            raise
        if held is None:
            return None
        return AsyncClaimedMessage(held)

    async def claims(
        self, topics: str | Iterable[str], *, patience: timedelta | None = None, **options: Unpack[Working]
    ) -> AsyncIterator[AsyncClaimedMessage]:
        """Yield claims as messages come, for ever, or until none came for as long as `patience`."""
        wanted = validation.checked_topics(topics)
        listener = await asyncio.to_thread(self.exchange.store.listen)
        try:
            end = _end(patience)
            while True:
                held = await self.claim(wanted, **options)
                if held is not None:
                    yield held
                    end = _end(patience)
                elif end is not None and time.monotonic() >= end:
                    return
                else:
                    await self._wait(listener, await asyncio.to_thread(self.exchange.pause, listener, wanted, end))
        finally:
            listener.close()

    async def request(
        self, topic: str, body: str, *, patience: timedelta | None = None, **options: Unpack[Publishing]
    ) -> Message | None:
        """Publish a message and return the first reply to it; None where none came in time (the work goes on)."""
        published = await self.publish(topic, body, **options)
        return await self.wait_for_reply(published.id, patience=patience)

    async def wait_for_reply(self, message_id: str, *, patience: timedelta | None = None) -> Message | None:
        """Return the first reply to a message, waiting for it; None where none came in time."""
        store = self.exchange.store
        listener = await asyncio.to_thread(store.listen)
        try:
            end = _end(patience)
            while True:
                await asyncio.to_thread(store.expire)
                replies = await asyncio.to_thread(store.read, MessageFilter(replies_to=message_id, limit=1))
                if replies or (end is not None and time.monotonic() >= end):
                    if replies:
                        return replies[0]
                    return None
                await self._wait(listener, await asyncio.to_thread(self.exchange.pause, listener, (), end))
        finally:
            listener.close()

    async def message(self, message_id: str) -> Message:
        """Return a message; raises UnknownMessageError."""
        return await asyncio.to_thread(self.exchange.message, message_id)

    async def read(
        self, *, topic: str | None = None, conversation: str | None = None, since: str | None = None, limit: int = PAGE
    ) -> tuple[Message, ...]:
        """Return messages by publication, those after the message `since`, at most `limit`."""
        return await asyncio.to_thread(
            self.exchange.read, topic=topic, conversation=conversation, since=since, limit=limit
        )

    async def follow(
        self,
        *,
        topic: str | None = None,
        conversation: str | None = None,
        since: str | None = None,
        patience: timedelta | None = None,
    ) -> AsyncIterator[Message]:
        """Yield messages by publication, and then as they come; see `Exchange.follow`."""
        listener = await asyncio.to_thread(self.exchange.store.listen)
        try:
            end = _end(patience)
            while True:
                found = await self.read(topic=topic, conversation=conversation, since=since)
                for message in found:
                    since = message.id
                    yield message
                if found:
                    end = _end(patience)
                elif end is not None and time.monotonic() >= end:
                    return
                else:
                    await self._wait(listener, await asyncio.to_thread(self.exchange.pause, listener, (), end))
        finally:
            listener.close()

    async def inspect(self, message_id: str) -> MessageEntry:
        """Return a message with how it stands and all its claims; raises UnknownMessageError."""
        return await asyncio.to_thread(self.exchange.inspect, message_id)

    async def check(self, conversation_id: str) -> Checked:
        """Return how a conversation stands; raises UnknownMessageError where there is none."""
        return await asyncio.to_thread(self.exchange.check, conversation_id)

    async def stats(self) -> tuple[TopicStats, ...]:
        """Return how each topic stands, by name."""
        return await asyncio.to_thread(self.exchange.stats)

    async def cancel(self, message_id: str, reason: str = "cancelled") -> Message:
        """End a message that waits or is worked on."""
        return await asyncio.to_thread(self.exchange.cancel, message_id, reason)

    async def retry(self, message_id: str) -> Delivery:
        """Have a message worked on again."""
        return await asyncio.to_thread(self.exchange.retry, message_id)

    async def prune(self, older_than: timedelta) -> int:
        """Remove conversations that ended longer ago; returns how many messages are gone."""
        return await asyncio.to_thread(self.exchange.prune, older_than)

    async def subscribe(self, conversation_id: str) -> None:
        """Have a notifier told when the conversation has ended."""
        await asyncio.to_thread(self.exchange.subscribe, conversation_id)

    async def claim_notifications(
        self, lease: timedelta = timedelta(minutes=1), limit: int = PAGE
    ) -> tuple[Ended, ...]:
        """Take tracked conversations that ended; call `told` for each before the lease is over."""
        return await asyncio.to_thread(self.exchange.claim_notifications, lease, limit)

    async def ack_notification(self, ended: Ended) -> bool:
        """Say that it was told; False where another notifier has it."""
        return await asyncio.to_thread(self.exchange.ack_notification, ended)

    async def close(self) -> None:
        """Let go of the store; a task that waits for something gets a StoreError."""
        self._closed = True
        for woken in self._waiting:
            _wake(woken)
        await asyncio.sleep(0)  # they leave their listeners before those are closed
        await asyncio.to_thread(self.exchange.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _wait(self, listener: Listener, limit: timedelta) -> None:
        """Return when the listener hears something, at the latest after `limit`; other tasks run meanwhile."""
        if self._closed:
            raise StoreError(_CLOSED)
        fd = listener.fileno()
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        self._waiting.add(woken)
        try:
            if fd is not None:
                loop.add_reader(fd, _wake, woken)
            async with asyncio.timeout(max(limit.total_seconds(), 0)):
                await woken
        except TimeoutError:
            return
        except (OSError, ValueError) as error:  # the store was closed beneath this, so the descriptor is no more
            raise StoreError(_CLOSED) from error
        finally:
            self._waiting.discard(woken)
            if fd is not None:
                loop.remove_reader(fd)
        if self._closed:
            raise StoreError(_CLOSED)
        if fd is not None:
            listener.drain()


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


def _end(patience: timedelta | None) -> float | None:
    if patience is None:
        return None
    return time.monotonic() + patience.total_seconds()
