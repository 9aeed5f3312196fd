"""Decide whether one more request fits into a minute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

WINDOW: Final = 60.0
"""Seconds: a limit holds for each span of this length, wherever it begins."""


def recent(times: Sequence[float], now: float) -> tuple[float, ...]:
    """Return those of the times (seconds, in rising order) that still count."""
    return tuple(at for at in times if now - at < WINDOW)


def retry_after_ms(times: Sequence[float], now: float, most: int) -> int | None:
    """Return in how many milliseconds one more request fits, or None where it fits now.

    `times` are the requests that were carried out. A limit of 0 lets none through.
    """
    counted = recent(times, now)
    if len(counted) < most:
        return None
    if most == 0:
        return round(WINDOW * 1000)
    return wait_ms(counted[-most], now)


def wait_ms(since: float, now: float) -> int:
    """Return how many milliseconds of the minute that began at a time are left, at least one."""
    return max(math.ceil((since + WINDOW - now) * 1000), 1)
