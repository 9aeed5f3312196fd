"""Claim messages, and renew and settle claims, inside a write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prloom.exchange import rules, transitions
from prloom.exchange.claim import Availability, Claim, ClaimTaken, Settled
from prloom.exchange.errors import ClaimOverError
from prloom.exchange.message import new_id
from prloom.exchange.sqlite import conversations, reading
from prloom.exchange.sqlite.clock import STARTED, micros, moment, optional_micros, optional_moment

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from datetime import datetime, timedelta

    from prloom.backoff import Backoff
    from prloom.exchange.claim import CachedClaim, ClaimRequest, Delivery, MessageEntry, Settlement
    from prloom.exchange.message import Message
    from prloom.exchange.rules import ClaimVerdict
    from prloom.exchange.sqlite.clock import StoreClock
    from prloom.exchange.sqlite.reading import DbRow

_READY = (
    "SELECT d.seq FROM deliveries AS d WHERE d.topic = {topic} AND d.state = 'ready' AND d.available_at IS NULL"
    # A list that is built once, not a subquery for each message: many may wait for one key.
    " AND (d.concurrency_key IS NULL OR d.concurrency_key NOT IN (SELECT busy.concurrency_key FROM deliveries AS busy"
    " WHERE busy.state = 'leased' AND busy.concurrency_key IS NOT NULL)) ORDER BY d.seq LIMIT 1"
)
_DUE = (
    "UPDATE deliveries SET available_at = NULL"
    " WHERE topic = ? AND state = 'ready' AND available_at IS NOT NULL AND available_at <= ?"
)
_DUE_AT = (
    "SELECT min(available_at) FROM deliveries WHERE topic = {topic} AND state = 'ready' AND available_at IS NOT NULL"
)
_LEASE = "SELECT min(lease_until) FROM claims WHERE status = 'active'"
_READY_ON, _DUE_ON = _READY.format(topic="?"), _DUE_AT.format(topic="?")
# One statement with all that a claim needs, and no more: each statement costs, and each column.
_NEXT_ON = "SELECT ({due}) AS due_at, ({ready}) AS seq"
_NEXT_ON_SEVERAL = "SELECT min(({due})) AS due_at, min(({ready})) AS seq FROM json_each(?2) AS t"


def _first(following: str, topic: str) -> str:
    started = STARTED.replace("?", "?1")
    following = following.format(due=_DUE_AT.format(topic=topic), ready=_READY.format(topic=topic))
    columns = f"{started}, ({_LEASE}), first.due_at, m.seq, {transitions.MESSAGE}, {transitions.OPEN_DELIVERY}"
    return (
        f"SELECT {columns} FROM ({following}) AS first"  # noqa: S608 (texts of ours)
        " LEFT JOIN messages AS m ON m.seq = first.seq LEFT JOIN deliveries AS d ON d.seq = first.seq"
    )


_FIRST = _first(_NEXT_ON, "?2")
_FIRST_OF_SEVERAL = _first(_NEXT_ON_SEVERAL, "t.value")
_CLAIM = (
    f"SELECT {STARTED}, m.seq, m.conversation_id, c.reply_id, {transitions.CLAIM}, {transitions.DELIVERY}"  # noqa: S608
    " FROM claims AS c JOIN messages AS m ON m.seq = c.message JOIN deliveries AS d ON d.seq = c.message"
)
_CLAIM_BY_ID = f"{_CLAIM} WHERE c.message = ? AND c.id = ?"
_LEASE_BY_ID = f"SELECT {STARTED}, lease_until FROM claims WHERE message = ? AND id = ? AND status = 'active'"  # noqa: S608
_HEAD_WIDTH = 4
_DIGITS = 19  # of the largest number that SQLite holds


def availability(db: sqlite3.Connection, topics: Sequence[str], now: datetime) -> Availability:
    """Return whether something can be claimed or a lease is over, and when to look again; only read."""
    next_at = _next_at(db, topics)
    ready = next_at is not None and next_at <= micros(now)
    ready = ready or any(db.execute(_READY_ON, (topic,)).fetchone() for topic in topics)
    return Availability(ready=ready, next_at=optional_moment(next_at))


def _next_at(db: sqlite3.Connection, topics: Sequence[str]) -> int | None:
    times = [db.execute(_DUE_ON, (topic,)).fetchone()[0] for topic in topics]
    times.append(db.execute(_LEASE).fetchone()[0])
    return min((each for each in times if each is not None), default=None)


def overdue(db: sqlite3.Connection, now: datetime) -> bool:
    """Whether a lease is over; only read."""
    first = db.execute(_LEASE).fetchone()[0]
    return first is not None and first <= micros(now)


def make_due(db: sqlite3.Connection, topics: Sequence[str], now: datetime) -> None:
    """Make the delayed messages ready whose time has come."""
    db.executemany(_DUE, [(topic, micros(now)) for topic in topics])


class NextMessage(NamedTuple):
    """The row of the next message by publication; `overdue`: some lease or delay is over, which comes first."""

    now: datetime
    overdue: bool
    row: DbRow


def find_next(db: sqlite3.Connection, topics: Sequence[str], clock: StoreClock) -> NextMessage:
    """Find the next message to claim; only read."""
    if len(topics) == 1:
        row = db.execute(_FIRST, (clock.boot, topics[0])).fetchone()
    else:
        row = db.execute(_FIRST_OF_SEVERAL, (clock.boot, msgspec.json.encode(topics).decode())).fetchone()
    now = clock.at(row[0])
    until = micros(now)
    overdue = any(each is not None and each <= until for each in row[1:3])
    return NextMessage(now, overdue, row[3:])


def take(db: sqlite3.Connection, request: ClaimRequest, found: NextMessage) -> ClaimTaken | None:
    """Claim the message that was found, if there is one."""
    seq, *row = found.row
    if seq is None:
        return None
    message = reading.to_message(tuple(row))
    ready = transitions.open_delivery(message, "ready", row[transitions.MESSAGE_WIDTH :])
    leased = rules.claimed(ready, request.max_attempts)
    # The id contains the claim's place, so that no index that grows with history is needed to find it.
    claim = transitions.claim(leased, request, found.now, f"{seq}-{new_id()}")
    db.execute(
        "UPDATE deliveries SET state = 'leased', attempts = ?, max_attempts = ? WHERE seq = ?",
        (leased.attempts, leased.max_attempts, seq),
    )
    _put(db, seq, claim)
    return ClaimTaken(claim=claim, message=message, delivery=leased)


def note_worked(db: sqlite3.Connection, topics: Iterable[str]) -> None:
    """Record that the topics have a worker."""
    db.executemany("INSERT INTO worked (topic) VALUES (?) ON CONFLICT DO NOTHING", [(topic,) for topic in topics])


def renew(db: sqlite3.Connection, claim_id: str, lease: timedelta, clock: StoreClock) -> Claim:
    """Set the lease's end to so much after now; raises ClaimOverError."""
    claimed = _read_claim(db, claim_id, clock)
    _check_active(claimed)
    until = claimed.now + lease
    db.execute("UPDATE claims SET lease_until = ? WHERE message = ? AND id = ?", (micros(until), claimed.seq, claim_id))
    return msgspec.structs.replace(claimed.claim, lease_until=until)


