"""Leave a plan alone for a while after its files caused an error."""

from __future__ import annotations

from datetime import datetime, timedelta

from prloom import backoff

_CALM = timedelta(minutes=1)
"""An error that comes back sooner than this, or than the last wait was long, is the same error."""


class FailureBackoff:
    """How long a plan is left alone after its files caused an error: longer each time that this happens again soon."""

    def __init__(self) -> None:
        self.until: datetime | None = None
        self._delay = timedelta(0)
        self._failures = 0
        self._error: tuple[str, datetime] | None = None

    def active(self, now: datetime) -> bool:
        """Whether the plan is left alone now."""
        return self.until is not None and now < self.until

    def failed(self, plan_id: str, now: datetime, error: str) -> datetime:
        """Begin to leave the plan alone; return since when it has this error, which may have come and gone since."""
        if self.until is None or now >= self.until + max(self._delay, _CALM):
            self._failures = 0
            self._error = None
        if self._error is None or self._error[0] != error:
            self._error = (error, now)
        self._failures += 1
        self._delay = backoff.delay(backoff.QUICK, self._failures, plan_id)
        self.until = now + self._delay
        return self._error[1]

    def shift(self, by: timedelta) -> None:
        """End the wait when it was to end, now that the clock was turned back."""
        if self.until is not None:
            self.until -= by
