"""Decide when a plugin that keeps failing is not run, and until when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from prloom import backoff
from prloom.backoff import Backoff

THRESHOLD = 5
"""Failures in a row after which a plugin is switched off."""

COOL_DOWN = Backoff(initial=timedelta(minutes=1), maximum=timedelta(hours=1))
"""How long it stays off: longer each time that its one trial call fails."""


@dataclass(frozen=True)
class Breaker:
    """A plugin's failures in a row, the last one's reason, and until when it is switched off.

    `only` is the event of all of these failures, or None where there were several. Then it may be the fault of that
    event, so the plugin is switched off for it alone, and an event that others wrote does not wait for it.
    """

    failures: int = 0
    reason: str | None = None
    off_until: datetime | None = None
    only: str | None = None


def off(breaker: Breaker, now: datetime, event: str) -> bool:
    """Whether the plugin is switched off now for an event; when that is over, one call is let through as a trial."""
    return _is_off(breaker, now) and breaker.only in {None, event}


def failed(breaker: Breaker, reason: str, *, event: str, key: str, now: datetime) -> Breaker:
    """Return the breaker after one more failure.

    Calls that were under way when the plugin was switched off are not trials: their failures prolong nothing. But if
    the plugin fails on a second event too, it is switched off for all.
    """
    if breaker.only == event or not breaker.failures:
        only = event
    else:
        only = None
    if _is_off(breaker, now):
        return replace(breaker, only=only)
    failures = breaker.failures + 1
    if failures < THRESHOLD:
        return Breaker(failures, reason, only=only)
    return Breaker(failures, reason, now + backoff.delay(COOL_DOWN, failures - THRESHOLD + 1, key), only)


def _is_off(breaker: Breaker, now: datetime) -> bool:
    return breaker.off_until is not None and now < breaker.off_until
