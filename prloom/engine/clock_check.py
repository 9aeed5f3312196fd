"""See that nothing waits for longer than it was to because the clock was turned back."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from prloom.engine.bus.event_store import Clock
from prloom.model import record

log = logging.getLogger(__name__)


class Waiting(Protocol):
    """Something that waits until a time."""

    def shift(self, by: timedelta) -> None:
        """End each wait when it was to end, now that the clock was turned back by this."""


class ClockCheck:
    """Compares the clock with what it was when it was last compared, and adjusts what waits."""

    def __init__(self, clock: Clock, waiting: Sequence[Waiting]) -> None:
        self._clock = clock
        self._waiting = waiting
        self._compared_at = clock()

    def compare(self) -> None:
        """Adjust what waits if the clock was turned back since it was last compared."""
        before, self._compared_at = self._compared_at, self._clock()
        by = record.rolled_back_by(before, self._compared_at)
        if by:
            log.warning("the clock was turned back by %s; prloom adjusts the times, so that nothing waits longer", by)
            for each in self._waiting:
                each.shift(by)
