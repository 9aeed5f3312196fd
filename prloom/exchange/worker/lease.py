"""Keep a claim while its message is worked on, and know when it is lost."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from prloom.exchange.errors import ClaimOverError, ExchangeError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from prloom.exchange.claimed_message import ClaimedMessage
    from prloom.exchange.protocol import ExchangeStore

_RENEW_INTERVAL: Final = 10.0
"""Seconds between renewals at most: how soon a worker that does not listen learns that its message was cancelled."""

_RENEW_RETRY: Final = 1.0  # seconds until the next try where the store could not be reached


class Lease:
    """Renews a claim while its job runs, and knows when the claim is lost.

    It renews and checks in a thread, because the store may take long while the job's time runs out. Times are those of
    `time.monotonic`. `since` is a moment before the claim was made, so that this side never believes the lease to last
    longer than the store does.
    """

    def __init__(
        self,
        claimed: ClaimedMessage,
        length: timedelta,
        *,
        since: float,
        wake: Callable[[], None],
        store: ExchangeStore,
    ) -> None:
        self.claimed = claimed
        self.store = store
        self._seconds = length.total_seconds()
        self._pause = min(self._seconds / 3, _RENEW_INTERVAL)
        self._wake = wake
        self.since = since
        self._until = since + self._seconds
        self._renew_at = since + self._pause
        self._renewing = False
        self._check_is_on = False
        self._heard = False
        self._lost = ""

    def lost(self, now: float) -> str:
        """Return why this worker no longer has the claim, or nothing if it has."""
        if not self._lost and now >= self._until:
            self._lost = "the lease ran out before it could be renewed"
        return self._lost

    def renew_if_due(self, now: float) -> None:
        """Start to renew the claim, if it is time."""
        if not self._renewing and not self.lost(now) and now >= self._renew_at:
            self._renewing = True
            threading.Thread(target=self._renew, name="renewal", daemon=True).start()

    def check(self) -> None:
        """Start to check whether the claim was ended, because the exchange says that something has changed."""
        self._heard = True
        if not self._check_is_on and not self._lost:
            self._check_is_on = True
            threading.Thread(target=self._read_claim, name="check", daemon=True).start()

    def confirm(self) -> None:
        """Read the claim at once, so that `lost` tells what is so now; where that fails, the next renewal tells."""
        with suppress(ExchangeError):
            self._read()

    def next_check(self) -> float:
        """Return when to check again, if nothing wakes the worker before."""
        if self._renewing:
            return self._until
        return min(self._renew_at, self._until)

    def _renew(self) -> None:
        begun = time.monotonic()
        try:
            self.claimed.renew()
        except ClaimOverError as error:
            self._lost = str(error)
        except StoreError:
            self._renew_at = time.monotonic() + _RENEW_RETRY
        else:
            self._until = begun + self._seconds
            self._renew_at = begun + self._pause
        finally:
            self._renewing = False
            self._wake()

    def _read_claim(self) -> None:
        """Read the claim until nothing was heard meanwhile; where that fails, the next renewal tells."""
        try:
            while self._heard and not self._lost:
                self._heard = False
                self._read()
        except ExchangeError:
            self._heard = False
        finally:
            self._check_is_on = False
            self._wake()
        if self._heard:  # since the claim was last read
            self.check()

    def _read(self) -> None:
        claims = self.store.entry(self.claimed.message.id).claims
        if not any(claim.id == self.claimed.id and claim.status == "active" for claim in claims):
            self._lost = "the message was cancelled, or another worker has it"
