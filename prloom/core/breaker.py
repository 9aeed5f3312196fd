"""Decide when a plugin that keeps failing is left alone, and when it may try again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from prloom.core import backoff
from prloom.core.backoff import Backoff

THRESHOLD = 5
"""Failures in a row after which a plugin is switched off."""

COOL_DOWN = Backoff(initial=timedelta(minutes=1), maximum=timedelta(hours=1))
"""How long it stays off: longer each time that its one trial call fails."""


@dataclass(frozen=True)
class Breaker:
    """A plugin's failures in a row, the last one's reason, and until when it is switched off."""

    failures: int = 0
    reason: str | None = None
    off_until: datetime | None = None


def off(breaker: Breaker, now: datetime) -> bool:
    """Whether the plugin is switched off now; when the time is over, one call is let through as a trial."""
    return breaker.off_until is not None and now < breaker.off_until


def failed(breaker: Breaker, reason: str, *, key: str, now: datetime) -> Breaker:
    """Return the breaker after one more failure.

    Calls that were under way when the plugin was switched off are no trials: their failures prolong nothing.
    """
    if off(breaker, now):
        return breaker
    failures = breaker.failures + 1
    if failures < THRESHOLD:
        return Breaker(failures, reason)
    return Breaker(failures, reason, now + backoff.delay(COOL_DOWN, failures - THRESHOLD + 1, key))
