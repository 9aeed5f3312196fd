"""Make what an event of the activity stream says fit to be kept and sent: without secrets, and not too long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from prloom.core.text.secret_mask import SecretMask
from prloom.model.record import Json

LIMIT: Final = 64 * 1024
"""Bytes of JSON that the data of an event have at most."""

_LONGEST_NUMBER: Final = 1 << 63
_DEEPEST: Final = 40
_OMITTED: Final = "…"
_ROOM: Final = 512  # bytes for the two marks, and for what JSON needs beside the parts
_SHORTEST: Final = 16


def cleaned(data: Mapping[str, Json], mask: SecretMask) -> dict[str, Json]:
    """Return an event's data without secrets, shortened to `LIMIT` and marked as truncated where they are longer.

    The result is JSON whatever the data hold.
    """
    safe: dict[str, Json] = {_text(key, mask): _value(each, mask, 0) for key, each in data.items()}
    size = len(msgspec.json.encode(safe))
    if size <= LIMIT:
        return safe
    return {**_shortened(safe), "truncated": True, "originalBytes": size}


def _value(value: object, mask: SecretMask, depth: int) -> Json:
    match value:
        case str():
            return _text(value, mask)
        case bool() | None:
            return value
        case int():
            if abs(value) < _LONGEST_NUMBER:
                return value
            return str(value)
        case float():
            if value - value == 0:  # neither infinite nor NaN, which JSON does not have
                return value
            return None
    if depth >= _DEEPEST:
        return _OMITTED
    match value:
        case Mapping():
            return {_text(str(key), mask): _value(each, mask, depth + 1) for key, each in value.items()}
        case list() | tuple():
            return [_value(each, mask, depth + 1) for each in value]
    return _text(str(value), mask)


def _text(text: str, mask: SecretMask) -> str:
    """Return a text without secrets, and without halves of characters, which no UTF-8 has."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return mask.masked(text)


def _shortened(data: dict[str, Json]) -> dict[str, Json]:
    """Return the data with their longest texts and lists cut, each to the same length, so that they fit."""
    length = LIMIT // 2
    while length >= _SHORTEST:
        cut: dict[str, Json] = {key: _cut(value, length) for key, value in tuple(data.items())[:length]}
        if len(msgspec.json.encode(cut)) <= LIMIT - _ROOM:
            return cut
        length //= 2
    return dict.fromkeys(tuple(data)[:_SHORTEST], _OMITTED)


def _cut(value: Json, length: int) -> Json:
    match value:
        case str():
            return value if len(value) <= length else value[:length] + _OMITTED
        case dict():
            return {_cut(key, length): _cut(each, length) for key, each in tuple(value.items())[:length]}
        case list():
            return [_cut(each, length) for each in value[:length]]
    return value
