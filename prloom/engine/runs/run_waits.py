"""Tell what a run that nobody has begun waits for: machines refuse it, or the exchange does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from prloom.core.text.naming import printable
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.claim import MessageEntry

_SLOW: Final = 5.0  # seconds in which an exchange answers that can be reached
_LONGEST: Final = 300
_AWAY: Final = "the exchange of the runs does not answer; prloom tries to reach it"


class RunWaits:
    """Knows who is to be told what a run waits for."""

    def __init__(self) -> None:
        self._told: dict[str, Callable[[str | None], None]] = {}

    @contextmanager
    def telling(self, run: str, tell: Callable[[str | None], None]) -> Iterator[None]:
        """Call `tell` with what a run waits for, and with None when it waits no more, until the block ends."""
        self._told[run] = tell
        try:
            yield
        finally:
            self._told.pop(run, None)
            tell(None)

    async def inspect(self, exchange: AsyncExchange, run: str, *, slow: float = _SLOW) -> MessageEntry:
        """Return the message of a run, and tell what the run waits for; raises ExchangeError."""
        asked = asyncio.get_running_loop().create_task(exchange.inspect(run))
        try:
            await asyncio.wait([asked], timeout=slow)
            if not asked.done():
                self._notify(run, _AWAY)
            entry = await asked
        finally:
            asked.cancel()
        self._notify(run, refusal(entry))
        return entry

    def _notify(self, run: str, reason: str | None) -> None:
        if run in self._told:
            self._told[run](reason)


def refusal(entry: MessageEntry) -> str | None:
    """Return why the last machine that had a message left it to others, while it waits for one of them."""
    delivery = entry.delivery
    if delivery.state != "ready" or delivery.available_at is None or not entry.claims:
        return None
    return printable(f"no machine does the run yet; the last one said: {entry.claims[-1].error}", _LONGEST)
