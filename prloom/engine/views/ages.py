"""Take the ages out of a document, by which two of them differ although nothing has happened."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import get_args, get_type_hints

from msgspec import UNSET
from msgspec.structs import replace

from prloom.model.record import Json, R, Record


def without(record: R) -> R:
    """Return the record with 0 for each age, also in the records that it has; an age that is not known stays so."""
    aged = _aged(type(record))
    if not aged:
        return record
    return replace(record, **{name: _without(getattr(record, name)) for name in aged})


def _without(value: Json) -> Json:
    """Return 0 for an age, and what has ages without them."""
    if value is None or value is UNSET:
        return value
    if isinstance(value, int):
        return 0
    if isinstance(value, tuple):
        return tuple(map(_without, value))
    return without(value)


@cache
def _aged(kind: type[Record]) -> tuple[str, ...]:
    """Return the fields of a kind that are ages, or may have some in them: to look at all takes ten times as long."""
    hints = get_type_hints(kind)
    return tuple(name for name, hint in hints.items() if _is_age(name) or any(map(_aged, _records(hint))))


def _is_age(name: str) -> bool:
    return name == "age_ms" or name.endswith("_age_ms")


def _records(hint: object) -> Iterator[type[Record]]:
    """Yield the kinds of records that a field of this type may have."""
    if isinstance(hint, type) and issubclass(hint, Record):
        yield hint
    for each in get_args(hint):
        yield from _records(each)
