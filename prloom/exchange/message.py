"""Messages, which never change, the drafts that they are made from, and their ids."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec

Scalar: TypeAlias = str | int | float | bool | None
Metadata: TypeAlias = Mapping[str, Scalar]

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's, in lower case: no i, l, o, u
_PAIRS = tuple(one + two for one in _DIGITS for two in _DIGITS)


class ExchangeValue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A frozen value; as JSON its names are written in camelCase."""


class Message(ExchangeValue, frozen=True, kw_only=True):
    """A published message; `conversation_id` is its own id where it began a conversation.

    `omitted` is how many bytes the body has where the reader asked for no longer ones; then `body` is empty.
    """

    id: str
    topic: str
    body: str
    created_at: datetime
    parent_id: str | None = None
    conversation_id: str
    producer: str | None = None
    metadata: Metadata = msgspec.field(default_factory=dict)
    omitted: int | msgspec.UnsetType = msgspec.UNSET


class Draft(ExchangeValue, frozen=True, kw_only=True):
    """A message to publish; it has its `id` already, so that publishing it again gives the same message."""

    id: str
    topic: str
    body: str
    parent_id: str | None = None
    conversation_id: str | None = None
    producer: str | None = None
    metadata: Metadata = msgspec.field(default_factory=dict)
    delay: timedelta | None = None
    key: str | None = None
    concurrency_key: str | None = None
    max_attempts: int | None = None
    track: bool = False
    reply: bool = False


def new_id() -> str:
    """Return an id of 20 letters and digits, which sorts by its time: milliseconds since 1970, and 50 random bits."""
    ms, chance, pairs = time.time_ns() // 1_000_000, int.from_bytes(os.urandom(7), "big") >> 6, _PAIRS
    return (
        f"{pairs[ms >> 40 & 1023]}{pairs[ms >> 30 & 1023]}{pairs[ms >> 20 & 1023]}{pairs[ms >> 10 & 1023]}"
        f"{pairs[ms & 1023]}{pairs[chance >> 40]}{pairs[chance >> 30 & 1023]}{pairs[chance >> 20 & 1023]}"
        f"{pairs[chance >> 10 & 1023]}{pairs[chance & 1023]}"
    )
