"""End claims: settle, expire and cancel them.

A claim that this client made is settled in one statement. Where that is not possible any more, or by another client,
the claim is read and locked first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prloom.exchange import rules, transitions
from prloom.exchange.claim import Settled
from prloom.exchange.errors import ClaimOverError
from prloom.exchange.postgres import claiming, conversations, reading

if TYPE_CHECKING:
    from prloom.backoff import Backoff
    from prloom.exchange.claim import CachedClaim, Delivery, MessageEntry, Settlement
    from prloom.exchange.message import Message
    from prloom.exchange.postgres.transaction import DbRow, Transaction
    from prloom.exchange.rules import ClaimVerdict

_MOST_EXPIRED = 100  # in one transaction
_SAVE = (
    "UPDATE deliveries SET state = %s, ending = %s, available_at = %s, attempts = %s, max_attempts = %s, ended_at = %s"
    " WHERE seq = %s"
)
# The share in the order of publication is taken before the row is locked.
_LOCKED = f"""WITH begun AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(%s), clock_timestamp() AS now)
SELECT begun.now, {claiming.CLAIM_AND_DELIVERY} FROM begun CROSS JOIN {claiming.JOINED}
WHERE c.id = %s FOR UPDATE OF c"""  # noqa: S608 (likewise)
_END_CLAIM = "ended AS (UPDATE claims SET status = %s, completed_at = %s, error = %b, reply_id = %s WHERE id = %s)"
_END = f"WITH {_END_CLAIM} {_SAVE}"
_REPLY_AND_END = f"WITH {conversations.PUT}, {_END_CLAIM} {_SAVE}"
_END_CACHED_CLAIM = """WITH ended AS (
    UPDATE claims AS c SET status = %s, completed_at = begun.now, error = %b, reply_id = %s
    FROM (SELECT pg_advisory_xact_lock_shared(%s), coalesce(%s::timestamptz, clock_timestamp()) AS now) AS begun
    WHERE c.id = %s AND c.status = 'active' AND c.lease_until > begun.now RETURNING begun.now, c.message, c.lease_until
), ended_delivery AS (
    UPDATE deliveries AS d SET state = %s, ending = %s, attempts = %s, ended_at = CASE WHEN %s THEN ended.now END
    FROM ended WHERE d.seq = ended.message
)"""
_CACHED_REPLY = """, m AS (
    INSERT INTO messages (id, topic, body, created_at, parent_id, conversation_id, metadata)
    SELECT %s, %s, %b, now, %s, %s, %s FROM ended RETURNING seq, topic, created_at
), put AS (
    INSERT INTO deliveries (seq, topic, created_at, state, reply) SELECT seq, topic, created_at, 'ready', true FROM m
)"""
_RESULT = " SELECT now, lease_until FROM ended"
_END_CACHED = _END_CACHED_CLAIM + _RESULT
_END_CACHED_AND_REPLY = _END_CACHED_CLAIM + _CACHED_REPLY + _RESULT


def settle_cached(tx: Transaction, cached: CachedClaim, settlement: Settlement, policy: Backoff) -> Settled | None:
    """End a claim that this client made, in one statement; None where that is not possible, and nothing was done."""
    claim = cached.claim
    verdict = rules.settled(settlement, cached.delivery, claim.claimed_at, policy)
    if verdict.delivery.available_at is not None:
        return None  # the time of the next attempt depends on the server's
    found = _end_cached(tx, verdict, cached)
    if found is None:
        return None
    now, until = found
    tx.changed = True
    ended = transitions.ended(msgspec.structs.replace(claim, lease_until=until), verdict, now)
    if verdict.reply is None:
        reply = None
    else:
        reply = transitions.message(verdict.reply, cached.conversation_id, now)
    return Settled(claim=ended, reply=reply)


def _end_cached(tx: Transaction, verdict: ClaimVerdict, cached: CachedClaim) -> DbRow | None:
    reply, delivery = verdict.reply, verdict.delivery
    reply_id = None
    if reply is not None:
        reply_id = reply.id
    values: list[object] = [verdict.status, reading.blob(verdict.error), reply_id, tx.order, tx.clock, cached.claim.id]
    values += (delivery.state, delivery.ending, delivery.attempts, delivery.ended_at is not None)
    if reply is None:
        return tx.fetch_one(_END_CACHED, *values)
    values += [reply.id, reply.topic, reading.blob(reply.body), reply.parent_id, cached.conversation_id]
    return tx.fetch_one(_END_CACHED_AND_REPLY, *values, transitions.encode_metadata(reply.metadata))


def settle(tx: Transaction, claim_id: str, settlement: Settlement, policy: Backoff) -> Settled:
    """End a claim as the settlement says; raises ClaimOverError. It takes its share in the order of publication."""
    found = tx.fetch_one(_LOCKED, tx.order, reading.searchable(claim_id))
    if found is None:
        raise ClaimOverError(transitions.over_text(claim_id, None))
    now, *whole = found
    tx.set_time(now)
    row = tuple(whole)
    claim = reading.to_claim(row[claiming.HEAD_WIDTH :])
    if claim.status != "active" and rules.same(claim, settlement):
        if row[2] is None:
            reply = None
        else:
            reply = reading.message(tx, row[2])
        return Settled(claim=claim, reply=reply, retry_at=claiming.to_delivery(row).available_at)
    if claim.status != "active" or claim.lease_until <= tx.now:
        raise ClaimOverError(transitions.over_text(claim_id, claim))
    return _end(tx, row, rules.settled(settlement, claiming.to_delivery(row), tx.now, policy))


def expire(tx: Transaction, policy: Backoff) -> int:
    """End claims whose lease is over, some at a time; skip those that another client has locked."""
    over = tx.execute(
        f"{claiming.BY_CLAIM} WHERE c.status = 'active' AND c.lease_until <= %s ORDER BY c.lease_until, c.seq LIMIT %s"
        " FOR UPDATE OF c SKIP LOCKED",
        tx.now,
        _MOST_EXPIRED,
    ).fetchall()
    for row in over:
        claim, delivery = reading.to_claim(row[claiming.HEAD_WIDTH :]), claiming.to_delivery(row)
        _end(tx, row, rules.expired(claim, delivery, tx.now, policy))
    return len(over)


def lock(tx: Transaction, message_id: str) -> int | None:
    """Lock a message's delivery and claim, and return its number; None where there is no such message."""
    name = reading.searchable(message_id)
    tx.execute(
        "SELECT FROM claims AS c JOIN messages AS m ON m.seq = c.message"
        " WHERE m.id = %s AND c.status = 'active' FOR UPDATE OF c",
        name,
    )
    row = tx.fetch_one(
        "SELECT d.seq FROM deliveries AS d JOIN messages AS m ON m.seq = d.seq WHERE m.id = %s FOR UPDATE OF d", name
    )
    if row is None:
        return None
    return int(row[0])


