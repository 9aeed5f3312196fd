"""Keep an exchange in one SQLite database."""

# ruff: noqa: D102 (the protocol describes each method)

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from prloom.backoff import QUICK, Backoff
from prloom.exchange import rules, transitions
from prloom.exchange.claim import ClaimCache
from prloom.exchange.errors import UnknownMessageError
from prloom.exchange.protocol import PAGE
from prloom.exchange.sqlite import claiming, conversations, reading
from prloom.exchange.sqlite.clock import GivenClock, SteadyClock, StoreClock
from prloom.exchange.sqlite.connection import SqliteConnection
from prloom.exchange.sqlite.writer_lock import FileListener

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
    from prloom.exchange.protocol import Listener, MessageFilter

_PRUNED_AT_ONCE = 100  # conversations; others write between


class SqliteStore:
    """An `ExchangeStore`; any number of processes and threads may use one database."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Callable[[], datetime] | None = None,
        time: SteadyClock | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        """Open the database, making it where there is none; raises StoreError for what is no exchange."""
        self.path = os.path.abspath(path)  # noqa: PTH100 (a link stays one, to be refused)
        self._backoff = backoff or QUICK
        self._claimed_before = False
        self._cached = ClaimCache()
        self._worked: set[str] = set()  # topics that are recorded as having a worker
        self._connection = SqliteConnection(self.path)
        self._time: StoreClock = time or SteadyClock()
        if time is None and clock is not None:
            self._time = GivenClock(clock)
        with self._connection.reading() as db:
            adrift = self._time.adrift(db)
        if adrift:
            with self._connection.writing() as db:
                self._time.anchor(db)

    def now(self) -> datetime:
        with self._connection.reading() as db:
            return self._time.now(db)

    # ---- publishing

    def publish(self, drafts: Sequence[Draft]) -> tuple[Message, ...]:
        with self._connection.writing() as db:
            now = self._time.now(db)
            published = tuple(conversations.publish(db, draft, now) for draft in drafts)
        self._connection.notify()
        return published

    # ---- claiming

    def claim(self, request: ClaimRequest) -> ClaimTaken | None:
        self._note_worked(request.topics)
        # After a success, the next message is probably there; otherwise, check before waiting for the writers' lock.
        if not self._claimed_before and not self.availability(request.topics).ready:
            return None
        expired = 0
        with self._connection.writing() as db:
            found = claiming.find_next(db, request.topics, self._time)
            if found.overdue:
                expired = claiming.expire(db, self._time, self._backoff)
                claiming.make_due(db, request.topics, found.now)
                found = claiming.find_next(db, request.topics, self._time)
            taken = claiming.take(db, request, found)
        self._claimed_before = taken is not None
        if taken is not None:
            self._cached.add(taken)
        if expired:
            self._connection.notify()
        return taken

    def _note_worked(self, topics: Sequence[str]) -> None:
        """Record, once in an exchange's life, that the topics have a worker, also if there is nothing to do yet."""
        if not self._worked.issuperset(topics):
            missing = set(topics) - self.worked(topics)
            if missing:
                with self._connection.writing() as db:
                    claiming.note_worked(db, missing)
            self._worked.update(topics)

    def renew(self, claim_id: str, lease: timedelta) -> Claim:
        with self._connection.writing() as db:
            return claiming.renew(db, claim_id, lease, self._time)

    def settle(self, claim_id: str, settlement: Settlement) -> Settled:
        with self._connection.writing() as db:
            cached = self._cached.find(claim_id)
            settled = cached and claiming.settle_cached(db, cached, settlement, self._time, self._backoff)
            settled = settled or claiming.settle(db, claim_id, settlement, self._time, self._backoff)
        self._cached.discard(claim_id)
        self._connection.notify()
        return settled

    def expire(self) -> int:
        with self._connection.reading() as db:
            overdue = claiming.overdue(db, self._time.now(db))
        if not overdue:
            return 0
        with self._connection.writing() as db:
            expired = claiming.expire(db, self._time, self._backoff)
        self._connection.notify()
        return expired

    def availability(self, topics: Sequence[str]) -> Availability:
        with self._connection.reading() as db:
            return claiming.availability(db, topics, self._time.now(db))

    # ---- steering

    def cancel(self, message_id: str, reason: str) -> Message:
        self.expire()
        with self._connection.writing() as db:
            now = self._time.now(db)
            entry = reading.entry(db, message_id)
            transitions.check_cancel(entry)
            reply = claiming.cancel(db, entry, rules.cancelled(entry.delivery, now, reason), now)
        self._connection.notify()
        return reply

    def retry(self, message_id: str) -> Delivery:
        self.expire()
        with self._connection.writing() as db:
            entry = reading.entry(db, message_id)
            transitions.check_retry(entry)
            again = rules.retried(entry.delivery)
            claiming.save_delivery(db, reading.seq(db, message_id), again)
            conversations.resubscribe(db, entry.message.conversation_id)
        self._connection.notify()
        return again

    def acknowledge(self, message_id: str) -> bool:
        with self._connection.writing() as db:
            delivery = reading.entry(db, message_id).delivery
            read = rules.acknowledged(delivery, conversations.worked(db, [delivery.topic]), self._time.now(db))
            if read is not None:
                claiming.save_delivery(db, reading.seq(db, message_id), read)
        return read is not None

    def prune(self, older_than: timedelta, *, producer: str | None = None, limit: int | None = None) -> int:
        self.expire()
        before = self.now() - older_than
        with self._connection.reading() as db:
            names = conversations.older_than(db, before, producer, limit)
        removed = 0
        for first in range(0, len(names), _PRUNED_AT_ONCE):
            with self._connection.writing() as db:
                removed += conversations.remove(db, names[first : first + _PRUNED_AT_ONCE], before)
        return removed

    # ---- reading

    def message(self, message_id: str) -> Message:
        with self._connection.reading() as db:
            return reading.message(db, message_id)

    def read(self, selection: MessageFilter) -> tuple[Message, ...]:
        with self._connection.reading() as db:
            return reading.messages(db, selection)

    def entry(self, message_id: str) -> MessageEntry:
        with self._connection.reading() as db:
            return reading.entry(db, message_id)

    def conversation(self, conversation_id: str) -> tuple[MessageEntry, ...]:
        with self._connection.reading() as db:
            return reading.conversation(db, conversation_id)

    def worked(self, topics: Sequence[str]) -> frozenset[str]:
        with self._connection.reading() as db:
            return conversations.worked(db, topics)

    def stats(self) -> tuple[TopicStats, ...]:
        with self._connection.reading() as db:
            return reading.stats(db, self._time.now(db))

    # ---- notifications

    def subscribe(self, conversation_id: str) -> None:
        with self._connection.writing() as db:
            if not conversations.outline(db, conversation_id):
                raise UnknownMessageError(transitions.unknown_text(conversation_id, "conversation"))
            conversations.subscribe(db, conversation_id)

    def claim_notifications(self, lease: timedelta, limit: int = PAGE) -> tuple[Ended, ...]:
        with self._connection.reading() as db:
            first = next(conversations.ended(db, self._time.now(db)), None)
        if first is None:
            return ()
        with self._connection.writing() as db:
            now = self._time.now(db)
            return conversations.claim_notifications(db, now, now + lease, limit)

    def ack_notification(self, ended: Ended) -> bool:
        with self._connection.writing() as db:
            return conversations.ack_notification(db, ended)

    # ---- listening

    def listen(self) -> Listener:
        return FileListener(f"{self.path}-lock")

    def close(self) -> None:
        self._connection.close()
