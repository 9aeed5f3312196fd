"""Keep a claim while its command runs, and know when it is lost."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from prloom.exchange.errors import ClaimOverError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from prloom.exchange.claimed_message import ClaimedMessage

_OFTEN = 10.0
"""Seconds between renewals at most: that is how soon a worker learns that its message was cancelled."""

_SOON = 1.0  # seconds until the next try where the store could not be reached


class Lease:
    """Renews in a thread, for the store may let one wait while the command's time runs out.

    Times are those of `time.monotonic`. `since` is a moment before the claim was made, so that this side never believes
    the lease to last longer than the store does.
    """

    def __init__(self, held: ClaimedMessage, length: timedelta, *, since: float, ring: Callable[[], None]) -> None:
        self._held = held
        self._seconds = length.total_seconds()
        self._pause = min(self._seconds / 3, _OFTEN)
        self._ring = ring
        self._until = since + self._seconds
        self._renew_at = since + self._pause
        self._busy = False
        self._lost = ""

    def lost(self, now: float) -> str:
        """Return why the claim is not ours any more, or nothing where it is."""
        if not self._lost and now >= self._until:
            self._lost = "the lease ran out before it could be renewed"
        return self._lost

    def tend(self, now: float) -> None:
        """Begin to renew it, if it is time."""
        if not self._busy and not self.lost(now) and now >= self._renew_at:
            self._busy = True
            threading.Thread(target=self._renew, name="renewal", daemon=True).start()

    def next(self) -> float:
        """Return when to look again; that is sooner where the bell rings."""
        if self._busy:
            return self._until
        return min(self._renew_at, self._until)

    def _renew(self) -> None:
        begun = time.monotonic()
        try:
            self._held.renew()
        except ClaimOverError as error:
            self._lost = str(error)
        except StoreError:
            self._renew_at = time.monotonic() + _SOON
        else:
            self._until = begun + self._seconds
            self._renew_at = begun + self._pause
        finally:
            self._busy = False
            self._ring()
