"""Know a server's limits from what it says, and keep within them without trying."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

SECONDARY = timedelta(minutes=1)
"""The least wait after a limit without a time (GitHub: "Best practices for using the REST API")."""

RESERVE = 0.05
"""The part of the primary allowance that is left for others who use the same token."""


@dataclass(frozen=True)
class Limits:
    """What is known of a server's limits.

    `allowance`, `remaining` and `reset` are the primary limit's, as of the last answer; `closed_until` is when the
    server may be asked at all; `strikes` counts the limits hit in a row; `writes` are the times of the latest writes.
    """

    allowance: int | None = None
    remaining: int | None = None
    reset: datetime | None = None
    closed_until: datetime | None = None
    strikes: int = 0
    writes: tuple[datetime, ...] = ()


def learn(limits: Limits, status: int, headers: Mapping[str, str], now: datetime) -> Limits:
    """Return what is known after an answer."""
    limits = replace(
        limits,
        allowance=_number(headers.get("x-ratelimit-limit"), limits.allowance),
        remaining=_number(headers.get("x-ratelimit-remaining"), limits.remaining),
        reset=_reset(headers, limits.reset),
    )
    if not limited(status, headers):
        return replace(limits, strikes=0)
    strikes = limits.strikes + 1
    return replace(limits, strikes=strikes, closed_until=_closed_until(limits, headers, now, strikes))


def limited(status: int, headers: Mapping[str, str]) -> bool:
    """Whether an answer says that we were too fast: 429, or 403 with a limit's headers."""
    if status == 429:  # noqa: PLR2004 - the number is the name
        return True
    spent = headers.get("x-ratelimit-remaining") == "0"
    return status == 403 and ("retry-after" in headers or spent)  # noqa: PLR2004 - likewise


def closed(limits: Limits, now: datetime) -> datetime | None:
    """Return until when nothing may be asked, or None: after a limit, or shortly before the primary one is hit."""
    if limits.closed_until is not None and now < limits.closed_until:
        return limits.closed_until
    if limits.reset is None or now >= limits.reset or limits.remaining is None or limits.allowance is None:
        return None
    return limits.reset if limits.remaining <= limits.allowance * RESERVE else None


def write_pause(limits: Limits, now: datetime, *, pause: timedelta, per_minute: int, per_hour: int) -> timedelta:
    """Return how long to wait before the next write, so that no bound is crossed."""
    waits = [timedelta()]
    if limits.writes:
        waits.append(limits.writes[-1] + pause - now)
    for count, span in ((per_minute, timedelta(minutes=1)), (per_hour, timedelta(hours=1))):
        if len(limits.writes) >= count:
            waits.append(limits.writes[-count] + span - now)
    return max(waits)


def wrote(limits: Limits, now: datetime, *, per_hour: int) -> Limits:
    """Return what is known after a write went out."""
    return replace(limits, writes=(*limits.writes, now)[-per_hour:])


def _closed_until(limits: Limits, headers: Mapping[str, str], now: datetime, strikes: int) -> datetime:
    after = _number(headers.get("retry-after"), None)
    if after is not None:
        return now + timedelta(seconds=max(after, 1))
    if limits.remaining == 0 and limits.reset is not None and limits.reset > now:
        return limits.reset
    return now + SECONDARY * float(2 ** min(strikes - 1, 6))


def _number(text: str | None, otherwise: int | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 12 else otherwise  # noqa: PLR2004


def _reset(headers: Mapping[str, str], otherwise: datetime | None) -> datetime | None:
    at = _number(headers.get("x-ratelimit-reset"), None)
    return otherwise if at is None else datetime.fromtimestamp(at, UTC)
