"""Tell whether somebody may still be writing the last line of a file, which has no end yet."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

QUIET = timedelta(seconds=10)
"""How long a last line without an end stays as it is before it is read: many editors write no end."""

LONGEST = timedelta(minutes=1)
"""How long a file that changes again and again is waited for."""


class _OpenLine(NamedTuple):
    """A text whose last line has no end: since when it is the same, and since when one is waited for; None: no more."""

    text: str
    since: datetime
    first: datetime | None


class OpenLines:
    """Remembers the files whose last line has no end, by plan."""

    def __init__(self) -> None:
        self._lines: dict[str, _OpenLine] = {}

    def may_go_on(self, plan: str, text: str, now: datetime) -> bool:
        """Whether the last line may go on: it has no end, and the file was changed a moment ago."""
        if not text.strip() or text.endswith(("\n", "\r")):
            self._lines.pop(plan, None)
            return False
        line = self._lines.get(plan)
        if line is None or (line.first is None and line.text != text):
            line = _OpenLine(text, now, now)
        elif line.text != text:
            line = _OpenLine(text, now, line.first)
        waits = line.first is not None and line.since <= now < min(line.since + QUIET, line.first + LONGEST)
        if not waits:
            line = line._replace(first=None)
        self._lines[plan] = line
        return waits
