"""Read a server's rate limits from its answers, and compute when the next request may be sent.

The headers are GitHub's (docs.github.com, "Rate limits for the REST API"); GitLab, Gitea and others send some of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from prloom import backoff
from prloom.backoff import Backoff

SECONDARY = timedelta(minutes=1)
"""The least wait after a limit without a time (GitHub: "Best practices for using the REST API")."""

RESERVE = 0.05
"""The part of the primary allowance that is left for others who use the same token."""

HORIZON = timedelta(days=1)
"""The longest wait that a server may impose; after it, a request is sent again."""

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)

_SECOND = timedelta(seconds=1)
_SANE = timedelta(days=36_500)  # by how much two clocks may differ, that times by the one can be stated by the other
_DIGITS = 11  # of a number that a header can mean
_WAITS = Backoff(initial=SECONDARY, maximum=64 * SECONDARY)  # without jitter, which would make them shorter
_COST = 5  # points of a write; to read is one
_WORDS = (b"rate limit", b"abuse detection")


@dataclass(frozen=True)
class Bounds:
    """What a client may do: the least time between two writes, and how much in a minute and an hour."""

    pause: timedelta
    points_per_minute: int
    writes_per_minute: int
    writes_per_hour: int


@dataclass(frozen=True)
class Primary:
    """An allowance, what is left of it, and when it is whole again, as of the last answer."""

    allowance: int
    remaining: int
    reset: datetime


@dataclass
class RequestUsage:
    """Requests since the start: all, those that count against the server's limit, and what is left of that."""

    total: int = 0
    charged: int = 0
    remaining: int | None = None


@dataclass(frozen=True)
class RateLimits:
    """The state of a server's rate limits.

    `primary` are its allowances by resource; `closed_until` is when the server may be sent requests at all;
    `strikes` counts the limits hit in a row; `writes` and `points` are the times of the latest writes and requests.
    `unanswered`: the latest write is under way, so when it arrives is not known.
    """

    primary: Mapping[str, Primary] = field(default_factory=dict)
    closed_until: datetime | None = None
    strikes: int = 0
    writes: tuple[datetime, ...] = ()
    points: tuple[tuple[datetime, int], ...] = ()
    unanswered: bool = False


def after_request(limits: RateLimits, now: datetime, bounds: Bounds, *, write: bool) -> RateLimits:
    """Return the limits once a request goes out."""
    points = tuple(each for each in limits.points if now - each[0] < MINUTE)
    if not write:
        return replace(limits, points=(*points, (now, 1)), unanswered=False)
    writes = (*limits.writes, now)[-bounds.writes_per_hour :]
    return replace(limits, points=(*points, (now, _COST)), writes=writes, unanswered=True)


def after_write(limits: RateLimits, now: datetime) -> RateLimits:
    """Return the limits once a write is over, whatever came of it: the pause counts from here."""
    return replace(limits, writes=(*limits.writes[:-1], now), unanswered=False)


def after_answer(
    limits: RateLimits, status: int, headers: Mapping[str, str], now: datetime, *, hit: bool
) -> RateLimits:
    """Return the limits after an answer; `hit`: it says that we were too fast."""
    ahead = _clock_offset(headers, now)
    new = _primary(headers, now, ahead)
    primary = {name: each for name, each in limits.primary.items() if each.reset > now}
    if new is not None:
        primary[resource(headers)] = new
    limits = replace(limits, primary=primary)
    after = _retry_after(headers, now, ahead) if status >= 400 else None  # noqa: PLR2004 - from here on it went wrong
    if not hit:
        return replace(limits, strikes=0, closed_until=after or limits.closed_until)
    spent = new is not None and new.remaining == 0 and new.reset > now
    if after is None and spent:
        return limits  # the allowance itself says until when
    strikes = limits.strikes + 1
    wait = after or now + backoff.doubled(_WAITS, strikes)
    return replace(limits, strikes=strikes, closed_until=wait)


