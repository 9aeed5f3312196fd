"""Check the actions that a plugin's daemon registers, which people run by name."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

MOST: Final = 50
"""Actions that one plugin may register."""

LONGEST_DESCRIPTION: Final = 300

COMMAND: Final = "command:/"
"""What the name of the hook point of a comment's command begins with; the command's name follows."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")


def problem(name: str, description: str, known: Collection[str], commands: Collection[str]) -> str | None:
    """Return why an action cannot be registered, or None; `commands` are those of the plugin's own code."""
    if _NAME.fullmatch(name) is None:
        return f"name: {name[:64]!r} cannot be used; use a letter, and then at most 63 of a-z, 0-9, '_' and '-'"
    if name == "prloom":
        return "name: /prloom is built in; choose another name"
    if name in {each.casefold() for each in commands}:
        return f"name: the plugin's own code has registered /{name} already"
    if name not in known and len(known) >= MOST:
        return f"name: the plugin has registered {MOST} actions already; unregister one"
    if len(description) > LONGEST_DESCRIPTION:
        return f"description: it has {len(description)} characters; write at most {LONGEST_DESCRIPTION}"
    return None


def words(body: str) -> str:
    """Return what stands after the command's name in a comment, as its author wrote it."""
    parts = body.strip().split(maxsplit=1)
    if len(parts) > 1:
        return parts[1]
    return ""
