"""The exchange for asynchronous programs: the same names, awaited; calls to the store use threads, waiting does not."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar, Unpack

from prloom.exchange.claimed_message import ClaimedMessage
from prloom.exchange.errors import ExchangeError, StoreError
from prloom.exchange.notifier import ListenerWait
from prloom.exchange.protocol import PAGE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
    from types import TracebackType

    from prloom.exchange.claim import Claim, Delivery, Ended, MessageEntry, Settled, Settlement, TopicStats
    from prloom.exchange.exchange import Checked, Exchange
    from prloom.exchange.message import Draft, Message, Metadata
    from prloom.exchange.notifier import Steps
    from prloom.exchange.protocol import Listener
    from prloom.exchange.validation import ClaimOptions, PublishOptions

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_CLOSED = "the exchange was closed; open it again"


async def _finish(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what a call in a thread returns; a task that is cancelled meanwhile waits for the call's end first.

    So nothing uses the claim or the store any more when the task has ended. A claim that the call made is released.
    """
    running = asyncio.get_running_loop().run_in_executor(None, partial(call, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return running.result()
    with suppress(ExchangeError):
        result = running.result()
        if isinstance(result, ClaimedMessage):
            await asyncio.to_thread(result.release)
    raise cancelled


class AsyncClaimedMessage:
    """A claimed message; its methods are those of `ClaimedMessage`, awaited."""

    def __init__(self, claimed: ClaimedMessage) -> None:
        self.claimed = claimed
        self.message = claimed.message
        self.delivery = claimed.delivery

    @property
    def id(self) -> str:
        """The claim's id."""
        return self.claimed.id

    @property
    def claim(self) -> Claim:
        """The claim, as of the last call to the store."""
        return self.claimed.claim

    async def renew(self, lease: timedelta | None = None) -> Claim:
        """Extend the claim: it lasts from now on for as long as it was requested for, or for `lease`."""
        return await asyncio.to_thread(self.claimed.renew, lease)

    async def complete(self, body: str, *, topic: str | None = None, metadata: Metadata | None = None) -> Settled:
        """End the claim as completed, and publish the reply."""
        return await _finish(self.claimed.complete, body, topic=topic, metadata=metadata)

    async def fail(
        self,
        error: str,
        *,
        body: str | None = None,
        topic: str | None = None,
        metadata: Metadata | None = None,
        retry: bool = False,
    ) -> Settled:
        """End the claim as failed, finally or to be tried again."""
        return await _finish(self.claimed.fail, error, body=body, topic=topic, metadata=metadata, retry=retry)

    async def time_out(self, error: str, *, metadata: Metadata | None = None) -> Settled:
        """End the claim as timed out."""
        return await _finish(self.claimed.time_out, error, metadata=metadata)

    async def release(self, reason: str = "handed back", *, delay: timedelta | None = None) -> Settled:
        """End the claim without counting the attempt; nobody can claim the message before `delay` has passed."""
        return await _finish(self.claimed.release, reason, delay=delay)

    async def settle(self, settlement: Settlement) -> Settled:
        """End the claim as the settlement says."""
        return await _finish(self.claimed.settle, settlement)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await _finish(self.claimed.__exit__, kind, error, trace)


class AsyncExchange:
    """An exchange whose methods are those of `Exchange`, awaited. Close it at the end."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._closed = False
        self._waiting: set[asyncio.Future[None]] = set()

    async def publish(self, topic: str, body: str, **options: Unpack[PublishOptions]) -> Message:
        """Publish a message, and return it when it is on disk; see `Exchange.publish`."""
        return await asyncio.to_thread(self.exchange.publish, topic, body, **options)

    async def publish_all(self, drafts: Sequence[Draft]) -> tuple[Message, ...]:
        """Publish drafts in this order, all or none."""
        return await asyncio.to_thread(self.exchange.publish_all, drafts)

    async def claim(self, topics: str | Iterable[str], **options: Unpack[ClaimOptions]) -> AsyncClaimedMessage | None:
        """Claim the next message of these topics; None where none is ready."""
        claimed = await _finish(self.exchange.claim, topics, **options)
        if claimed is None:
            return None
        return AsyncClaimedMessage(claimed)

    async def claims(
        self, topics: str | Iterable[str], *, patience: timedelta | None = None, **options: Unpack[ClaimOptions]
    ) -> AsyncIterator[AsyncClaimedMessage]:
        """Yield claims as messages come, for ever, or until none came for as long as `patience`."""
        async with aclosing(self._found(self.exchange.claim_steps(topics, patience=patience, **options))) as found:
            async for claimed in found:
                yield AsyncClaimedMessage(claimed)

    async def request(
        self, topic: str, body: str, *, patience: timedelta | None = None, **options: Unpack[PublishOptions]
    ) -> Message | None:
        """Publish a message and return the first reply to it; None where none came in time (the work continues)."""
        published = await self.publish(topic, body, **options)
        return await self.wait_for_reply(published.id, patience=patience)

    async def wait_for_reply(self, message_id: str, *, patience: timedelta | None = None) -> Message | None:
        """Return the first reply to a message, waiting for it; None where none came in time."""
        async with aclosing(self._found(self.exchange.reply_steps(message_id, patience=patience))) as replies:
            return await anext(replies, None)

    async def replies(
        self, awaited: Callable[[], Iterable[str]], *, longest_body: int | None = None
    ) -> AsyncIterator[Message]:
        """Yield the first reply to each of the messages that are awaited just then; see `Exchange.replies_steps`."""
        async with aclosing(self._found(self.exchange.replies_steps(awaited, longest_body=longest_body))) as replies:
            async for reply in replies:
                yield reply

    async def message(self, message_id: str) -> Message:
        """Return a message; raises UnknownMessageError."""
        return await asyncio.to_thread(self.exchange.message, message_id)

    async def read(
        self,
        *,
        topic: str | None = None,
        conversation: str | None = None,
        since: str | None = None,
        limit: int = PAGE,
        longest_body: int | None = None,
    ) -> tuple[Message, ...]:
        """Return messages by publication; see `Exchange.read`."""
        return await asyncio.to_thread(
            self.exchange.read,
            topic=topic,
            conversation=conversation,
            since=since,
            limit=limit,
            longest_body=longest_body,
        )

    async def follow(
        self,
        *,
        topic: str | None = None,
        conversation: str | None = None,
        since: str | None = None,
        patience: timedelta | None = None,
        longest_body: int | None = None,
    ) -> AsyncIterator[Message]:
        """Yield messages by publication, and then as they come; see `Exchange.follow`. A longer body is left out."""
        steps = self.exchange.follow_steps(
            topic=topic, conversation=conversation, since=since, patience=patience, longest_body=longest_body
        )
        async with aclosing(self._found(steps)) as pages:
            async for page in pages:
                for message in page:
                    yield message

    async def inspect(self, message_id: str) -> MessageEntry:
        """Return a message with its delivery and all its claims; raises UnknownMessageError."""
        return await asyncio.to_thread(self.exchange.inspect, message_id)

    async def check(self, conversation_id: str) -> Checked:
        """Return the outcome of a conversation; raises UnknownMessageError where there is none."""
        return await asyncio.to_thread(self.exchange.check, conversation_id)

    async def stats(self) -> tuple[TopicStats, ...]:
        """Return counts, ages and rates of each topic, by name."""
        return await asyncio.to_thread(self.exchange.stats)

    async def cancel(self, message_id: str, reason: str = "cancelled") -> Message:
        """End a message that waits or is worked on."""
        return await asyncio.to_thread(self.exchange.cancel, message_id, reason)

    async def retry(self, message_id: str) -> Delivery:
        """Have a message worked on again."""
        return await asyncio.to_thread(self.exchange.retry, message_id)

    async def acknowledge(self, reply_id: str) -> bool:
        """Record that a reply was read; see `Exchange.acknowledge`."""
        return await asyncio.to_thread(self.exchange.acknowledge, reply_id)

    async def prune(self, older_than: timedelta, *, producer: str | None = None, limit: int | None = None) -> int:
        """Remove conversations that ended longer ago; see `Exchange.prune`."""
        return await asyncio.to_thread(self.exchange.prune, older_than, producer=producer, limit=limit)

    async def subscribe(self, conversation_id: str) -> None:
        """Have a notifier report the conversation's end."""
        await asyncio.to_thread(self.exchange.subscribe, conversation_id)

    async def claim_notifications(
        self, lease: timedelta = timedelta(minutes=1), limit: int = PAGE
    ) -> tuple[Ended, ...]:
        """Claim the ends of conversations that are to be reported; acknowledge each before the lease is over."""
        return await asyncio.to_thread(self.exchange.claim_notifications, lease, limit)

    async def ack_notification(self, ended: Ended) -> bool:
        """Record that a conversation's end was reported; return False if another notifier has claimed it since."""
        return await asyncio.to_thread(self.exchange.ack_notification, ended)

    async def close(self) -> None:
        """Close the store; a task that waits for something gets a StoreError."""
        self._closed = True
        for woken in self._waiting:
            _wake(woken)
        await asyncio.sleep(0)  # they leave their listeners before those are closed
        await asyncio.to_thread(self.exchange.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _found(self, steps: Steps[T]) -> AsyncGenerator[T, None]:
        """Yield what a loop finds; the loop runs in a thread, and its waits in the event loop."""
        try:
            while (step := await _finish(next, steps, None)) is not None:
                if isinstance(step, ListenerWait):
                    await self._wait(step.listener, step.limit)
                else:
                    yield step
        finally:
            steps.close()

    async def _wait(self, listener: Listener, limit: timedelta) -> None:
        """Wait until the listener hears something, at most for `limit`, while other tasks run."""
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
