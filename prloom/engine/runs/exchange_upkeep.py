"""Look after the exchange, now and then: note what came late, and remove the runs that ended long ago."""

from __future__ import annotations

import asyncio
import itertools
import logging
from datetime import timedelta
from typing import Final

from prloom.engine.runs.late_reader import LateReader
from prloom.exchange.aio import AsyncExchange
from prloom.exchange.errors import ExchangeError

log = logging.getLogger(__name__)

INTERVAL: Final = timedelta(minutes=1)
"""Between two looks for what came late."""

_EVERY: Final = 60
"""Looks from one time that old runs are removed to the next."""

MOST: Final = 1000
"""Runs that are removed at a time."""


async def keep_up(exchange: AsyncExchange, keep: timedelta | None, *, producer: str, shared: bool) -> None:
    """Remove what the producer began and what ended longer ago, until this is cancelled.

    Where machines share the exchange, also note the results of those that had lost their run.
    """
    late = LateReader(exchange) if shared else None
    for number in itertools.count():
        try:
            if late is not None:
                await late.take()
            if keep is not None and number % _EVERY == 0:
                await exchange.prune(keep, producer=producer, limit=MOST)
        except ExchangeError as error:
            log.info("the exchange is looked after later: %s", error)
        await asyncio.sleep(INTERVAL.total_seconds())
