"""Decide when a daemon sends too many messages that nobody asked for. Times are monotonic seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

A_MINUTE: Final = 1000
"""Messages that a daemon may send in a minute without being asked, and so many at once."""

MOST_SAVED: Final = 10 * A_MINUTE
"""Messages that it may send at once at most, however many it was sent."""

_PER_SECOND: Final = A_MINUTE / 60


@dataclass
class UnsolicitedMessages:
    """How many messages nobody needs to have asked for; `left` is as of the time `at`.

    Each message that the daemon is sent allows one more, because some daemons answer what needs no answer, or too late.
    """

    at: float
    left: float = A_MINUTE

    def sent(self, count: int) -> None:
        """Note that the daemon was sent messages."""
        self.left = min(self.left + count, MOST_SAVED)

    def add(self, now: float) -> bool:
        """Count a message that nobody asked for; return whether the daemon was allowed to send it."""
        earned = max(min((now - self.at) * _PER_SECOND, A_MINUTE - self.left), 0)
        self.at = now
        self.left += earned - 1
        return self.left >= 0
