"""Claim messages, and end claims.

A message that is leased changes only together with its active claim, by whoever has locked that claim's row; one that
is ready only by whoever has locked its own. Claiming passes by what others have locked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from prloom.exchange import rules, transitions
from prloom.exchange.claim import Availability, Claim, Settled
from prloom.exchange.errors import ClaimOverError
from prloom.exchange.postgres import publishing, rows
from prloom.exchange.protocol import ClaimTaken

if TYPE_CHECKING:
    from prloom.backoff import Backoff
    from prloom.exchange.claim import ClaimRequest, Delivery, MessageEntry, Settlement
    from prloom.exchange.message import Message
    from prloom.exchange.postgres.transaction import Row, Transaction
    from prloom.exchange.rules import Verdict

_CLOCK = "WITH clock AS MATERIALIZED (SELECT coalesce(%s::timestamptz, clock_timestamp()) AS now)"
_READY = (
    "d.state = 'ready' AND d.available_at IS NULL AND (d.concurrency_key IS NULL OR NOT EXISTS (SELECT FROM deliveries"
    " AS busy WHERE busy.state = 'leased' AND busy.concurrency_key IS NOT NULL"
    " AND busy.concurrency_key = d.concurrency_key))"
)
_WAITING = "state = 'ready' AND available_at IS NOT NULL"
_DELAYED = f"topic = ANY(%s::text[]) AND {_WAITING}"
_OVERDUE = "EXISTS (SELECT FROM claims WHERE status = 'active' AND lease_until <= clock.now)"

LOOK = f"""{_CLOCK}
SELECT clock.now,
    EXISTS (SELECT FROM deliveries AS d WHERE d.topic = ANY(%s::text[]) AND {_READY}),
    least((SELECT min(available_at) FROM deliveries WHERE {_DELAYED}),
        (SELECT min(lease_until) FROM claims WHERE status = 'active'))
