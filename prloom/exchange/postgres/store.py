"""Keep an exchange in a PostgreSQL database."""

# ruff: noqa: D102 (the protocol describes each method)

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from prloom.backoff import QUICK, Backoff
from prloom.exchange import rules, transitions
from prloom.exchange.claim import ClaimCache
from prloom.exchange.errors import ClaimOverError, UnknownMessageError
from prloom.exchange.message import new_id
from prloom.exchange.postgres import address, claiming, conversations, reading, settling, transaction
from prloom.exchange.postgres.connection import PATIENCE, PostgresConnection
from prloom.exchange.postgres.listener import PostgresListener
from prloom.exchange.protocol import PAGE, MessageFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prloom.exchange.claim import (
        Availability,
        Claim,
        ClaimRequest,
        ClaimTaken,
        Delivery,
        Ended,
        MessageEntry,
        Settled,
        Settlement,
        TopicStats,
    )
    from prloom.exchange.message import Draft, Message
    from prloom.exchange.postgres.transaction import Transaction
    from prloom.exchange.protocol import Listener

_PRUNED_AT_ONCE = 100  # conversations; others write between


class PostgresStore:
    """An `ExchangeStore`; any number of machines, processes and threads may use one schema.

    A lost connection is replaced, for as long as `patience`, and what was not committed is repeated. What may have been
    committed is searched for first: by the message's id or key, by the claim's id and state.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Callable[[], datetime] | None = None,
        backoff: Backoff | None = None,
        patience: timedelta = PATIENCE,
    ) -> None:
        """Open the exchange, making its schema where there is none; raises StoreError for what is no exchange.

        The time is the server's, unless a clock is given.
        """
        self._clock = clock
        self._backoff = backoff or QUICK
        self._connection = PostgresConnection(address.read_url(url), clock=clock, patience=patience)
        self._cached = ClaimCache()
        self._worked: set[str] = set()  # topics that are recorded as having a worker
        self._listener = PostgresListener(self._connection.address, patience)

    def now(self) -> datetime:
        if self._clock is not None:
            return self._clock()
        ((now,),) = self._connection.once("SELECT clock_timestamp()")
        assert isinstance(now, datetime)  # noqa: S101 (PostgreSQL's own function)
        return now

    # ---- publishing

    def publish(self, drafts: Sequence[Draft]) -> tuple[Message, ...]:
        return self._connection.write(lambda tx: conversations.publish(tx, drafts))

    # ---- claiming

    def claim(self, request: ClaimRequest) -> ClaimTaken | None:
        if not self._worked.issuperset(request.topics):
            self._connection.once(claiming.NOTE_WORKED, list(request.topics))
            self._worked.update(request.topics)
        claim_id = new_id()
        taken = self._connection.write_at_once(lambda tx: claiming.take(tx, request, claim_id, upkeep=True))
        if isinstance(taken, claiming.Upkeep):
            self.expire()
            self._connection.once(claiming.DUE, transaction.given_time(self._clock), list(request.topics))
            taken = self._connection.write_at_once(lambda tx: claiming.take(tx, request, claim_id, upkeep=False))
        assert not isinstance(taken, claiming.Upkeep)  # noqa: S101 (it was not requested)
        if taken is not None:
            self._cached.add(taken)
        return taken

    def renew(self, claim_id: str, lease: timedelta) -> Claim:
        renewed = self._connection.once(
            claiming.RENEW, transaction.given_time(self._clock), lease, reading.searchable(claim_id)
        )
        if not renewed:
            claim = self._connection.read(lambda tx: claiming.find(tx, claim_id))
            raise ClaimOverError(transitions.over_text(claim_id, claim))
        return reading.to_claim(renewed[0])

    def settle(self, claim_id: str, settlement: Settlement) -> Settled:
        settled = None
        if (cached := self._cached.find(claim_id)) is not None:
            settled = self._connection.write_at_once(
                lambda tx: settling.settle_cached(tx, cached, settlement, self._backoff)
            )
        if settled is None:
            work = partial(settling.settle, claim_id=claim_id, settlement=settlement, policy=self._backoff)
            settled = self._connection.write(work, lock="none")
        self._cached.discard(claim_id)
        return settled

    def expire(self) -> int:
        expired = 0
        while self._connection.once(claiming.OVERDUE, transaction.given_time(self._clock))[0][0]:
            some = self._connection.write(lambda tx: settling.expire(tx, self._backoff))
            if some == 0:
                break  # other clients are at it
            expired += some
        return expired

    def availability(self, topics: Sequence[str]) -> Availability:
        several = list(topics)
        return claiming.availability(
            self._connection.once(claiming.AVAILABILITY, transaction.given_time(self._clock), several, several)[0]
        )

    # ---- steering

    def cancel(self, message_id: str, reason: str) -> Message:
        self.expire()
        reply_id = new_id()

        def work(tx: Transaction) -> Message:
            if tx.repeated and (reply := reading.find_message(tx, reply_id)) is not None:
                return reply
            seq = settling.lock(tx, message_id)
            entry = reading.entry(tx, message_id)
            assert seq is not None  # noqa: S101 (the entry is there)
            transitions.check_cancel(entry)
            return settling.cancel(tx, seq, entry, rules.cancelled(entry.delivery, tx.now, reason), reply_id)

        return self._connection.write(work)

    def retry(self, message_id: str) -> Delivery:
        self.expire()

        def work(tx: Transaction) -> Delivery:
            seq = settling.lock(tx, message_id)
            entry = reading.entry(tx, message_id)
            assert seq is not None  # noqa: S101 (the entry is there)
            again = rules.retried(entry.delivery)
            if tx.repeated and entry.delivery.state == "leased":
                return again  # a worker has claimed it already, after a commit whose answer was lost
            transitions.check_retry(entry)
            settling.save_delivery(tx, seq, again)
            conversations.resubscribe(tx, entry.message.conversation_id)
            tx.changed = True
            return again

        return self._connection.write(work)

    def acknowledge(self, message_id: str) -> bool:
        def work(tx: Transaction) -> bool:
            seq = settling.lock(tx, message_id)
            delivery = reading.entry(tx, message_id).delivery
            worked = frozenset(topic for (topic,) in tx.execute(reading.WORKED, [delivery.topic]))
            read = rules.acknowledged(delivery, worked, tx.now)
            if read is not None and seq is not None:
                settling.save_delivery(tx, seq, read)
            return read is not None

        return self._connection.write(work)

    def prune(self, older_than: timedelta, *, producer: str | None = None, limit: int | None = None) -> int:
        self.expire()
        before = self.now() - older_than
        names = [name for (name,) in self._connection.once(conversations.OLD, before, producer, producer, limit)]
        removed = 0
        for first in range(0, len(names), _PRUNED_AT_ONCE):
            work = partial(conversations.remove, names=names[first : first + _PRUNED_AT_ONCE], before=before)
            removed += self._connection.write(work, lock="exclusive")
        return removed

    # ---- reading

    def message(self, message_id: str) -> Message:
        return self._connection.read(lambda tx: reading.message(tx, message_id))

    def read(self, selection: MessageFilter) -> tuple[Message, ...]:
        newest, since = None, 0
        if selection.replies_to is None or selection.since is not None:
            newest, since = self._connection.read_in_order(lambda tx: reading.bounds(tx, selection))
        statement, values = reading.messages(selection, newest, since)
        return tuple(map(reading.to_bounded_message, self._connection.once(statement, *values)))

    def entry(self, message_id: str) -> MessageEntry:
        return self._connection.read(lambda tx: reading.entry(tx, message_id))

    def conversation(self, conversation_id: str) -> tuple[MessageEntry, ...]:
        return self._connection.read(lambda tx: reading.conversation(tx, conversation_id))

    def worked(self, topics: Sequence[str]) -> frozenset[str]:
        return frozenset(topic for (topic,) in self._connection.once(reading.WORKED, list(topics)))

    def stats(self) -> tuple[TopicStats, ...]:
        now = self.now()
        return tuple(map(reading.stats, self._connection.once(reading.STATS, now, now - transitions.RATE_WINDOW)))

    # ---- notifications

    def subscribe(self, conversation_id: str) -> None:
        def work(tx: Transaction) -> None:
            if tx.fetch_one(reading.ANY_OF, reading.searchable(conversation_id)) is None:
                raise UnknownMessageError(transitions.unknown_text(conversation_id, "conversation"))
            conversations.subscribe(tx, conversation_id)

        self._connection.write(work)

    def claim_notifications(self, lease: timedelta, limit: int = PAGE) -> tuple[Ended, ...]:
        now = self.now()
        found = self._connection.read(lambda tx: conversations.ended(tx, now, limit))
        if found:
            return self._connection.write(lambda tx: conversations.claim_notifications(tx, found, lease))
        return ()

    def ack_notification(self, ended: Ended) -> bool:
        name, token = reading.searchable(ended.conversation_id), reading.searchable(ended.token)
        return bool(self._connection.once(conversations.ACKNOWLEDGE, name, token))

    # ---- listening

    def listen(self) -> Listener:
        return self._listener.listen()

    def close(self) -> None:
        self._listener.close()
        self._connection.close()
