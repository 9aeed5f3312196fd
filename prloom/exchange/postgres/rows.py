"""Turn rows into values and back; texts that may hold NUL characters are bytes there."""

from __future__ import annotations

import msgspec

from prloom.exchange import transitions
from prloom.exchange.claim import Claim, Delivery
from prloom.exchange.message import Message, Metadata, Scalar
from prloom.exchange.postgres.transaction import Row

_NO_METADATA: Metadata = {}

MESSAGE = "m.id, m.topic, m.body, m.created_at, m.parent_id, m.conversation_id, m.producer, m.metadata"
MESSAGE_WIDTH = 8
WITHOUT_BODY = MESSAGE.replace("m.body", "''::bytea")
DELIVERY = (
    "m.id, d.topic, d.state, d.ending, d.available_at, d.attempts, d.max_attempts, d.key, d.concurrency_key,"
    " d.ended_at, d.reply"
)
OPEN_DELIVERY = "d.attempts, d.max_attempts, d.key, d.concurrency_key, d.reply"
CLAIM = (
    "c.id, m.id, c.worker_group, c.worker_instance_id, c.claimed_at, c.lease_until, c.status, c.completed_at,"
    " c.attempt, c.error"
)
CLAIM_WIDTH = 10

_metadata = msgspec.json.Decoder(dict[str, Scalar])


def message(row: Row) -> Message:
    """Return the message of a row of MESSAGE."""
    return Message(
        id=row[0],
        topic=row[1],
        body=row[2].decode(),
        created_at=row[3],
        parent_id=row[4],
        conversation_id=row[5],
        producer=row[6],
        metadata=_NO_METADATA if row[7] == "{}" else _metadata.decode(row[7]),
    )


def delivery(row: Row) -> Delivery:
    """Return the delivery of a row of DELIVERY."""
    return Delivery(
        message_id=row[0],
        topic=row[1],
        state=row[2],
        ending=row[3],
        available_at=row[4],
        attempts=row[5],
        max_attempts=row[6],
        key=row[7],
        concurrency_key=row[8],
        ended_at=row[9],
        reply=row[10],
    )


def claim(row: Row) -> Claim:
    """Return the claim of a row of CLAIM."""
    return Claim(
        id=row[0],
        message_id=row[1],
        worker_group=row[2],
        worker_instance_id=row[3],
        claimed_at=row[4],
        lease_until=row[5],
        status=row[6],
        completed_at=row[7],
        attempt=row[8],
        error=None if row[9] is None else row[9].decode(),
    )


def metadata(values: Metadata) -> str:
    """Return metadata as it is stored."""
    if values:
        return msgspec.json.encode(values).decode()
    return "{}"


def blob(text: str | None) -> bytes | None:
    """Return a text that may hold NUL characters as it is stored."""
    if text is None:
        return None
    return text.encode()


def searchable(name: str) -> str:
    """Return a name that is asked for, or one that nothing has where PostgreSQL's texts cannot hold it."""
    if "\0" in name:
        return ""
    return transitions.searchable(name)
