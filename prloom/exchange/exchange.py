"""The exchange as programs use it: publish, work on messages, request and wait, read, and steer."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

from prloom.exchange import errors, notifier, rules, transitions, validation
from prloom.exchange.claim import ConversationOutcome, MessageEntry, TopicStats
from prloom.exchange.claimed_message import ClaimedMessage
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.message import ExchangeValue
from prloom.exchange.protocol import PAGE, MessageFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from prloom.exchange.claim import Delivery, Ended
    from prloom.exchange.message import Draft, Message
    from prloom.exchange.notifier import Steps
    from prloom.exchange.protocol import ExchangeStore
    from prloom.exchange.validation import ClaimOptions, PublishOptions

T = TypeVar("T")


class Checked(ExchangeValue, frozen=True, kw_only=True):
    """The outcome of a conversation, and its messages."""

    conversation_id: str
    outcome: ConversationOutcome
    entries: tuple[MessageEntry, ...]


class Exchange:
    """The interface to a store for synchronous programs; several threads may use it. Close it at the end."""

    def __init__(self, store: ExchangeStore) -> None:
        self.store = store
        self._instance = validation.new_instance()

    # ---- publishing

    def publish(self, topic: str, body: str, **options: Unpack[PublishOptions]) -> Message:
        """Publish a message, and return it when it is on disk; `PublishOptions` lists the options.

        Raises UnknownMessageError for an unknown parent, KeyTakenError for a key of another body, and ExchangeError for
        what no message can be.
        """
        return self.publish_all([validation.draft(topic, body, **options)])[0]

    def publish_all(self, drafts: Sequence[Draft]) -> tuple[Message, ...]:
        """Publish drafts from `prloom.exchange.draft` in this order, all or none."""
        return errors.retry_idempotent(lambda: self.store.publish(drafts))

    # ---- working

    def claim(self, topics: str | Iterable[str], **options: Unpack[ClaimOptions]) -> ClaimedMessage | None:
        """Claim the next message of these topics, the one published first; None where none is ready."""
        if options.get("instance") is None:
            options["instance"] = self._instance
        request = validation.claim_request(topics, **options)
        taken = self.store.claim(request)
        if taken is None:
            return None
        success, failure = options.get("success_topic"), options.get("failure_topic")
        return ClaimedMessage(self.store, taken, lease=request.lease, success_topic=success, failure_topic=failure)

    def claims(
        self, topics: str | Iterable[str], *, patience: timedelta | None = None, **options: Unpack[ClaimOptions]
    ) -> Iterator[ClaimedMessage]:
        """Yield claims as messages come, for ever, or until none came for as long as `patience` (nothing: drain).

        A message that is neither settled nor released goes to another worker when its lease is over.
        """
        return notifier.block(self.claim_steps(topics, patience=patience, **options))

    def claim_steps(
        self, topics: str | Iterable[str], *, patience: timedelta | None = None, **options: Unpack[ClaimOptions]
    ) -> Steps[ClaimedMessage]:
        """Return the loop of `claims`, whose caller does the waiting."""
        wanted = validation.checked_topics(topics)
        return self._steps(lambda: self.claim(wanted, **options), topics=wanted, patience=patience)

    # ---- requesting

    def request(
        self, topic: str, body: str, *, patience: timedelta | None = None, **options: Unpack[PublishOptions]
    ) -> Message | None:
        """Publish a message and return the first reply to it; None where none came in time (the work continues)."""
        published = self.publish(topic, body, **options)
        return self.wait_for_reply(published.id, patience=patience)

    def wait_for_reply(self, message_id: str, *, patience: timedelta | None = None) -> Message | None:
        """Return the first reply to a message, waiting for it; None where none came in time."""
        return self.wait_for(lambda: self.find_reply(message_id), patience=patience)

    def reply_steps(self, message_id: str, *, patience: timedelta | None = None) -> Steps[Message]:
        """Return the loop of `wait_for_reply`, whose caller does the waiting."""
        return self._steps(lambda: self.find_reply(message_id), patience=patience)

    def find_reply(self, message_id: str, *, longest_body: int | None = None) -> Message | None:
        """Return the first reply to a message, if there is one by now; without a body of more bytes than that."""
        self.store.expire()
        replies = self.store.read(MessageFilter(replies_to=message_id, limit=1, longest_body=longest_body))
        return next(iter(replies), None)

    def replies_steps(self, awaited: Callable[[], Iterable[str]], *, longest_body: int | None = None) -> Steps[Message]:
        """Return a loop that finds the first reply to each of the messages that are awaited just then.

        A message whose reply was found is to be awaited no more when the loop goes on. A body of more bytes than
        `longest_body` is left out.
        """

        def find() -> Message | None:
            ids = tuple(awaited())
            found = (self.find_reply(message_id, longest_body=longest_body) for message_id in ids)
            return next((reply for reply in found if reply is not None), None)

        return self._steps(find)

    def wait_for(self, find: Callable[[], T | None], *, patience: timedelta | None = None) -> T | None:
        """Return the first value of `find` that is not None, waiting for it; None where there was none in time."""
        with closing(self._steps(find, patience=patience)) as steps:
            return next(notifier.block(steps), None)

    # ---- reading

    def message(self, message_id: str) -> Message:
        """Return a message; raises UnknownMessageError."""
        return self.store.message(message_id)

    def read(
        self,
        *,
        topic: str | None = None,
        conversation: str | None = None,
        since: str | None = None,
        limit: int = PAGE,
        longest_body: int | None = None,
    ) -> tuple[Message, ...]:
        """Return messages by publication, those after the message `since`, at most `limit`.

        A body of more bytes than `longest_body` is left out.
        """
        self.store.expire()
        return self.store.read(
            MessageFilter(
                topic=topic, conversation_id=conversation, since=since, limit=limit, longest_body=longest_body
            )
        )

    def follow(
        self,
        *,
        topic: str | None = None,
        conversation: str | None = None,
        since: str | None = None,
        patience: timedelta | None = None,
    ) -> Iterator[Message]:
        """Yield messages by publication, and then as they come, for ever or until none came for as long as `patience`.

        It continues after the last message that it yielded; if that one is pruned, it raises UnknownMessageError.
        """
        steps = self.follow_steps(topic=topic, conversation=conversation, since=since, patience=patience)
        for page in notifier.block(steps):
            yield from page

    def follow_steps(
        self,
        *,
        topic: str | None,
        conversation: str | None,
        since: str | None,
        patience: timedelta | None,
        longest_body: int | None = None,
    ) -> Steps[tuple[Message, ...]]:
        """Return the loop of `follow`, which finds several messages at a time, and whose caller does the waiting."""

        def read_new() -> tuple[Message, ...] | None:
            nonlocal since
            page = self.read(topic=topic, conversation=conversation, since=since, longest_body=longest_body)
            if not page:
                return None
            since = page[-1].id
            return page

        return self._steps(read_new, patience=patience)

    def inspect(self, message_id: str) -> MessageEntry:
        """Return a message with its delivery and all its claims; raises UnknownMessageError."""
        self.store.expire()
        return self.store.entry(message_id)

    def check(self, conversation_id: str) -> Checked:
        """Return the outcome of a conversation; raises UnknownMessageError where there is none."""
        self.store.expire()
        entries = self.store.conversation(conversation_id)
        if not entries:
            raise UnknownMessageError(transitions.unknown_text(conversation_id, "conversation"))
        worked = self.store.worked([entry.message.topic for entry in entries])
        return Checked(conversation_id=conversation_id, outcome=rules.outcome(entries, worked), entries=entries)

    def stats(self) -> tuple[TopicStats, ...]:
        """Return counts, ages and rates of each topic, by name."""
        self.store.expire()
        return self.store.stats()

    # ---- steering

    def cancel(self, message_id: str, reason: str = "cancelled") -> Message:
        """End a message that waits or is worked on; a worker that has it learns so when it renews or settles."""
        return self.store.cancel(message_id, validation.checked_text("reason", reason))

    def retry(self, message_id: str) -> Delivery:
        """Have a message worked on again that failed, timed out, was cancelled, is dead, or waits for a time."""
        return self.store.retry(message_id)

    def acknowledge(self, reply_id: str) -> bool:
        """Record that a reply was read, so that it does not wait any more; False where a worker is to get it."""
        return self.store.acknowledge(reply_id)

    def prune(self, older_than: timedelta, *, producer: str | None = None, limit: int | None = None) -> int:
        """Remove conversations that ended longer ago, with their keys; return how many messages were removed.

        With a producer, those that it began; with a limit, the oldest so many at most.
        """
        return self.store.prune(older_than, producer=producer, limit=limit)

    # ---- notifications

    def subscribe(self, conversation_id: str) -> None:
        """Have a notifier report the conversation's end."""
        self.store.subscribe(conversation_id)

    def claim_notifications(self, lease: timedelta = timedelta(minutes=1), limit: int = PAGE) -> tuple[Ended, ...]:
        """Claim the ends of conversations that are to be reported; acknowledge each before the lease is over."""
        self.store.expire()
        return self.store.claim_notifications(lease, limit)

    def ack_notification(self, ended: Ended) -> bool:
        """Record that a conversation's end was reported; return False if another notifier has claimed it since."""
        return self.store.ack_notification(ended)

    def notifications(self, lease: timedelta, *, patience: timedelta | None = None) -> Iterator[Ended]:
        """Yield claimed ends of conversations as they come, one at a time, as `claims` does with messages."""

        def claim_one() -> Ended | None:
            return next(iter(self.claim_notifications(lease, limit=1)), None)

        return notifier.block(self._steps(claim_one, patience=patience))

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _steps(
        self, find: Callable[[], T | None], *, topics: Sequence[str] = (), patience: timedelta | None = None
    ) -> Steps[T]:
        return notifier.poll(self.store, find, topics=topics, patience=patience)
