"""Wrap a value into the line that every journal holds, and unwrap it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prloom.storage import json_codec
from prloom.storage.json_codec import Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA_VERSION = 1


class Envelope(msgspec.Struct, frozen=True, rename="camel"):
    """What a line says about itself, and the value in it; unknown fields are dropped.

    `ts` is kept as it was written, for other programs write lines too: it is for people, never for decisions.
    """

    kind: str
    data: dict[str, Any]
    ts: str = ""
    schema_version: int = SCHEMA_VERSION


class _Line(msgspec.Struct, rename="camel", gc=False):
    """A line to be written, in the order in which people read it."""

    ts: str
    kind: str
    schema_version: int
    data: Mapping[str, Any] | msgspec.Struct


_decoder = msgspec.json.Decoder(Envelope)


def encode(kind: str, data: Mapping[str, Any] | msgspec.Struct, ts: str) -> bytes:
    """Return the line, without its newline; `data` is JSON builtins or a record, `ts` as record.iso writes it."""
    return json_codec.encode(_Line(ts, kind, SCHEMA_VERSION, data))


def encode_lines(kind: str, values: Sequence[msgspec.Struct], ts: str) -> bytes:
    """Return the lines of several records, each with its newline."""
    return json_codec.encode_lines([_Line(ts, kind, SCHEMA_VERSION, value) for value in values])


def decode(line: bytes) -> Envelope | Unreadable:
    """Return what the line holds, or why it cannot be read."""
    try:
        found = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _lenient_envelope(line)
    return _supported(found)


def _lenient_envelope(line: bytes) -> Envelope | Unreadable:
    value = json_codec.decode(line)
    if isinstance(value, Unreadable):
        return value
    version = value.get("schemaVersion")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        return _newer(version)
    try:
        return _supported(msgspec.convert(value, Envelope))
    except msgspec.ValidationError as error:
        return Unreadable(f"it is not an envelope with ts, kind, schemaVersion and data: {error}")


def _supported(found: Envelope) -> Envelope | Unreadable:
    if found.schema_version > SCHEMA_VERSION:
        return _newer(found.schema_version)
    if found.schema_version < 1:
        return Unreadable(f"its schemaVersion is {found.schema_version}, but versions begin at 1")
    return found


def _newer(version: int) -> Unreadable:
    return Unreadable(
        f"its schemaVersion is {version}, and this prloom knows {SCHEMA_VERSION}; update prloom", newer=True
    )
