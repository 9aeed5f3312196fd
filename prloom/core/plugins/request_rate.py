"""Decide whether one more request fits into a minute: by the number of requests, or by what they take of a limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

WINDOW: Final = 60.0
"""Seconds: a limit holds for each span of this length, wherever it begins."""


class SpentRequest(NamedTuple):
    """A request that was carried out: when (seconds), and how much of its limit it took."""

    at: float
    amount: int = 1


def recent(spent: Sequence[SpentRequest], now: float) -> tuple[SpentRequest, ...]:
    """Return those of the requests, in the order of their times, that still count."""
    return tuple(each for each in spent if now - each.at < WINDOW)


def retry_after_ms(spent: Sequence[SpentRequest], now: float, most: int, amount: int = 1) -> int | None:
    """Return in how many milliseconds one more request of an amount fits, or None where it fits now.

    A limit that is smaller than the amount lets none through.
    """
    counted = recent(spent, now)
    over = sum(each.amount for each in counted) + amount - most
    if over <= 0:
        return None
    for each in counted:
        over -= each.amount
        if over <= 0:
            return wait_ms(each.at, now)
    return round(WINDOW * 1000)


def wait_ms(since: float, now: float) -> int:
    """Return how many milliseconds of the minute that began at a time are left, at least one."""
    return max(math.ceil((since + WINDOW - now) * 1000), 1)
