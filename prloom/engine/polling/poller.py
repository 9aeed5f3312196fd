"""Poll one bridge: when it is due, what its error was, and when to try again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from prloom import backoff, errors
from prloom.api.bridge import BridgeContext, Polled
from prloom.api.http import HttpError
from prloom.backoff import Backoff
from prloom.core.text import bounds, time_text
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.polling.poll import BridgeReader
from prloom.extensions import bridge_calls
from prloom.extensions.bridges import LoadedBridge
from prloom.model.record import Json, Timestamp
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

_MOST_WARNINGS = 20
_LONGEST_WARNING = 500  # characters
DELAYS = Backoff(initial=timedelta(seconds=5), maximum=timedelta(minutes=10))
"""How long a bridge that failed is left alone."""


@dataclass
class PollState:
    """What is known of a bridge's polls; times are aware. `last_poll_at` is also that of a poll which made no request.

    `kind` is what kind of error it was that the last poll failed with.
    """

    last_poll_at: datetime | None = None
    last_ok_at: datetime | None = None
    error: str | None = None
    failures: int = 0
    retry_at: datetime | None = None
    idle: str | None = None
    warnings: tuple[str, ...] = ()
    requested_at: datetime | None = None
    kind: str | None = None


class Poller:
    """Polls one bridge at its interval, and after a failure with a backoff."""

    def __init__(self, bridge: LoadedBridge, state: SafeDir, where: RepositoryPaths) -> None:
        self.bridge = bridge
        self.polls = PollState()
        self.reader = BridgeReader(bridge, state, where)
        self._one_at_a_time = asyncio.Lock()

    def due(self, now: datetime) -> bool:
        """Whether it is time to poll."""
        at = self.next_time()
        return at is None or now >= at

    def next_time(self) -> datetime | None:
        """Return when the bridge is polled again; None if it never was."""
        last = self.polls.last_poll_at
        return self.polls.retry_at or (None if last is None else last + self.bridge.poll_interval)

    def shift(self, by: timedelta) -> None:
        """Poll the bridge when it was to be polled, now that the clock was turned back."""
        if self.polls.last_poll_at is not None:
            self.polls.last_poll_at -= by
        if self.polls.retry_at is not None:
            self.polls.retry_at -= by
        self.reader.permissions.shift(by)

    async def poll(
        self, runtimes: Mapping[str, PlanRuntime], repository: PlanRuntime | None, context: BridgeContext
    ) -> set[str]:
        """Poll once; return the ids of the plans that got events ("" is the repository as a whole).

        Whatever goes wrong is this bridge's error: nothing counts as read, and it is polled again after a while.
        """
        async with self._one_at_a_time:
            return await self._poll(runtimes, repository, context)

    async def _poll(
        self, runtimes: Mapping[str, PlanRuntime], repository: PlanRuntime | None, context: BridgeContext
    ) -> set[str]:
        now = context.now
        self.polls.last_poll_at = now
        try:
            polled, plan_ids = await self.reader.read(runtimes, repository, context)
            self._note(polled, now)
        except Exception as error:  # noqa: BLE001 - a bridge is a stranger's code, and the others go on
            text = bounds.cut(_described(error))
            self.polls.failures += 1
            self.polls.error = text
            self.polls.idle, self.polls.requested_at = None, now
            self.polls.retry_at = self._retry_at(error, now)
            # said once, not at each try
            level = logging.WARNING
            if _kind(error) == self.polls.kind:
                level = logging.INFO
            self.polls.kind = _kind(error)
            again = time_text.clock_time(self.polls.retry_at.astimezone(), now)
            log.log(level, "bridge %s: %s; next poll at %s", self.bridge.name, text, again)
            return set()
        return plan_ids

    def _note(self, polled: Polled, now: datetime) -> None:
        """Remember how a poll went that did not fail; one with nothing to request made no request."""
        polls = PollState(last_poll_at=now, last_ok_at=now, requested_at=now)
        polls.warnings = tuple(str(each)[:_LONGEST_WARNING] for each in tuple(polled.warnings)[:_MOST_WARNINGS])
        if isinstance(polled.idle, str):
            polls.idle, polls.requested_at, polls.last_ok_at = (
                polled.idle,
                self.polls.requested_at,
                self.polls.last_ok_at,
            )
        self.polls = polls

    def _retry_at(self, error: BaseException, now: datetime) -> datetime:
        """Return when to poll again: when the server said, or after the usual wait."""
        usual = now + backoff.delay(DELAYS, self.polls.failures, self.bridge.name)
        if isinstance(error, HttpError) and error.retry_at is not None:
            return max(usual, error.retry_at)
        return usual

    def report(self, requests: Mapping[str, Json]) -> dict[str, Json]:
        """Return what `prloom status` shows of the bridge; `requests` counts those that it has made."""
        shown: dict[str, Json] = {
            "name": self.bridge.name,
            "lastPollAt": _timestamp(self.polls.requested_at),
            "lastOkAt": _timestamp(self.polls.last_ok_at),
            "error": self.polls.error,
            "requests": dict(requests),
        }
        if self.polls.idle is not None:
            shown["idle"] = self.polls.idle
        if self.polls.warnings:
            shown["warnings"] = list(self.polls.warnings)
        return shown


def _described(error: BaseException) -> str:
    """Return one line about what a bridge raised: where in its code, if that was not foreseen."""
    if errors.explain(error) is not None:
        return errors.describe(error)
    return f"{errors.describe(error)}{bridge_calls.origin(error)}"


def _kind(error: BaseException) -> str:
    """Return what kind of error a poll failed with: its text may name a time, and differ with each try."""
    if isinstance(error, HttpError):
        return error.trouble
    return f"{type(error).__name__}: {error}"


def _timestamp(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    return Timestamp.of(moment)
