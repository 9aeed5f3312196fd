"""A message: text on a topic that is never changed, and the draft that it is made from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec

Scalar: TypeAlias = str | int | float | bool | None
Metadata: TypeAlias = Mapping[str, Scalar]


class ExchangeValue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A frozen value; as JSON its names are written in camelCase."""


class Message(ExchangeValue, frozen=True, kw_only=True):
    """What was published; `conversation_id` is its own id where it began a conversation."""

    id: str
    topic: str
    body: str
    created_at: datetime
    parent_id: str | None = None
    conversation_id: str
    producer: str | None = None
    metadata: Metadata = msgspec.field(default_factory=dict)


class Draft(ExchangeValue, frozen=True, kw_only=True):
    """A message to be; its `id` is made with it, so that publishing the same draft again gives the same message."""

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
