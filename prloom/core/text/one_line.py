"""Put a text from outside on one line, without what a terminal would obey, and not too long."""

from __future__ import annotations

LONGEST = 200
"""Characters of a reason, an error or a title."""


def of(text: str) -> str:
    """Return the text on one line; what cannot be printed becomes a sign for that, and a long text is cut."""
    shown = "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(text.split()))
    if len(shown) <= LONGEST:
        return shown
    return shown[: LONGEST - 1] + "…"
