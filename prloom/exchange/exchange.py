"""The exchange as programs use it: publish, claim, ask and wait, look."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Self, Unpack

from prloom.exchange import notifier, retry_idempotent, rules, transitions, validation
from prloom.exchange.claim import MessageEntry, Outcome, TopicStats
from prloom.exchange.claimed_message import ClaimedMessage
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.message import ExchangeValue
from prloom.exchange.protocol import PAGE, MessageFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prloom.exchange.claim import Delivery, Ended
    from prloom.exchange.message import Draft, Message
    from prloom.exchange.options import Publishing, Working
    from prloom.exchange.protocol import ExchangeStore, Listener

RECHECK = timedelta(seconds=5)
"""How long at most nobody looks again who heard nothing."""

DEAF_RECHECK = timedelta(milliseconds=250)
"""The same where the store cannot be listened to."""


class Checked(ExchangeValue, frozen=True, kw_only=True):
    """How a conversation stands."""

    conversation_id: str
    outcome: Outcome
    entries: tuple[MessageEntry, ...]


class Exchange:
    """A store's front for programs that are not asynchronous; may be used from several threads. Close it at the end."""

    def __init__(self, store: ExchangeStore) -> None:
        self.store = store
        self._instance = validation.an_instance()

    # ---- publishing

    def publish(self, topic: str, body: str, **options: Unpack[Publishing]) -> Message:
        """Publish a message, and return it when it is on disk; `Publishing` lists the options.

        Raises UnknownMessageError for an unknown parent, KeyTakenError for a key of another body, and ExchangeError for
        what no message can be.
        """
        return self.publish_all([validation.draft(topic, body, **options)])[0]

    def publish_all(self, drafts: Sequence[Draft]) -> tuple[Message, ...]:
        """Publish drafts from `prloom.exchange.draft` in this order, all or none."""
        return retry_idempotent.retry_idempotent(lambda: self.store.publish(drafts))

    # ---- working

    def claim(self, topics: str | Iterable[str], **options: Unpack[Working]) -> ClaimedMessage | None:
        """Claim the next message of these topics, the one published first; None where none is ready."""
        if options.get("instance") is None:
            options["instance"] = self._instance
        ask = validation.asked(topics, **options)
        taken = self.store.claim(ask)
        if taken is None:
            return None
        success, failure = options.get("success_topic"), options.get("failure_topic")
        return ClaimedMessage(self.store, taken, lease=ask.lease, success_topic=success, failure_topic=failure)

    def claims(
        self, topics: str | Iterable[str], *, patience: timedelta | None = None, **options: Unpack[Working]
    ) -> Iterator[ClaimedMessage]:
        """Yield claims as messages come, for ever, or until none came for as long as `patience` (nothing: drain).

        What is neither settled nor handed back comes to another worker when its lease is over.
        """
        wanted = validation.checked_topics(topics)
        listener = self.store.listen()
        try:
            end = _end(patience)
            while True:
                held = self.claim(wanted, **options)
                if held is not None:
                    yield held
                    end = _end(patience)
                elif end is not None and time.monotonic() >= end:
                    return
                else:
                    notifier.wait(listener, self.pause(listener, wanted, end))
        finally:
            listener.close()

    def pause(self, listener: Listener, topics: Sequence[str], end: float | None = None) -> timedelta:
        """Return how long to wait for the listener before looking again; `end` is a time of `time.monotonic`."""
        if listener.fileno() is not None:
            limit = RECHECK
        else:
            limit = DEAF_RECHECK
        look = self.store.look(topics)
        if look.next_at is not None:
            limit = min(limit, max(look.next_at - self.store.now(), timedelta(0)))
        if end is not None:
            limit = min(limit, timedelta(seconds=max(end - time.monotonic(), 0)))
        return limit

    # ---- asking

    def request(
        self, topic: str, body: str, *, patience: timedelta | None = None, **options: Unpack[Publishing]
    ) -> Message | None:
        """Publish a message and return the first reply to it; None where none came in time (the work goes on)."""
        published = self.publish(topic, body, **options)
        return self.wait_for_reply(published.id, patience=patience)

    def wait_for_reply(self, message_id: str, *, patience: timedelta | None = None) -> Message | None:
        """Return the first reply to a message, waiting for it; None where none came in time."""
        listener = self.store.listen()
        try:
            end = _end(patience)
            while True:
                self.store.expire()
                replies = self.store.read(MessageFilter(replies_to=message_id, limit=1))
                if replies or (end is not None and time.monotonic() >= end):
                    if replies:
                        return replies[0]
                    return None
                notifier.wait(listener, self.pause(listener, (), end))
        finally:
            listener.close()

    # ---- looking

    def message(self, message_id: str) -> Message:
        """Return a message; raises UnknownMessageError."""
        return self.store.message(message_id)

    def read(
        self, *, topic: str | None = None, conversation: str | None = None, since: str | None = None, limit: int = PAGE
    ) -> tuple[Message, ...]:
        """Return messages by publication, those after the message `since`, at most `limit`."""
        self.store.expire()
        return self.store.read(MessageFilter(topic=topic, conversation_id=conversation, since=since, limit=limit))

    def follow(
        self,
        *,
        topic: str | None = None,
        conversation: str | None = None,
        since: str | None = None,
        patience: timedelta | None = None,
    ) -> Iterator[Message]:
        """Yield messages by publication, and then as they come, for ever or until none came for as long as `patience`.

        It goes on from the last message that it saw; where that is pruned meanwhile, UnknownMessageError is raised.
        """
        listener = self.store.listen()
        try:
            end = _end(patience)
            while True:
                found = self.read(topic=topic, conversation=conversation, since=since)
                for message in found:
                    since = message.id
                    yield message
                if found:
                    end = _end(patience)
                elif end is not None and time.monotonic() >= end:
                    return
                else:
                    notifier.wait(listener, self.pause(listener, (), end))
        finally:
            listener.close()

    def inspect(self, message_id: str) -> MessageEntry:
        """Return a message with how it stands and all its claims; raises UnknownMessageError."""
        self.store.expire()
        return self.store.entry(message_id)

    def check(self, conversation_id: str) -> Checked:
        """Return how a conversation stands; raises UnknownMessageError where there is none."""
        self.store.expire()
        entries = self.store.conversation(conversation_id)
        if not entries:
            raise UnknownMessageError(transitions.unknown(conversation_id, "conversation"))
        worked = self.store.worked([entry.message.topic for entry in entries])
        return Checked(conversation_id=conversation_id, outcome=rules.outcome(entries, worked), entries=entries)

    def stats(self) -> tuple[TopicStats, ...]:
        """Return how each topic stands, by name."""
        self.store.expire()
        return self.store.stats()

    # ---- people

    def cancel(self, message_id: str, reason: str = "cancelled") -> Message:
        """End a message that waits or is worked on; a worker that has it learns so when it renews or settles."""
        return self.store.cancel(message_id, validation.checked_text("reason", reason))

    def retry(self, message_id: str) -> Delivery:
        """Have a message worked on again that failed, timed out, was cancelled, is dead, or waits for a time."""
        return self.store.retry(message_id)

    def prune(self, older_than: timedelta) -> int:
        """Remove conversations that ended longer ago; returns how many messages are gone. Keys are forgotten too."""
        return self.store.prune(older_than)

    # ---- telling

    def subscribe(self, conversation_id: str) -> None:
        """Have a notifier told when the conversation has ended."""
        self.store.subscribe(conversation_id)

    def claim_notifications(self, lease: timedelta = timedelta(minutes=1), limit: int = PAGE) -> tuple[Ended, ...]:
        """Take tracked conversations that ended; call `told` for each when that is done, before the lease is over."""
        self.store.expire()
        return self.store.claim_notifications(lease, limit)

    def ack_notification(self, ended: Ended) -> bool:
        """Say that it was told; False where another notifier has it."""
        return self.store.ack_notification(ended)

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(patience: timedelta | None) -> float | None:
    if patience is None:
        return None
    return time.monotonic() + patience.total_seconds()