def settle(
    db: sqlite3.Connection, claim_id: str, settlement: Settlement, clock: StoreClock, policy: Backoff
) -> Settled:
    """End a claim as the settlement says; raises ClaimOverError."""
    claimed = _read_claim(db, claim_id, clock)
    if claimed.claim.status != "active" and rules.same(claimed.claim, settlement):
        if claimed.reply_id is None:
            reply = None
        else:
            reply = reading.message(db, claimed.reply_id)
        return Settled(claim=claimed.claim, reply=reply, retry_at=claimed.delivery.available_at)
    _check_active(claimed)
    return _end(db, claimed, rules.settled(settlement, claimed.delivery, claimed.now, policy))


def settle_cached(
    db: sqlite3.Connection, cached: CachedClaim, settlement: Settlement, clock: StoreClock, policy: Backoff
) -> Settled | None:
    """End a claim that this client made, if it is active still; otherwise return None, having done nothing."""
    seq = int(cached.claim.id.partition("-")[0])
    row = db.execute(_LEASE_BY_ID, (clock.boot, seq, cached.claim.id)).fetchone()
    if row is None or (until := moment(row[1])) <= (now := clock.at(row[0])):
        return None
    claimed = _ClaimRow(
        now=now,
        seq=seq,
        conversation_id=cached.conversation_id,
        reply_id=None,
        claim=msgspec.structs.replace(cached.claim, lease_until=until),
        delivery=cached.delivery,
    )
    return _end(db, claimed, rules.settled(settlement, claimed.delivery, now, policy))


