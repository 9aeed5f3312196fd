"""Save the rate limits of a server for the process that comes after this one, in a file of its own."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Protocol

import msgspec

from prloom.model import record
from prloom.model.record import Json, Record
from prloom.transport.limits import HORIZON, HOUR, Primary, RateLimits

log = logging.getLogger(__name__)

IN_FLIGHT = timedelta(minutes=2)
"""How long after it was sent a write without an answer may still arrive."""
RESOURCES = 32
"""Allowances that are remembered; GitHub has a dozen."""

Time = Annotated[datetime, msgspec.Meta(tz=True)]


class LimitsStore(Protocol):
    """Where the limits are kept. Neither method may fail: what cannot be kept is forgotten."""

    def load(self) -> Json | None:
        """Return what was saved last; None for nothing."""

    def save(self, value: Mapping[str, Json]) -> None:
        """Keep a JSON object of at most some 20 KB."""


class Allowance(Record, frozen=True):
    """What was left of an allowance, and when it is whole again."""

    allowance: int
    remaining: int
    reset: Time


class StoredLimits(Record, frozen=True):
    """What `bus/state/bridge.<bridge>.limits.json` holds: of which server, as of when, and what keeps it closed."""

    server: str
    saved_at: Time
    closed_until: Time | None = None
    strikes: int = 0
    writes: tuple[Time, ...] = ()
    unanswered: bool = False
    primary: Mapping[str, Allowance] = {}


def dump(limits: RateLimits, server: str, now: datetime) -> dict[str, Json]:
    """Return the limits as JSON for a later process; what is over is left out."""
    primary = {
        name: Allowance(allowance=each.allowance, remaining=each.remaining, reset=each.reset)
        for name, each in list(limits.primary.items())[-RESOURCES:]
        if each.reset > now
    }
    closed = limits.closed_until
    return record.to_wire(
        StoredLimits(
            server=server,
            saved_at=now,
            closed_until=closed if closed is not None and closed > now else None,
            strikes=limits.strikes,
            writes=tuple(at for at in limits.writes if now - at < HOUR),
            unanswered=limits.unanswered,
            primary=primary,
        )
    )


def load(found: Json | None, server: str, now: datetime, *, most: int) -> RateLimits:
    """Return the limits that an earlier process saved, with at most so many writes; empty limits where it saved none.

    Damaged limits, and those of another server, are ignored. Where the clock went back since, all times go back with
    it: a wait is as long as it was, and none is longer than the horizon.
    """
    if found is None:
        return RateLimits()
    try:
        stored = record.from_wire(StoredLimits, found)
        if stored.server == server:
            return _restored(stored, now, most)
    except (msgspec.ValidationError, OverflowError) as error:
        log.warning("the saved rate limits of %s cannot be read and are ignored: %s", server, error)
    return RateLimits()


def _restored(stored: StoredLimits, now: datetime, most: int) -> RateLimits:
    back = max(stored.saved_at - now, timedelta())
    latest = now + HORIZON
    writes = sorted(min(at - back, now) for at in stored.writes)[-most:]
    if stored.unanswered and writes:
        writes[-1] = min(now, writes[-1] + IN_FLIGHT)
    closed = stored.closed_until
    primary = {
        name: Primary(each.allowance, each.remaining, min(each.reset - back, latest))
        for name, each in list(stored.primary.items())[:RESOURCES]
    }
    return RateLimits(
        primary=primary,
        closed_until=None if closed is None else min(closed - back, latest),
        strikes=max(0, stored.strikes),
        writes=tuple(at for at in writes if now - at < HOUR),
    )
