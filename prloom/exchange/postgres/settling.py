"""Settle in one statement what this client holds; where that is not its own any more, the long way tells why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prloom.exchange import rules, transitions
from prloom.exchange.claim import Settled
from prloom.exchange.postgres import rows

if TYPE_CHECKING:
    from prloom.backoff import Backoff
    from prloom.exchange.claim import CachedClaim, Delivery, Settlement
    from prloom.exchange.postgres.transaction import Row, Transaction
    from prloom.exchange.rules import Verdict

_ENDED = """WITH ended AS (
    UPDATE claims AS c SET status = %s, completed_at = begun.now, error = %b, reply_id = %s
    FROM (SELECT pg_advisory_xact_lock_shared(%s), coalesce(%s::timestamptz, clock_timestamp()) AS now) AS begun
    WHERE c.id = %s AND c.status = 'active' AND c.lease_until > begun.now RETURNING begun.now, c.message, c.lease_until
), stands AS (
    UPDATE deliveries AS d SET state = %s, ending = %s, attempts = %s, ended_at = CASE WHEN %s THEN ended.now END
    FROM ended WHERE d.seq = ended.message
)"""
_REPLY = """, m AS (
    INSERT INTO messages (id, topic, body, created_at, parent_id, conversation_id, metadata)
    SELECT %s, %s, %b, now, %s, %s, %s FROM ended RETURNING seq, topic, created_at
), put AS (
    INSERT INTO deliveries (seq, topic, created_at, state, reply) SELECT seq, topic, created_at, 'ready', true FROM m
)"""
_SAID = " SELECT now, lease_until FROM ended"
_END = _ENDED + _SAID
_END_AND_REPLY = _ENDED + _REPLY + _SAID


def settle(tx: Transaction, cached: CachedClaim, settlement: Settlement, policy: Backoff) -> Settled | None:
    """End a claim in one statement; None where that is not for this way, and nothing was done."""
    claim = cached.claim
    verdict = rules.settled(settlement, cached.delivery, claim.claimed_at, policy)
    if verdict.delivery.available_at is not None:
        return None  # which time that is, the server says
    found = _ask(tx, verdict, cached)
    if found is None:
        return None
    now, until = found
    tx.news = True
    ended = transitions.ended(msgspec.structs.replace(claim, lease_until=until), verdict, now)
    if verdict.reply is None:
        reply = None
    else:
        reply = transitions.message(verdict.reply, cached.conversation_id, now)
    return Settled(claim=ended, reply=reply)


def _ask(tx: Transaction, verdict: Verdict, cached: CachedClaim) -> Row | None:
    reply = verdict.reply
    error = rows.blob(verdict.error)
    values: list[object] = [
        verdict.status,
        error,
        None if reply is None else reply.id,
        tx.order,
        tx.clock,
        cached.claim.id,
    ]
    values += _standing(verdict.delivery)
    if reply is None:
        return tx.one(_END, *values)
    values += [reply.id, reply.topic, rows.blob(reply.body), reply.parent_id, cached.conversation_id]
    return tx.one(_END_AND_REPLY, *values, rows.metadata(reply.metadata))


def _standing(delivery: Delivery) -> list[object]:
    return [delivery.state, delivery.ending, delivery.attempts, delivery.ended_at is not None]
