"""Check the events that a plugin emits, and name them so that they cannot be taken for prloom's own."""

from __future__ import annotations

import re
from typing import Final

from prloom.model import kinds

_TYPE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_OWN: Final = frozenset((*kinds.KINDS, *(each.lower() for each in (*kinds.ACTIVITY_TYPES, kinds.UNKNOWN_ACTIVITY))))


def type_problem(name: str) -> str | None:
    """Return why a plugin may not emit events of this type, or None."""
    if name.lower() in _OWN:
        return f"type: {name[:64]!r} is one of prloom's own; choose another name"
    if _TYPE.fullmatch(name) is None:
        return f"type: {name[:64]!r} cannot be used; use a-z, 0-9 and '_', 1 to 64 of them, beginning with a letter"
    return None


def type_of(plugin: str, name: str) -> str:
    """Return the type of an event that a plugin emits, as everybody sees it."""
    return f"plugin.{plugin}.{name}"
