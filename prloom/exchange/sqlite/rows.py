"""Turn rows into values and back; a time is stored as microseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import msgspec

from prloom.exchange.claim import Claim, Delivery
from prloom.exchange.message import Message, Metadata, Scalar

Row: TypeAlias = tuple[Any, ...]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NO_METADATA: Metadata = {}

MESSAGE = "m.id, m.topic, m.body, m.created_at, m.parent_id, m.conversation_id, m.producer, m.metadata"
DELIVERY = (
    "m.id, d.topic, d.state, d.ending, d.available_at, d.attempts, d.max_attempts, d.key, d.concurrency_key,"
    " d.ended_at, d.reply"
)
STANDS = "d.attempts, d.max_attempts, d.key, d.concurrency_key, d.reply"
CLAIM = (
    "c.id, m.id, c.worker_group, c.worker_instance_id, c.claimed_at, c.lease_until, c.status, c.completed_at,"
    " c.attempt, c.error"
)
CLAIM_WIDTH = 10

_metadata = msgspec.json.Decoder(dict[str, Scalar])


def micros(moment: datetime) -> int:
    """Return a time as it is stored."""
    return (moment - _EPOCH) // _MICROSECOND


def optional_micros(moment: datetime | None) -> int | None:
    """Return a time, or none, as it is stored."""
    if moment is None:
        return None
    return (moment - _EPOCH) // _MICROSECOND


def moment(stored: int) -> datetime:
    """Return the time that was stored."""
    return _EPOCH + timedelta(microseconds=stored)


def optional_moment(stored: int | None) -> datetime | None:
    """Return the time that was stored, if one was."""
    if stored is None:
        return None
    return _EPOCH + timedelta(microseconds=stored)


def message(row: Row) -> Message:
    """Return the message of a row of MESSAGE."""
    return Message(
        id=row[0],
        topic=row[1],
        body=row[2],
        created_at=moment(row[3]),
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
        available_at=optional_moment(row[4]),
        attempts=row[5],
        max_attempts=row[6],
        key=row[7],
        concurrency_key=row[8],
        ended_at=optional_moment(row[9]),
        reply=bool(row[10]),
    )


def claim(row: Row) -> Claim:
    """Return the claim of a row of CLAIM."""
    return Claim(
        id=row[0],
        message_id=row[1],
        worker_group=row[2],
        worker_instance_id=row[3],
        claimed_at=moment(row[4]),
        lease_until=moment(row[5]),
        status=row[6],
        completed_at=optional_moment(row[7]),
        attempt=row[8],
        error=row[9],
    )


def metadata(values: Metadata) -> str:
    """Return metadata as it is stored."""
    if values:
        return msgspec.json.encode(values).decode()
    return "{}"
