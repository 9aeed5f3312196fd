"""Take values out of what GitHub sends, whatever is missing there: many fields are null that should not be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from prloom.api import Json, moment


def at(value: Json, *path: str) -> Json:
    """Return what stands at the end of the path, or None."""
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(key)
        else:
            value = None
    return value


def text(value: Json, *path: str) -> str:
    """Return a text, empty where there is none."""
    found = at(value, *path)
    if isinstance(found, str):
        return found
    return ""


def number(value: Json, *path: str) -> int | None:
    """Return a whole number, or None where there is none."""
    found = at(value, *path)
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    return None


def time(text: str) -> datetime | None:
    """Return the time that a text names, or None where it names none."""
    try:
        return moment(text)
    except ValueError:
        return None


def items(value: Json, *path: str) -> Sequence[Json]:
    """Return the objects of a list, empty where there is none."""
    found = at(value, *path)
    if isinstance(found, list):
        return [each for each in found if isinstance(each, Mapping)]
    return []


def tail_number(url: str, after: str = "/") -> int | None:
    """Return the number at the end of an address (`…/issues/7`), or of what else has one `after` something; or None."""
    last = url.rpartition(after)[2]
    return int(last) if last.isascii() and last.isdigit() and len(last) < 16 else None  # noqa: PLR2004 - no number is longer


def short(sha: str) -> str:
    """Return a commit as people write it."""
    return sha[:12]
