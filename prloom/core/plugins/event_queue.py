"""Keep the newest events for a reader that may be slow, and count those that had to be dropped."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

CAPACITY = 1000
"""Events that wait for one daemon at most."""


@dataclass
class EventQueue:
    """Events as they are sent, the oldest first; `dropped` counts those that left it unread since the last `take`."""

    waiting: deque[bytes] = field(default_factory=deque)
    dropped: int = 0
    total_dropped: int = 0

    def add(self, event: bytes) -> None:
        """Add an event; where there is no room, the oldest one leaves."""
        if len(self.waiting) >= CAPACITY:
            self.waiting.popleft()
            self.drop()
        self.waiting.append(event)

    def drop(self, count: int = 1) -> None:
        """Count events that are not delivered."""
        self.dropped += count
        self.total_dropped += count

    def restore(self, dropped: int) -> None:
        """Have drops reported again that the reader was not told of."""
        self.dropped += dropped

    def take(self, most: int) -> tuple[int, Sequence[bytes]]:
        """Return how many events were dropped before these, and the oldest events that wait, which leave the queue."""
        dropped, self.dropped = self.dropped, 0
        return dropped, [self.waiting.popleft() for _ in range(min(most, len(self.waiting)))]

    def clear(self) -> None:
        """Drop all that waits: the daemon that it was for does not run."""
        self.drop(len(self.waiting))
        self.waiting.clear()
