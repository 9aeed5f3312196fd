"""Put a text from outside on one line, without what a terminal would obey, and not too long."""

from __future__ import annotations

from prloom.core.text import shown_text

_HIDDEN = "\ufffd"

LONGEST = 200
"""Characters of a reason, an error or a title."""

TITLE = 80
"""Characters of a title beside other words."""


def of(text: str) -> str:
    """Return the text on one line; what cannot be printed becomes a sign for that, and a long text is cut."""
    words = " ".join(text.split())
    shown = "".join(sign if sign.isprintable() or sign in shown_text.JOINERS else _HIDDEN for sign in words)
    shown = shown_text.without_hiding_joiners(shown, lambda _joiner: _HIDDEN)
    if len(shown) <= LONGEST:
        return shown
    return shown[: LONGEST - 1] + "…"


def title(text: str) -> str:
    """Return a title as it stands beside other words: whoever wants all of it looks at what it is the title of."""
    if len(text) <= TITLE:
        return text
    return text[: TITLE - 1].rstrip() + "…"
