"""Take apart the JSON lines that agent programs print, trusting nothing about their shape."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

Json = Mapping[str, object]

NOTHING: Json = {}


def events(output: str) -> Iterator[Json]:
    """Yield each line that holds a JSON object; pass over everything else (warnings, banners, a torn last line)."""
    for line in output.split("\n"):
        if line.lstrip().startswith("{"):
            event = _decoded(line)
            if isinstance(event, dict):
                yield event


def _decoded(line: str) -> object:
    try:
        # Not msgspec: these are lines of other programs, and some print NaN.
        return cast("object", json.loads(line))
    except (ValueError, RecursionError):
        return None


def obj(event: Json, *keys: str) -> Json:
    """Return the object at the path of keys, or an empty one."""
    for key in keys:
        found = event.get(key)
        if not isinstance(found, dict):
            return NOTHING
        event = found
    return event


def objects(event: Json, key: str) -> tuple[Json, ...]:
    """Return the objects of the list at the key; everything else in it is passed over."""
    found = event.get(key)
    if isinstance(found, list):
        return tuple(item for item in found if isinstance(item, dict))
    return ()


def text(event: Json, key: str) -> str | None:
    """Return the string at the key, or None."""
    found = event.get(key)
    if isinstance(found, str):
        return found
    return None


def count(event: Json, key: str) -> int | None:
    """Return the whole number at the key, or None; a truth value is no number."""
    found = event.get(key)
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    return None


def amount(event: Json, key: str) -> float | None:
    """Return the finite number at the key, or None."""
    found = event.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    if abs(found) < float("inf"):
        return float(found)
    return None