def cancel(tx: Transaction, seq: int, entry: MessageEntry, verdict: ClaimVerdict, reply_id: str) -> Message:
    """End a message and its claim, if it has one, and return what is published about that, with that id."""
    assert verdict.reply is not None  # noqa: S101 (cancelling always publishes a reply)
    reply = conversations.new(
        tx, msgspec.structs.replace(verdict.reply, id=reply_id), entry.message.conversation_id, tx.now
    )
    active = next((claim.id for claim in entry.claims if claim.status == "active"), "")
    tx.execute(
        _END,
        verdict.status,
        tx.now,
        reading.blob(verdict.error),
        None,
        active,
        *_delivery_values(seq, verdict.delivery),
    )
    return reply


def save_delivery(tx: Transaction, seq: int, delivery: Delivery) -> None:
    """Write the delivery of a message."""
    tx.execute(_SAVE, *_delivery_values(seq, delivery))


def _delivery_values(seq: int, delivery: Delivery) -> tuple[object, ...]:
    return (
        delivery.state,
        delivery.ending,
        delivery.available_at,
        delivery.attempts,
        delivery.max_attempts,
        delivery.ended_at,
        seq,
    )


def _end(tx: Transaction, row: DbRow, verdict: ClaimVerdict) -> Settled:
    seq, conversation_id, _ = row[: claiming.HEAD_WIDTH]
    claim = reading.to_claim(row[claiming.HEAD_WIDTH :])
    ended = transitions.ended(claim, verdict, tx.now)
    delivery = (ended.id, *_delivery_values(seq, verdict.delivery))
    ending = (ended.status, tx.now, reading.blob(ended.error))
    tx.changed = True
    if verdict.reply is None:
        tx.execute(_END, *ending, None, *delivery)
        return Settled(claim=ended, retry_at=verdict.delivery.available_at)
    reply, values = conversations.insert_values(verdict.reply, conversation_id, tx.now)
    tx.execute(_REPLY_AND_END, *values, *ending, reply.id, *delivery)
    return Settled(claim=ended, reply=reply)
