"""Claim messages, and end claims, inside a write that has begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prloom.exchange import ids, rules, standing
from prloom.exchange.claim import Claim, Look, Settled
from prloom.exchange.errors import ClaimOverError
from prloom.exchange.protocol import Taken
from prloom.exchange.sqlite import publishing, rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from prloom.exchange.claim import Ask, Delivery, Entry, Settlement
    from prloom.exchange.message import Message
    from prloom.exchange.rules import Backoff, Verdict

_READY = (
    "SELECT d.seq FROM deliveries AS d WHERE d.topic = ? AND d.state = 'ready' AND d.available_at IS NULL"
    # Gathered once, and not asked about each message: many may wait for one key.
    " AND (d.concurrency_key IS NULL OR d.concurrency_key NOT IN (SELECT busy.concurrency_key FROM deliveries AS busy"
    " WHERE busy.state = 'leased' AND busy.concurrency_key IS NOT NULL)) ORDER BY d.seq LIMIT 1"
)
_DUE = (
    "UPDATE deliveries SET available_at = NULL"
    " WHERE topic = ? AND state = 'ready' AND available_at IS NOT NULL AND available_at <= ?"
)
_DUE_AT = "SELECT min(available_at) FROM deliveries WHERE topic = ? AND state = 'ready' AND available_at IS NOT NULL"
_LEASE = "SELECT min(lease_until) FROM claims WHERE status = 'active'"
_WHOLE = f"SELECT {rows.MESSAGE}, {rows.DELIVERY} FROM messages AS m JOIN deliveries AS d USING (seq) WHERE m.seq = ?"  # noqa: S608
_CLAIM = (
    f"SELECT m.seq, c.reply_id, {rows.CLAIM}, {rows.DELIVERY} FROM claims AS c"  # noqa: S608 (columns of ours)
    " JOIN messages AS m ON m.seq = c.message JOIN deliveries AS d ON d.seq = c.message"
)
_MESSAGE_WIDTH = 8
_DIGITS = 19  # of the largest number that SQLite holds


def look(db: sqlite3.Connection, topics: Sequence[str], now: datetime) -> Look:
    """Look whether something is to be claimed or a lease is over; only reads."""
    next_at = _next_at(db, topics)
    ready = next_at is not None and next_at <= rows.micros(now)
    ready = ready or any(db.execute(_READY, (topic,)).fetchone() for topic in topics)
    return Look(ready=ready, next_at=rows.optional_moment(next_at))


def passed(db: sqlite3.Connection, topics: Sequence[str], now: datetime) -> bool:
    """Whether a lease is over, or a message's time has come; only reads."""
    next_at = _next_at(db, topics)
    return next_at is not None and next_at <= rows.micros(now)


def _next_at(db: sqlite3.Connection, topics: Sequence[str]) -> int | None:
    times = [db.execute(_DUE_AT, (topic,)).fetchone()[0] for topic in topics]
    times.append(db.execute(_LEASE).fetchone()[0])
    return min((each for each in times if each is not None), default=None)


def overdue(db: sqlite3.Connection, now: datetime) -> bool:
    """Whether a lease is over; only reads."""
    first = db.execute(_LEASE).fetchone()[0]
    return first is not None and first <= rows.micros(now)


def make_due(db: sqlite3.Connection, topics: Sequence[str], now: datetime) -> None:
    """Have the messages whose time has come be ready in their place."""
    db.executemany(_DUE, [(topic, rows.micros(now)) for topic in topics])


def take(db: sqlite3.Connection, ask: Ask, now: datetime) -> Taken | None:
    """Claim the next message by publication."""
    found = [row for topic in ask.topics for row in db.execute(_READY, (topic,))]
    if not found:
        return None
    seq = min(found)[0]
    row = db.execute(_WHOLE, (seq,)).fetchone()
    message = rows.message(row)
    leased = rules.claimed(rows.delivery(row[_MESSAGE_WIDTH:]), ask.max_attempts)
    # The id says where the claim is, so that none has to be looked up in an index that grows with history.
    claim = msgspec.structs.replace(standing.claim(leased, ask, now), id=f"{seq}-{ids.new()}")
    save(db, seq, leased)
    _put(db, seq, claim)
    return Taken(claim=claim, message=message, delivery=leased)


def note_worked(db: sqlite3.Connection, topics: Iterable[str]) -> None:
    """Note that somebody works on the topics."""
    db.executemany("INSERT INTO worked (topic) VALUES (?) ON CONFLICT DO NOTHING", [(topic,) for topic in topics])