def expire(db: sqlite3.Connection, clock: StoreClock, policy: Backoff) -> int:
    """End all claims whose lease is over."""
    now = clock.now(db)
    over = db.execute(
        f"{_CLAIM} WHERE c.status = 'active' AND c.lease_until <= ? ORDER BY c.lease_until, c.message",
        (clock.boot, micros(now)),
    ).fetchall()
    for row in over:
        claimed = _claim_row(row, now)
        _end(db, claimed, rules.expired(claimed.claim, claimed.delivery, now, policy))
    return len(over)


def _end(db: sqlite3.Connection, claimed: _ClaimRow, verdict: ClaimVerdict) -> Settled:
    """Write the claim's and the message's new state, and publish the reply."""
    ended = transitions.ended(claimed.claim, verdict, claimed.now)
    reply, reply_id = None, None
    if verdict.reply is not None:
        reply = conversations.publish_reply(db, verdict.reply, claimed.conversation_id, claimed.now)
        reply_id = reply.id
    db.execute(
        "UPDATE claims SET status = ?, completed_at = ?, error = ?, reply_id = ? WHERE message = ? AND id = ?",
        (ended.status, micros(claimed.now), ended.error, reply_id, claimed.seq, ended.id),
    )
    save_delivery(db, claimed.seq, verdict.delivery)
    return Settled(claim=ended, reply=reply, retry_at=verdict.delivery.available_at)


def save_delivery(db: sqlite3.Connection, seq: int, delivery: Delivery) -> None:
    """Write the delivery of a message."""
    db.execute(
        "UPDATE deliveries SET state = ?, ending = ?, available_at = ?, attempts = ?, max_attempts = ?, ended_at = ?"
        " WHERE seq = ?",
        (
            delivery.state,
            delivery.ending,
            optional_micros(delivery.available_at),
            delivery.attempts,
            delivery.max_attempts,
            optional_micros(delivery.ended_at),
            seq,
        ),
    )


def _put(db: sqlite3.Connection, seq: int, claim: Claim) -> None:
    db.execute(
        "INSERT INTO claims (message, number, id, worker_group, worker_instance_id, claimed_at, lease_until, status,"
        " attempt) VALUES (?1, 1 + (SELECT count(*) FROM claims WHERE message = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        (
            seq,
            claim.id,
            claim.worker_group,
            claim.worker_instance_id,
            micros(claim.claimed_at),
            micros(claim.lease_until),
            claim.status,
            claim.attempt,
        ),
    )


class _ClaimRow(NamedTuple):
    """A claim, the delivery of its message, and the time at which they were read."""

    now: datetime
    seq: int
    conversation_id: str
    reply_id: str | None
    claim: Claim
    delivery: Delivery


def _read_claim(db: sqlite3.Connection, claim_id: str, clock: StoreClock) -> _ClaimRow:
    """Return a claim with its delivery; raises ClaimOverError where there is none."""
    seq = claim_id.partition("-")[0]
    if seq.isascii() and seq.isdigit() and len(seq) < _DIGITS:
        row = db.execute(_CLAIM_BY_ID, (clock.boot, int(seq), transitions.searchable(claim_id))).fetchone()
        if row is not None:
            return _claim_row(row, clock.at(row[0]))
    raise ClaimOverError(transitions.over_text(claim_id, None))


def _claim_row(row: DbRow, now: datetime) -> _ClaimRow:
    _, seq, conversation_id, reply_id = row[:_HEAD_WIDTH]
    claim = reading.to_claim(row[_HEAD_WIDTH:])
    delivery = reading.to_delivery(row[_HEAD_WIDTH + transitions.CLAIM_WIDTH :])
    return _ClaimRow(now, seq, conversation_id, reply_id, claim, delivery)


def _check_active(claimed: _ClaimRow) -> None:
    claim = claimed.claim
    if claim.status != "active" or claim.lease_until <= claimed.now:
        raise ClaimOverError(transitions.over_text(claim.id, claim))


def cancel(db: sqlite3.Connection, entry: MessageEntry, verdict: ClaimVerdict, now: datetime) -> Message:
    """End a message and its claim, if it has one, and return what is published about that."""
    assert verdict.reply is not None  # noqa: S101 (cancelling always publishes a reply)
    seq = db.execute("SELECT seq FROM messages WHERE id = ?", (entry.message.id,)).fetchone()[0]
    reply = conversations.publish_reply(db, verdict.reply, entry.message.conversation_id, now)
    db.execute(
        "UPDATE claims SET status = ?, completed_at = ?, error = ? WHERE message = ? AND status = 'active'",
        (verdict.status, micros(now), verdict.error, seq),
    )
    save_delivery(db, seq, verdict.delivery)
    return reply