def roll_back(limits: RateLimits, by: timedelta) -> RateLimits:
    """Return the limits once the clock was turned back: all times go back with it, so that a wait stays as long."""
    if not by:
        return limits
    return replace(
        limits,
        primary={name: replace(each, reset=each.reset - by) for name, each in limits.primary.items()},
        closed_until=None if limits.closed_until is None else limits.closed_until - by,
        writes=tuple(at - by for at in limits.writes),
        points=tuple((at - by, cost) for at, cost in limits.points),
    )


def is_limited(status: int, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether an answer says that we were too fast: 429, or a 403 that says so in its headers or in words."""
    if status == 429:  # noqa: PLR2004 - the number is the name
        return True
    if status != 403:  # noqa: PLR2004 - likewise
        return False
    spent = headers.get("x-ratelimit-remaining") == "0"
    return "retry-after" in headers or spent or any(words in body[:2000].lower() for words in _WORDS)


def next_allowed(limits: RateLimits, now: datetime, bounds: Bounds, *, write: bool, of_resource: str) -> datetime:
    """Return when the next request to a resource may go out: now, or once no limit is in its way."""
    times = [now]
    if limits.closed_until is not None:
        times.append(limits.closed_until)
    primary = limits.primary.get(of_resource)
    if primary is not None and now < primary.reset and _is_spent(primary):
        times.append(primary.reset)
    times += _when_points_allow(limits.points, _COST if write else 1, bounds.points_per_minute)
    if write and limits.writes:
        times.append(limits.writes[-1] + bounds.pause)
        for count, span in ((bounds.writes_per_minute, MINUTE), (bounds.writes_per_hour, HOUR)):
            if len(limits.writes) >= count:
                times.append(limits.writes[-count] + span)
    return max(times)


def remaining(limits: RateLimits) -> int | None:
    """Return what is left of the allowance of which least is left."""
    return min((each.remaining for each in limits.primary.values()), default=None)


def blocks(limits: RateLimits) -> tuple[datetime | None, int, Mapping[str, datetime]]:
    """Return what keeps a request from going out at all: a later process has to know that."""
    spent = {name: each.reset for name, each in limits.primary.items() if _is_spent(each)}
    return limits.closed_until, limits.strikes, spent


def resource(headers: Mapping[str, str]) -> str:
    """Return which allowance an answer counted against."""
    return headers.get("x-ratelimit-resource", "core")


def _when_points_allow(points: tuple[tuple[datetime, int], ...], cost: int, most: int) -> list[datetime]:
    """Return when enough of the latest points are a minute old, if they have to be."""
    over = sum(each for _, each in points) + cost - most
    for at, each in points:
        if over <= 0:
            break
        over -= each
        if over <= 0:
            return [at + MINUTE]
    return []


def _is_spent(primary: Primary) -> bool:
    return primary.remaining <= primary.allowance * RESERVE


def _clock_offset(headers: Mapping[str, str], now: datetime) -> timedelta:
    """Return how far the server's clock is ahead of ours, if known: the times in its answers are by that clock."""
    try:
        stated = parsedate_to_datetime(headers.get("date", "")).astimezone(UTC)
    except (ValueError, OverflowError):
        return timedelta()
    if abs(stated - now) < _SANE:
        return stated - now
    return timedelta()


def _primary(headers: Mapping[str, str], now: datetime, ahead: timedelta) -> Primary | None:
    allowance, left, reset = (_number(headers.get(f"x-ratelimit-{name}")) for name in ("limit", "remaining", "reset"))
    if allowance is None or left is None or reset is None:
        return None
    return Primary(allowance, left, min(datetime.fromtimestamp(reset, UTC) - ahead, now + HORIZON))


def _retry_after(headers: Mapping[str, str], now: datetime, ahead: timedelta) -> datetime | None:
    text = headers.get("retry-after")
    if text is None:
        return None
    seconds = _number(text)
    try:
        if seconds is not None:
            stated = now + timedelta(seconds=seconds)
        else:
            stated = parsedate_to_datetime(text).astimezone(UTC) - ahead
    except (ValueError, OverflowError):
        return None
    return min(max(stated, now + _SECOND), now + HORIZON)


def _number(text: str | None) -> int | None:
    if text and text.isascii() and text.isdigit() and len(text) < _DIGITS:
        return int(text)
    return None
