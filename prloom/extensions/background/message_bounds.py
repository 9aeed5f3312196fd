"""Bound what a daemon sends without being asked, over all of its connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from prloom.core.plugins import unsolicited_messages
from prloom.core.plugins.unsolicited_messages import UnsolicitedMessages
from prloom.extensions.jsonrpc.line_pace import LinePace


class BreachError(Exception):
    """A daemon has broken the protocol so that prloom does not connect to it again; the text says how."""


class MessageBounds:
    """What one daemon has sent. Once it was too much, `breach` says so, and `broken` is set."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.breach: str | None = None
        self.broken = asyncio.Event()
        self._clock = clock
        self._pace = LinePace(clock)
        self._unsolicited = UnsolicitedMessages(clock())

    @property
    def pause(self) -> float:
        """Return how many seconds the next line has to wait."""
        return self._pace.pause

    async def wait(self) -> None:
        """Wait until the next line may be read; the daemon waits too, for nothing more is read."""
        await self._pace.wait()

    def sent(self, count: int) -> None:
        """Note that the daemon was sent messages."""
        self._unsolicited.sent(count)

    def count_unsolicited(self, size: int) -> None:
        """Count a message of so many bytes that nobody asked for; raises BreachError where it is one too many."""
        self._pace.spend(size)
        if not self._unsolicited.add(self._clock()):
            raise BreachError(
                f"it sends more than {unsolicited_messages.A_MINUTE} messages a minute that nobody asked for"
            )

    def end(self, breach: str) -> None:
        """Note how the daemon has broken the protocol."""
        self.breach = breach
        self.broken.set()