def renew(db: sqlite3.Connection, claim_id: str, until: datetime, now: datetime) -> Claim:
    """Let the lease end then; raises ClaimOverError."""
    row = _found(db, claim_id)
    _check_active(claim_id, row, now)
    db.execute("UPDATE claims SET lease_until = ? WHERE message = ? AND id = ?", (rows.micros(until), row[0], claim_id))
    return rows.claim((*row[2:7], rows.micros(until), *row[8:]))


def settle(db: sqlite3.Connection, claim_id: str, settlement: Settlement, now: datetime, policy: Backoff) -> Settled:
    """End a claim as its holder says; raises ClaimOverError."""
    row = _found(db, claim_id)
    if row:
        before = rows.claim(row[2:])
        if before.status != "active" and rules.same(before, settlement):
            return Settled(claim=before, reply=None if row[1] is None else publishing.find(db, row[1]))
    claim = _check_active(claim_id, row, now)
    delivery = rows.delivery(row[2 + rows.CLAIM_WIDTH :])
    return end(db, row[0], claim, rules.settled(settlement, delivery, now, policy), now)


def expire(db: sqlite3.Connection, now: datetime, policy: Backoff) -> int:
    """End all claims whose lease is over."""
    over = db.execute(
        f"{_CLAIM} WHERE c.status = 'active' AND c.lease_until <= ? ORDER BY c.lease_until, c.message",
        (rows.micros(now),),
    ).fetchall()
    for row in over:
        claim, delivery = rows.claim(row[2:]), rows.delivery(row[2 + rows.CLAIM_WIDTH :])
        end(db, row[0], claim, rules.expired(claim, delivery, now, policy), now)
    return len(over)


def end(db: sqlite3.Connection, seq: int, claim: Claim, verdict: Verdict, now: datetime) -> Settled:
    """Write what became of a claim and of its message, and publish the reply."""
    ended = standing.ended(claim, verdict, now)
    reply = None if verdict.reply is None else publishing.put(db, verdict.reply, now)
    db.execute(
        "UPDATE claims SET status = ?, completed_at = ?, error = ?, reply_id = ? WHERE message = ? AND id = ?",
        (ended.status, rows.micros(now), ended.error, None if reply is None else reply.id, seq, ended.id),
    )
    save(db, seq, verdict.delivery)
    return Settled(claim=ended, reply=reply)


def save(db: sqlite3.Connection, seq: int, delivery: Delivery) -> None:
    """Write how a message stands."""
    db.execute(
        "UPDATE deliveries SET state = ?, ending = ?, available_at = ?, attempts = ?, max_attempts = ?, ended_at = ?"
        " WHERE seq = ?",
        (
            delivery.state,
            delivery.ending,
            rows.optional_micros(delivery.available_at),
            delivery.attempts,
            delivery.max_attempts,
            rows.optional_micros(delivery.ended_at),
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
            rows.micros(claim.claimed_at),
            rows.micros(claim.lease_until),
            claim.status,
            claim.attempt,
        ),
    )


def _found(db: sqlite3.Connection, claim_id: str) -> rows.Row:
    """Return the row of a claim; an empty one where there is none."""
    place = claim_id.partition("-")[0]
    if not (place.isascii() and place.isdigit() and len(place) < _DIGITS):
        return ()
    return db.execute(f"{_CLAIM} WHERE c.message = ? AND c.id = ?", (int(place), claim_id)).fetchone() or ()


def _check_active(claim_id: str, row: rows.Row, now: datetime) -> Claim:
    claim = rows.claim(row[2:]) if row else None
    if claim is None or claim.status != "active" or claim.lease_until <= now:
        raise ClaimOverError(standing.over(claim_id, claim))
    return claim


def cancel(db: sqlite3.Connection, entry: Entry, verdict: Verdict, now: datetime) -> Message:
    """End a message and its claim, if it has one, and return what is published about that."""
    assert verdict.reply is not None  # noqa: S101 (cancelling always tells)
    seq = db.execute("SELECT seq FROM messages WHERE id = ?", (entry.message.id,)).fetchone()[0]
    reply = publishing.put(db, verdict.reply, now)
    db.execute(
        "UPDATE claims SET status = ?, completed_at = ?, error = ? WHERE message = ? AND status = 'active'",
        (verdict.status, rows.micros(now), verdict.error, seq),
    )
    save(db, seq, verdict.delivery)
    return reply
