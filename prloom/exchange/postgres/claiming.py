"""Claim messages, and renew claims.

A message that is leased changes only together with its active claim, by a client that has locked that claim's row; a
ready one only by a client that has locked its own. Claiming skips what others have locked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from prloom.exchange import transitions
from prloom.exchange.claim import Availability, Claim, ClaimTaken
from prloom.exchange.postgres import reading

if TYPE_CHECKING:
    from prloom.exchange.claim import ClaimRequest, Delivery
    from prloom.exchange.postgres.transaction import DbRow, Transaction

_CLOCK = "WITH clock AS MATERIALIZED (SELECT coalesce(%s::timestamptz, clock_timestamp()) AS now)"
_READY = (
    "d.state = 'ready' AND d.available_at IS NULL AND (d.concurrency_key IS NULL OR NOT EXISTS (SELECT FROM deliveries"
    " AS busy WHERE busy.state = 'leased' AND busy.concurrency_key IS NOT NULL"
    " AND busy.concurrency_key = d.concurrency_key))"
)
_WAITING = "state = 'ready' AND available_at IS NOT NULL"
_DELAYED = f"topic = ANY(%s::text[]) AND {_WAITING}"
_OVERDUE = "EXISTS (SELECT FROM claims WHERE status = 'active' AND lease_until <= clock.now)"

AVAILABILITY = f"""{_CLOCK}
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
# lock on the first of each would hide those from other workers for a moment, which would then wait.
_CHOSEN_OF_SEVERAL = f"""SELECT taken.seq FROM (
            SELECT t.topic FROM unnest(%s::text[]) AS t (topic) CROSS JOIN LATERAL (
                SELECT d.seq FROM deliveries AS d WHERE d.topic = t.topic AND {_READY} ORDER BY d.seq LIMIT 1
            ) AS head WHERE NOT (SELECT upkeep FROM due) ORDER BY head.seq
        ) AS topics CROSS JOIN LATERAL (
            SELECT d.seq FROM deliveries AS d WHERE d.topic = topics.topic AND {_READY}
            ORDER BY d.seq LIMIT 1 FOR UPDATE SKIP LOCKED
        ) AS taken LIMIT 1"""  # noqa: S608 (likewise)


def _take(delayed: str, chosen: str) -> str:
    """Return the one statement of a claim, because most of the cost of claiming is the way to the server.

    It writes what `rules.claimed` returns.
    """
    return f"""WITH due AS MATERIALIZED (
    SELECT clock.now, %s AND (
        {_OVERDUE} OR EXISTS (SELECT FROM deliveries WHERE {delayed} AND available_at <= clock.now)
    ) AS upkeep FROM (SELECT coalesce(%s::timestamptz, clock_timestamp()) AS now) AS clock
), d AS (
    UPDATE deliveries AS d
    SET state = 'leased', attempts = d.attempts + 1, max_attempts = coalesce(d.max_attempts, %s)
    WHERE d.seq = ({chosen}) RETURNING d.seq, {transitions.OPEN_DELIVERY}
), claimed AS (
    INSERT INTO claims (id, message, worker_group, worker_instance_id, claimed_at, lease_until, status, attempt)
    SELECT %s, seq, %s, %s, now, now + %s * interval '1 microsecond', 'active', attempts FROM d, due
)
SELECT due.now, due.upkeep, {transitions.MESSAGE}, {transitions.OPEN_DELIVERY}
FROM due LEFT JOIN d ON true LEFT JOIN messages AS m ON m.seq = d.seq"""  # noqa: S608 (likewise)


NOTE_WORKED = "INSERT INTO worked (topic) SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING RETURNING 1"
_TAKE = _take(f"topic = %s AND {_WAITING}", _CHOSEN)
_TAKE_OF_SEVERAL = _take(_DELAYED, _CHOSEN_OF_SEVERAL)
CLAIM_AND_DELIVERY = f"d.seq, m.conversation_id, c.reply_id, {transitions.CLAIM}, {transitions.DELIVERY}"
HEAD_WIDTH = 3
JOINED = "claims AS c JOIN messages AS m ON m.seq = c.message JOIN deliveries AS d ON d.seq = c.message"
BY_CLAIM = f"SELECT {CLAIM_AND_DELIVERY} FROM {JOINED}"  # noqa: S608 (likewise)
RENEW = f"""{_CLOCK}
UPDATE claims AS c SET lease_until = clock.now + %s FROM clock, messages AS m
WHERE c.id = %s AND c.status = 'active' AND c.lease_until > clock.now AND m.seq = c.message RETURNING
{transitions.CLAIM}"""  # noqa: S608 (likewise)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Upkeep:
    """Leases or delays are over, which must be dealt with before anything is claimed."""


def availability(row: DbRow) -> Availability:
    """Return the availability in a row of AVAILABILITY."""
    now, ready, next_at = row
    return Availability(ready=ready or (next_at is not None and next_at <= now), next_at=next_at)


def take(tx: Transaction, request: ClaimRequest, claim_id: str, *, upkeep: bool) -> ClaimTaken | Upkeep | None:
    """Claim the next message by publication; with `upkeep`, only if no lease or delay is over.

    An id is unique, so a claim whose commit was lost is either found here or never committed.
    """
    if tx.repeated and (taken := _committed(tx, claim_id)) is not None:
        return taken
    new_claim = (claim_id, request.group, request.instance, request.lease // _MICROSECOND)
    # psycopg needs as long to encode an array as for all the rest; one topic needs none.
    if len(request.topics) == 1:
        statement: str = _TAKE
        topics: object = request.topics[0]
    else:
        statement, topics = _TAKE_OF_SEVERAL, list(request.topics)
    row = tx.fetch_one(statement, upkeep, topics, tx.clock, request.max_attempts, topics, *new_claim)
    assert row is not None  # noqa: S101 (the clock has one row)
    now, due, *whole = row
    if due:
        return Upkeep()
    if whole[0] is None:
        return None
    message = reading.to_message(tuple(whole))
    leased = transitions.open_delivery(message, "leased", whole[transitions.MESSAGE_WIDTH :])
    return ClaimTaken(claim=transitions.claim(leased, request, now, claim_id), message=message, delivery=leased)


def _committed(tx: Transaction, claim_id: str) -> ClaimTaken | None:
    row = tx.fetch_one(f"{BY_CLAIM} WHERE c.id = %s", claim_id)
    if row is None:
        return None
    claim = reading.to_claim(row[HEAD_WIDTH:])
    return ClaimTaken(claim=claim, message=reading.message(tx, claim.message_id), delivery=to_delivery(row))


def find(tx: Transaction, claim_id: str) -> Claim | None:
    """Return a claim, if there is one."""
    row = tx.fetch_one(f"{BY_CLAIM} WHERE c.id = %s", reading.searchable(claim_id))
    if row is None:
        return None
    return reading.to_claim(row[HEAD_WIDTH:])


def to_delivery(row: DbRow) -> Delivery:
    """Return the delivery of a row of CLAIM_AND_DELIVERY."""
    return reading.to_delivery(row[HEAD_WIDTH + transitions.CLAIM_WIDTH :])
