"""The hidden mark in every text that prloom posts, by which it knows its own words again."""

from __future__ import annotations

import re
from hashlib import sha256

# An HTML comment is invisible in every Markdown that the forges and editors render.
_MARKER = re.compile(r"<!-- prloom:action (a-[0-9a-f]{20}) -->")
BEGINNING = "<!-- prloom:action "
"""Stands in every text that has a mark."""

PLAN_TARGET = "plan"
"""The target of an action that answers in the plan's own conversation, wherever that is."""


def action_id(event_id: str, owner: str, ordinal: int) -> str:
    """Return the id of the ordinal-th action that owner makes for an event: the same inputs, the same id."""
    text = f"{event_id}\0{owner}\0{ordinal}"
    return "a-" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def marker(of: str) -> str:
    """Return the mark that a text posted for this action carries."""
    return f"<!-- prloom:action {of} -->"


def leading(text: str) -> str | None:
    """Return the id of the action whose mark the text begins with, as every text that prloom posts on a forge does."""
    found = _MARKER.match(text.lstrip("\ufeff \t\r\n"))
    if found:
        return found[1]
    return None


def marked(text: str) -> tuple[str, ...]:
    """Return the ids of the actions whose marks stand in the text."""
    if BEGINNING in text:
        return tuple(_MARKER.findall(text))
    return ()
