"""Make what an event of the activity stream says fit to be kept and sent: without secrets, and not too long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from prloom.core.text.secret_scan import SecretMask
from prloom.model.record import Json

LIMIT: Final = 64 * 1024
"""Bytes of JSON that the data of an event have at most."""

DEEPEST: Final = 40
"""Levels of lists and objects that the data of an event have at most."""

_LONGEST_NUMBER: Final = 1 << 63
_OMITTED: Final = "…"
_ROOM: Final = 512  # bytes for the two marks, and for what JSON needs beside the parts
_SHORTEST: Final = 16


def cleaned(data: Mapping[str, Json], mask: SecretMask) -> dict[str, Json]:
    """Return an event's data without secrets, shortened to `LIMIT`, and marked as truncated where they are longer.

    What is deeper than `DEEPEST` is left out, and marked likewise. The result is JSON whatever the data hold.
    """
    cleaner = _Cleaner(mask)
    safe: dict[str, Json] = {_text(key, mask): cleaner.value(each, 0) for key, each in data.items()}
    original = size = len(msgspec.json.encode(safe))
    if not cleaner.omitted and size <= LIMIT:
        return safe
    if cleaner.omitted:
        original = max(size, _size(data))
    if size > LIMIT - _ROOM:
        safe = _shortened(safe)
    return {**safe, "truncated": True, "originalBytes": original}


def _size(data: Mapping[str, Json]) -> int:
    """Return how long data are as JSON, and 0 for those that are too deep for it."""
    try:
        return len(msgspec.json.encode(data, enc_hook=str))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return 0


@dataclass
class _Cleaner:
    """Makes JSON without secrets of values; `omitted` says whether it has left out what was too deep."""

    mask: SecretMask
    omitted: bool = False

    def value(self, value: object, depth: int) -> Json:
        """Return a value that is so deep in the data."""
        match value:
            case str():
                return _text(value, self.mask)
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
        if depth >= DEEPEST:
            self.omitted = True
            return _OMITTED
        match value:
            case Mapping():
                return {_text(str(key), self.mask): self.value(each, depth + 1) for key, each in value.items()}
            case list() | tuple():
                return [self.value(each, depth + 1) for each in value]
        return _text(str(value), self.mask)


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
