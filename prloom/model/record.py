"""The base of every stored value: frozen, camelCase on disk, tolerant of fields it does not know."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

import msgspec

Json: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, or lists and string-keyed mappings of these."""

R = TypeVar("R", bound="Record")


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A frozen value that is written as one JSON object; unknown fields are ignored when it is read."""


def to_wire(record: Record) -> dict[str, Json]:
    """Return the record as JSON builtins; its own optional fields that are None are left out."""
    return {key: value for key, value in msgspec.to_builtins(record).items() if value is not None}


def from_wire(kind: type[R], value: Json) -> R:
    """Return the value as a record of this kind; raises msgspec.ValidationError, whose text names the field."""
    return msgspec.convert(value, kind)


def without(mapping: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return the mapping less these keys."""
    return {key: value for key, value in mapping.items() if key not in keys}


def iso(moment: datetime) -> str:
    """Return an aware time as `2026-11-21T06:54:50.288Z` (UTC, milliseconds), the form of every time on disk."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """Return the aware time that an ISO 8601 text names (UTC if it names no zone); raises ValueError."""
    parsed = datetime.fromisoformat(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
