"""The time of a test."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


class Clock:
    """The time, which passes only when a test says so."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **span: float) -> None:
        self.now += timedelta(**span)
