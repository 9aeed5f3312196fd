"""Remove from the exchange, now and then, the runs that ended long ago."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Final

from prloom.exchange.aio import AsyncExchange
from prloom.exchange.errors import ExchangeError

log = logging.getLogger(__name__)

INTERVAL: Final = timedelta(hours=1)
"""Between two times that old runs are removed."""

MOST: Final = 1000
"""Runs that are removed at a time."""


async def prune(exchange: AsyncExchange, keep: timedelta, *, producer: str) -> None:
    """Remove what the producer began and what ended longer ago, until this is cancelled."""
    while True:
        try:
            removed = await exchange.prune(keep, producer=producer, limit=MOST)
        except ExchangeError as error:
            log.warning("old runs stay on the exchange: %s", error)
        else:
            log.debug("%d messages of old runs were removed from the exchange", removed)
        await asyncio.sleep(INTERVAL.total_seconds())
