"""The base of every stored value: frozen, camelCase on disk, tolerant of fields it does not know."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import FieldInfo
from msgspec.structs import fields as fields_of

Json: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, or lists and string-keyed mappings of these."""

R = TypeVar("R", bound="Record")
T = TypeVar("T")

# When msgspec (0.22) first meets a kind it works out how to read it, and two threads that do so at once end the process
# by a segmentation fault. So the first reading of a kind is one at a time.
_known: set[type] = set()
_getting_to_know = threading.Lock()


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A frozen value that is written as one JSON object; unknown fields are ignored when it is read."""


def to_wire(record: Record) -> dict[str, Json]:
    """Return the record as JSON builtins; its own optional fields that are None are left out."""
    return {key: value for key, value in msgspec.to_builtins(record).items() if value is not None}


def fields(record: Record) -> dict[str, Json]:
    """Return what `to_wire` does, but with the records within as they are: for an encoder, which knows them."""
    values = ((name, getattr(record, own), left_out) for name, own, left_out in _layout(type(record)))
    return {name: value for name, value, left_out in values if value is not None and value != left_out}


@cache
def _layout(kind: type[Record]) -> tuple[tuple[str, str, Json], ...]:
    """Return each field's name on the wire, its own name, and the default that is left out, if defaults are."""
    omits = kind.__struct_config__.omit_defaults
    return tuple((field.encode_name, field.name, _default(field) if omits else None) for field in fields_of(kind))


def _default(field: FieldInfo) -> Json:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return None if field.default is msgspec.NODEFAULT else field.default


def from_wire(kind: type[R], value: Json) -> R:
    """Return the value as a record of this kind; raises msgspec.ValidationError, whose text names the field."""
    if kind in _known:
        return msgspec.convert(value, kind)
    with _getting_to_know:
        try:
            return msgspec.convert(value, kind)
        finally:
            _known.add(kind)


def decode(kind: type[T], content: bytes) -> T:
    """Return the value of this kind that JSON tells; raises msgspec.ValidationError or msgspec.DecodeError."""
    if kind in _known:
        return msgspec.json.decode(content, type=kind)
    with _getting_to_know:
        try:
            return msgspec.json.decode(content, type=kind)
        finally:
            _known.add(kind)


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
