"""A store in the memory of this process: for tests, and to show in few lines what a store does."""

# ruff: noqa: D102 (the protocol describes each method)

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from prloom.backoff import QUICK, Backoff
from prloom.exchange import rules, transitions
from prloom.exchange.claim import Availability, Claim, ClaimTaken, Delivery, MessageEntry, Settled
from prloom.exchange.errors import ClaimOverError, UnknownMessageError
from prloom.exchange.message import Message, new_id
from prloom.exchange.notifier import Notifier
from prloom.exchange.protocol import PAGE, Listener, MessageFilter
from prloom.exchange.subscriptions import Subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prloom.exchange.claim import ClaimRequest, Ended, Settlement, TopicStats
    from prloom.exchange.message import Draft
    from prloom.exchange.rules import ClaimVerdict


class MemoryStore:
    """An `ExchangeStore` whose content ends with the process."""

    def __init__(self, *, clock: Callable[[], datetime] | None = None, backoff: Backoff | None = None) -> None:
        self.now = clock or (lambda: datetime.now(UTC))
        self._backoff = backoff or QUICK
        self._lock = threading.RLock()
        self._messages: dict[str, Message] = {}
        self._deliveries: dict[str, Delivery] = {}
        self._claims: dict[str, Claim] = {}
        self._replies: dict[str, str] = {}
        self._worked: set[str] = set()
        self._subscriptions = Subscriptions()
        self._notifier = Notifier()

    # ---- publishing

    def publish(self, drafts: Sequence[Draft]) -> tuple[Message, ...]:
        with self._lock:
            before = dict(self._messages), dict(self._deliveries), self._subscriptions.copy()
            try:
                published = tuple(self._publish(draft) for draft in drafts)
            except Exception:
                self._messages, self._deliveries, self._subscriptions = before
                raise
        self._notifier.notify()
        return published

    def _publish(self, draft: Draft) -> Message:
        now = self.now()
        message = self._existing(draft)
        restarted = draft.track and message is None
        if message is None:
            inherited = None
            if draft.parent_id is not None:
                inherited = self.message(draft.parent_id).conversation_id
            message = transitions.message(draft, inherited, now)
            self._messages[draft.id] = message
            self._deliveries[draft.id] = transitions.delivery(draft, now)
        if restarted:
            self._subscriptions.restart(message.conversation_id)
        elif draft.track:
            self._subscriptions.add(message.conversation_id)
        return message

    def _existing(self, draft: Draft) -> Message | None:
        if draft.id in self._messages:
            return self._messages[draft.id]
        for delivery in self._deliveries.values():
            if draft.key is not None and (delivery.topic, delivery.key) == (draft.topic, draft.key):
                return transitions.check_same_body(draft, self._messages[delivery.message_id])
        return None

    # ---- claiming

    def claim(self, request: ClaimRequest) -> ClaimTaken | None:
        with self._lock:
            self._worked.update(request.topics)
            self.expire()
            now = self.now()
            self._make_due(request.topics, now)
            delivery = next(self._ready(request.topics, now), None)
            if delivery is None:
                return None
            leased = rules.claimed(delivery, request.max_attempts)
            claim = transitions.claim(leased, request, now, new_id())
            self._deliveries[claim.message_id] = leased
            self._claims[claim.id] = claim
            return ClaimTaken(claim=claim, message=self._messages[claim.message_id], delivery=leased)

    def _make_due(self, topics: Sequence[str], now: datetime) -> None:
        """Make due messages ready, and keep them so, whatever the clock says later."""
        for each in tuple(self._deliveries.values()):
            if each.topic in topics and each.available_at is not None and each.available_at <= now:
                self._deliveries[each.message_id] = msgspec.structs.replace(each, available_at=None)

    def _ready(self, topics: Sequence[str], now: datetime) -> Iterator[Delivery]:
        busy = {each.concurrency_key for each in self._deliveries.values() if each.state == "leased"} - {None}
        for each in self._deliveries.values():
            due = each.available_at is None or each.available_at <= now
            if each.state == "ready" and due and each.topic in topics and each.concurrency_key not in busy:
                yield each

    def renew(self, claim_id: str, lease: timedelta) -> Claim:
        with self._lock:
            claim = self._active(claim_id)
            self._claims[claim_id] = msgspec.structs.replace(claim, lease_until=self.now() + lease)
            return self._claims[claim_id]

    def settle(self, claim_id: str, settlement: Settlement) -> Settled:
        with self._lock:
            claim = self._claims.get(claim_id)
            if claim is not None and claim.status != "active" and rules.same(claim, settlement):
                retry_at = self._deliveries[claim.message_id].available_at
                return Settled(claim=claim, reply=self._reply_to(claim_id), retry_at=retry_at)
            claim = self._active(claim_id)
            verdict = rules.settled(settlement, self._deliveries[claim.message_id], self.now(), self._backoff)
            return self._end(claim, verdict)

    def _reply_to(self, claim_id: str) -> Message | None:
        return self._messages.get(self._replies.get(claim_id, ""))

    def _active(self, claim_id: str) -> Claim:
        claim = self._claims.get(claim_id)
        if claim is None or claim.status != "active" or claim.lease_until <= self.now():
            raise ClaimOverError(transitions.over_text(claim_id, claim))
        return claim

    def _end(self, claim: Claim, verdict: ClaimVerdict) -> Settled:
        ended = transitions.ended(claim, verdict, self.now())
        self._claims[claim.id] = ended
        self._deliveries[claim.message_id] = verdict.delivery
        reply = None
        if verdict.reply is not None:
            reply = self._publish(verdict.reply)
            self._replies[claim.id] = reply.id
        self._notifier.notify()
        return Settled(claim=ended, reply=reply, retry_at=verdict.delivery.available_at)

    def expire(self) -> int:
        with self._lock:
            now = self.now()
            over = [each for each in self._claims.values() if each.status == "active" and each.lease_until <= now]
            published = {message_id: number for number, message_id in enumerate(self._deliveries)}
            for claim in sorted(over, key=lambda each: (each.lease_until, published[each.message_id])):
                verdict = rules.expired(claim, self._deliveries[claim.message_id], now, self._backoff)
                self._end(claim, verdict)
            return len(over)

    def availability(self, topics: Sequence[str]) -> Availability:
        with self._lock:
            now = self.now()
            leases = [each.lease_until for each in self._claims.values() if each.status == "active"]
            delays = [
                each.available_at
                for each in self._deliveries.values()
                if each.state == "ready" and each.topic in topics and each.available_at is not None
            ]
            next_at = min(leases + delays, default=None)
            passed = next_at is not None and next_at <= now
            ready = passed or next(self._ready(topics, now), None) is not None
            return Availability(ready=ready, next_at=next_at)

    # ---- steering

    def cancel(self, message_id: str, reason: str) -> Message:
        with self._lock:
            self.expire()
            entry = self.entry(message_id)
            transitions.check_cancel(entry)
            now = self.now()
            verdict = rules.cancelled(entry.delivery, now, reason)
            assert verdict.reply is not None  # noqa: S101 (cancelling always publishes a reply)
            for claim in entry.claims:
                if claim.status == "active":
                    self._claims[claim.id] = transitions.ended(claim, verdict, now)
            self._deliveries[message_id] = verdict.delivery
            reply = self._publish(verdict.reply)
        self._notifier.notify()
        return reply

    def retry(self, message_id: str) -> Delivery:
        with self._lock:
            self.expire()
            entry = self.entry(message_id)
            transitions.check_retry(entry)
            self._deliveries[message_id] = rules.retried(entry.delivery)
            if entry.message.conversation_id in self._subscriptions:
                self._subscriptions.restart(entry.message.conversation_id)
        self._notifier.notify()
        return self._deliveries[message_id]

    def acknowledge(self, message_id: str) -> bool:
        with self._lock:
            read = rules.acknowledged(self.entry(message_id).delivery, self._worked, self.now())
            if read is not None:
                self._deliveries[message_id] = read
            return read is not None

    def prune(self, older_than: timedelta, *, producer: str | None = None, limit: int | None = None) -> int:
        with self._lock:
            self.expire()
            before = self.now() - older_than
            began = {
                each.conversation_id: None for each in self._messages.values() if producer in {None, each.producer}
            }
            old = (each for each in map(self.conversation, began) if transitions.prunable(each, self._worked, before))
            gone = list(islice(old, limit))
            for entries in gone:
                self._forget(entries)
            return sum(map(len, gone))

    def _forget(self, entries: Sequence[MessageEntry]) -> None:
        for entry in entries:
            del self._messages[entry.message.id], self._deliveries[entry.message.id]
            for claim in entry.claims:
                del self._claims[claim.id]
                self._replies.pop(claim.id, None)
            self._subscriptions.forget(entry.message.conversation_id)

    # ---- reading

    def message(self, message_id: str) -> Message:
        with self._lock:
            if message_id not in self._messages:
                raise UnknownMessageError(transitions.unknown_text(message_id))
            return self._messages[message_id]

    def read(self, selection: MessageFilter) -> tuple[Message, ...]:
        with self._lock:
            order = list(self._messages)
            first = 0
            if selection.since is not None:
                first = order.index(self.message(selection.since).id) + 1
            later = (self._messages[each] for each in order[first:])
            fitting = (each for each in later if transitions.matches(each, self._deliveries[each.id], selection))
            return tuple(_bounded(each, selection.longest_body) for each in islice(fitting, selection.limit))

    def entry(self, message_id: str) -> MessageEntry:
        with self._lock:
            message = self.message(message_id)
            claims = tuple(each for each in self._claims.values() if each.message_id == message_id)
            return MessageEntry(message=message, delivery=self._deliveries[message_id], claims=claims)

    def conversation(self, conversation_id: str) -> tuple[MessageEntry, ...]:
        with self._lock:
            found = [each.id for each in self._messages.values() if each.conversation_id == conversation_id]
            return tuple(self.entry(each) for each in found)

    def worked(self, topics: Sequence[str]) -> frozenset[str]:
        with self._lock:
            return frozenset(self._worked.intersection(topics))

    def stats(self) -> tuple[TopicStats, ...]:
        with self._lock:
            return transitions.all_stats(map(self.entry, self._messages), self.now())

    # ---- notifications

    def subscribe(self, conversation_id: str) -> None:
        with self._lock:
            if not self.conversation(conversation_id):
                raise UnknownMessageError(transitions.unknown_text(conversation_id, "conversation"))
            self._subscriptions.add(conversation_id)

    def claim_notifications(self, lease: timedelta, limit: int = PAGE) -> tuple[Ended, ...]:
        with self._lock:
            now = self.now()
            taken: list[Ended] = []
            for name in self._subscriptions.pending(now):
                if len(taken) == limit:
                    break
                outcome = rules.outcome(self.conversation(name), self._worked)
                if outcome != "pending":
                    taken.append(self._subscriptions.claim(name, outcome, now + lease))
            return tuple(taken)

    def ack_notification(self, ended: Ended) -> bool:
        with self._lock:
            return self._subscriptions.acknowledge(ended)

    # ---- listening

    def listen(self) -> Listener:
        return self._notifier.listen()

    def close(self) -> None:
        """Close the listeners; the content stays as long as the object does."""
        self._notifier.close()


def _bounded(message: Message, longest: int | None) -> Message:
    """Return a message without its body where that is longer."""
    size = len(message.body.encode())
    if longest is None or size <= longest:
        return message
    return msgspec.structs.replace(message, body="", omitted=size)