FROM clock"""  # noqa: S608 (texts of ours)
OVERDUE = f"{_CLOCK} SELECT {_OVERDUE} FROM clock"  # noqa: S608 (likewise)
DUE = f"""{_CLOCK}
UPDATE deliveries SET available_at = NULL WHERE seq IN (
    SELECT seq FROM deliveries, clock WHERE {_DELAYED} AND available_at <= clock.now
    FOR UPDATE OF deliveries SKIP LOCKED
) RETURNING 1"""  # noqa: S608 (likewise)

_CHOSEN = f"""SELECT d.seq FROM deliveries AS d
        WHERE d.topic = %s AND {_READY} AND NOT (SELECT upkeep FROM due)
        ORDER BY d.seq LIMIT 1 FOR UPDATE SKIP LOCKED"""  # noqa: S608 (likewise)
# Of several topics, the one whose first message was published first is tried first. Only one row is ever locked: a
# lock on the first of each would hide those from others for a moment, who would then go to sleep.
_CHOSEN_OF_SEVERAL = f"""SELECT taken.seq FROM (
            SELECT t.topic FROM unnest(%s::text[]) AS t (topic) CROSS JOIN LATERAL (
                SELECT d.seq FROM deliveries AS d WHERE d.topic = t.topic AND {_READY} ORDER BY d.seq LIMIT 1
            ) AS head WHERE NOT (SELECT upkeep FROM due) ORDER BY head.seq
        ) AS topics CROSS JOIN LATERAL (
            SELECT d.seq FROM deliveries AS d WHERE d.topic = topics.topic AND {_READY}
            ORDER BY d.seq LIMIT 1 FOR UPDATE SKIP LOCKED
        ) AS taken LIMIT 1"""  # noqa: S608 (likewise)


def _take(delayed: str, chosen: str) -> str:
    """Return a claim's statement. It is one, for most of what claiming costs is the way to the server.

    What it writes is what `rules.claimed` says.
    """
    return f"""WITH due AS MATERIALIZED (
    SELECT clock.now, %s AND (
        {_OVERDUE} OR EXISTS (SELECT FROM deliveries WHERE {delayed} AND available_at <= clock.now)
    ) AS upkeep FROM (SELECT coalesce(%s::timestamptz, clock_timestamp()) AS now) AS clock
), d AS (
    UPDATE deliveries AS d
    SET state = 'leased', attempts = d.attempts + 1, max_attempts = coalesce(d.max_attempts, %s)
    WHERE d.seq = ({chosen}) RETURNING d.seq, {rows.OPEN_DELIVERY}
), claimed AS (
    INSERT INTO claims (id, message, worker_group, worker_instance_id, claimed_at, lease_until, status, attempt)
    SELECT %s, seq, %s, %s, now, now + %s * interval '1 microsecond', 'active', attempts FROM d, due
)
SELECT due.now, due.upkeep, {rows.MESSAGE}, {rows.OPEN_DELIVERY}
FROM due LEFT JOIN d ON true LEFT JOIN messages AS m ON m.seq = d.seq"""  # noqa: S608 (likewise)


NOTE_WORKED = "INSERT INTO worked (topic) SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING RETURNING 1"
_TAKE = _take(f"topic = %s AND {_WAITING}", _CHOSEN)
_TAKE_OF_SEVERAL = _take(_DELAYED, _CHOSEN_OF_SEVERAL)
_SAVE = (
    "UPDATE deliveries SET state = %s, ending = %s, available_at = %s, attempts = %s, max_attempts = %s, ended_at = %s"
    " WHERE seq = %s"
)
_WHOLE = f"d.seq, m.conversation_id, c.reply_id, {rows.CLAIM}, {rows.DELIVERY}"
_HEAD_WIDTH = 3
_JOINED = "claims AS c JOIN messages AS m ON m.seq = c.message JOIN deliveries AS d ON d.seq = c.message"
_CLAIM = f"SELECT {_WHOLE} FROM {_JOINED}"  # noqa: S608 (likewise)
# The share in the order of publication is had before the row is locked: the rows pass through here one by one.
_HELD = f"""WITH begun AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(%s), clock_timestamp() AS now)
SELECT begun.now, {_WHOLE} FROM begun CROSS JOIN {_JOINED} WHERE c.id = %s FOR UPDATE OF c"""  # noqa: S608 (likewise)
_ENDED = "ended AS (UPDATE claims SET status = %s, completed_at = %s, error = %b, reply_id = %s WHERE id = %s)"
_END = f"WITH {_ENDED} {_SAVE}"
_REPLY_AND_END = f"WITH {publishing.PUT}, {_ENDED} {_SAVE}"
RENEW = f"""{_CLOCK}
UPDATE claims AS c SET lease_until = clock.now + %s FROM clock, messages AS m
WHERE c.id = %s AND c.status = 'active' AND c.lease_until > clock.now AND m.seq = c.message RETURNING {rows.CLAIM}"""  # noqa: S608 (likewise)
_MICROSECOND = timedelta(microseconds=1)
_MOST_EXPIRED = 100  # in one transaction


@dataclass(frozen=True)
class Upkeep:
    """Something has to be done before anything is claimed: leases are over, or delays."""


def availability(row: Row) -> Availability:
    """Return what a row of LOOK says."""
    now, ready, next_at = row
    return Availability(ready=ready or (next_at is not None and next_at <= now), next_at=next_at)


def take(tx: Transaction, request: ClaimRequest, claim_id: str, *, upkeep: bool) -> ClaimTaken | Upkeep | None:
    """Claim the next message by publication; with `upkeep`, only if nothing is to be done before.

    The same id may not stand twice, so that a claim whose commit was lost is either found here or never comes to be.
    """
    if tx.again and (taken := _taken(tx, claim_id)) is not None:
        return taken
    who = (claim_id, request.group, request.instance, request.lease // _MICROSECOND)
    # psycopg makes an array in Python, for as long as all else takes; one topic needs none.
    statement, which = (
        (_TAKE, request.topics[0]) if len(request.topics) == 1 else (_TAKE_OF_SEVERAL, list(request.topics))
    )
    row = tx.one(statement, upkeep, which, tx.clock, request.max_attempts, which, *who)
    assert row is not None  # noqa: S101 (the clock has one row)
    now, due, *whole = row
    if due:
        return Upkeep()
    if whole[0] is None:
        return None
    message = rows.message(tuple(whole))
    leased = transitions.open_delivery(message, "leased", whole[rows.MESSAGE_WIDTH :])
    return ClaimTaken(claim=transitions.claim(leased, request, now, claim_id), message=message, delivery=leased)


def _taken(tx: Transaction, claim_id: str) -> ClaimTaken | None:
    row = tx.one(f"{_CLAIM} WHERE c.id = %s", claim_id)
    if row is None:
        return None
    claim = rows.claim(row[_HEAD_WIDTH:])
    return ClaimTaken(claim=claim, message=publishing.find(tx, claim.message_id), delivery=_delivery(row))


def find(tx: Transaction, claim_id: str) -> Claim | None:
    """Return a claim, if there is such a one."""
    row = tx.one(f"{_CLAIM} WHERE c.id = %s", rows.searchable(claim_id))
    if row is None:
        return None
    return rows.claim(row[_HEAD_WIDTH:])


def settle(tx: Transaction, claim_id: str, settlement: Settlement, policy: Backoff) -> Settled:
    """End a claim as its holder says; raises ClaimOverError. The transaction has no share in the order before."""
    found = tx.one(_HELD, tx.order, rows.searchable(claim_id))
    if found is None:
        raise ClaimOverError(transitions.over_text(claim_id, None))
    now, *whole = found
    tx.began(now)
    row = tuple(whole)
    claim = rows.claim(row[_HEAD_WIDTH:])
    if claim.status != "active" and rules.same(claim, settlement):
        if row[2] is None:
            reply = None
        else:
            reply = publishing.find(tx, row[2])
        return Settled(claim=claim, reply=reply, retry_at=_delivery(row).available_at)
    if claim.status != "active" or claim.lease_until <= tx.now:
        raise ClaimOverError(transitions.over_text(claim_id, claim))
    return _end(tx, row, rules.settled(settlement, _delivery(row), tx.now, policy))


def expire(tx: Transaction, policy: Backoff) -> int:
    """End claims whose lease is over, some at a time; those that somebody has in hand at this moment are his."""
    over = tx.execute(
        f"{_CLAIM} WHERE c.status = 'active' AND c.lease_until <= %s ORDER BY c.lease_until, c.seq LIMIT %s"
        " FOR UPDATE OF c SKIP LOCKED",
        tx.now,
        _MOST_EXPIRED,
    ).fetchall()
    for row in over:
        _end(tx, row, rules.expired(rows.claim(row[_HEAD_WIDTH:]), _delivery(row), tx.now, policy))
    return len(over)


def lock(tx: Transaction, message_id: str) -> int | None:
    """Let nobody else change how a message stands, and return its number; None where there is no such message."""
    name = rows.searchable(message_id)
    tx.execute(
        "SELECT FROM claims AS c JOIN messages AS m ON m.seq = c.message"
        " WHERE m.id = %s AND c.status = 'active' FOR UPDATE OF c",
        name,
    )
    row = tx.one(
        "SELECT d.seq FROM deliveries AS d JOIN messages AS m ON m.seq = d.seq WHERE m.id = %s FOR UPDATE OF d", name
    )
    if row is None:
        return None
    return int(row[0])


def cancel(tx: Transaction, seq: int, entry: MessageEntry, verdict: Verdict, reply_id: str) -> Message:
    """End a message and its claim, if it has one, and return what is published about that, with that id."""
    assert verdict.reply is not None  # noqa: S101 (cancelling always tells)
    reply = publishing.new(
        tx, msgspec.structs.replace(verdict.reply, id=reply_id), entry.message.conversation_id, tx.now
    )
    active = next((claim.id for claim in entry.claims if claim.status == "active"), "")
    tx.execute(_END, verdict.status, tx.now, rows.blob(verdict.error), None, active, *_standing(seq, verdict.delivery))
    return reply


def save(tx: Transaction, seq: int, delivery: Delivery) -> None:
    """Write how a message stands."""
    tx.execute(_SAVE, *_standing(seq, delivery))


def _standing(seq: int, delivery: Delivery) -> tuple[object, ...]:
    return (
        delivery.state,
        delivery.ending,
        delivery.available_at,
        delivery.attempts,
        delivery.max_attempts,
        delivery.ended_at,
        seq,
    )


def _end(tx: Transaction, row: Row, verdict: Verdict) -> Settled:
    seq, conversation_id, _ = row[:_HEAD_WIDTH]
    claim = rows.claim(row[_HEAD_WIDTH:])
    ended = transitions.ended(claim, verdict, tx.now)
    stands = (ended.id, *_standing(seq, verdict.delivery))
    how = (ended.status, tx.now, rows.blob(ended.error))
    tx.news = True
    if verdict.reply is None:
        tx.execute(_END, *how, None, *stands)
        return Settled(claim=ended, retry_at=verdict.delivery.available_at)
    reply, values = publishing.made(verdict.reply, conversation_id, tx.now)
    tx.execute(_REPLY_AND_END, *values, *how, reply.id, *stands)
    return Settled(claim=ended, reply=reply)


def _delivery(row: Row) -> Delivery:
    return rows.delivery(row[_HEAD_WIDTH + rows.CLAIM_WIDTH :])
