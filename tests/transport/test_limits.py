"""What a server says of its limits, and when it may be asked again: a table of times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from prloom.transport import limits
from prloom.transport.limits import Bounds, Primary, RateLimits

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ONE = NOON + timedelta(hours=1)
BOUNDS = Bounds(timedelta(seconds=1), 800, 80, 500)
SECOND = timedelta(seconds=1)


NOTHING = RateLimits()


def after(status: int, before: RateLimits = NOTHING, body: bytes = b"", **headers: str) -> RateLimits:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    hit = limits.is_limited(status, named, body)
    return limits.after_answer(before, status, named, NOON, hit=hit)


def opens(known: RateLimits, *, now: datetime = NOON, write: bool = False, of: str = "core") -> timedelta:
    return limits.next_allowed(known, now, BOUNDS, write=write, of_resource=of) - now


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (429, {"retry_after": "30"}, 30),
        (403, {"retry_after": "30"}, 30),
        (429, {}, 60),
        (429, {"retry_after": "0"}, 1),
        (429, {"retry_after": "Thu, 01 Jan 2026 12:02:00 GMT"}, 120),
        (429, {"retry_after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 1),
        (429, {"retry_after": "soon"}, 60),
        (503, {"retry_after": "20"}, 20),
        (503, {}, 0),
        (404, {}, 0),
        (200, {"retry_after": "20"}, 0),
    ],
)
def test_a_server_is_left_alone_for_as_long_as_it_says_or_a_minute(
    status: int, headers: dict[str, str], wait: int
) -> None:
    assert opens(after(status, **headers)) == wait * SECOND


def test_a_limit_without_a_time_is_waited_for_longer_each_time() -> None:
    known, waits = RateLimits(), []
    for _ in range(8):
        known = after(429, known)
        waits.append(opens(known) // SECOND)

    assert waits == [60, 120, 240, 480, 960, 1920, 3840, 3840]


def test_an_answer_in_between_ends_the_row() -> None:
    known = after(429, after(200, after(429)))

    assert opens(known) == 60 * SECOND


@pytest.mark.parametrize("body", [b"You have exceeded a secondary rate limit.", b"abuse detection mechanism"])
def test_a_403_that_is_a_limit_in_words_only_is_one(body: bytes) -> None:
    assert opens(after(403, body=body)) == 60 * SECOND


def test_a_403_that_is_no_limit_stops_nothing() -> None:
    assert opens(after(403, body=b"Resource not accessible by integration")) == timedelta()


@pytest.mark.parametrize(("remaining", "wait"), [(4000, 0), (251, 0), (250, 3600), (0, 3600)])
def test_before_the_allowance_is_spent_it_stops(remaining: int, wait: int) -> None:
    known = RateLimits({"core": Primary(5000, remaining, ONE)})

    assert opens(known) == wait * SECOND
    assert opens(known, now=ONE) == timedelta()


def test_a_spent_allowance_says_itself_until_when() -> None:
    reset = str(int(ONE.timestamp()))
    spent = {"x_ratelimit_limit": "5000", "x_ratelimit_remaining": "0", "x_ratelimit_reset": reset}

    assert opens(after(403, **spent)) == timedelta(hours=1)


@pytest.mark.parametrize("hours", [-8, -2, 2, 8])
def test_the_times_of_a_server_are_by_its_own_clock(hours: int) -> None:
    ahead = timedelta(hours=hours)
    date = (NOON + ahead).strftime("%a, %d %b %Y %H:%M:%S GMT")
    spent = {"x_ratelimit_limit": "5000", "x_ratelimit_remaining": "0"}
    reset = after(403, date=date, x_ratelimit_reset=str(int((ONE + ahead).timestamp())), **spent)
    later = after(429, date=date, retry_after=(NOON + ahead + 90 * SECOND).strftime("%a, %d %b %Y %H:%M:%S GMT"))

    assert (opens(reset), opens(later)) == (timedelta(hours=1), timedelta(seconds=90))


@pytest.mark.parametrize("date", ["", "soon", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 1500 00:00:00 GMT"])
def test_a_time_that_cannot_be_meant_is_as_none(date: str) -> None:
    reset = str(int(ONE.timestamp()))
    spent = {"x_ratelimit_limit": "5000", "x_ratelimit_remaining": "0", "x_ratelimit_reset": reset}

    assert opens(after(403, date=date, **spent)) == timedelta(hours=1)


def test_each_resource_has_its_own_allowance() -> None:
    known = RateLimits({"graphql": Primary(5000, 0, ONE), "core": Primary(5000, 4000, ONE)})

    assert (opens(known), opens(known, of="graphql")) == (timedelta(), timedelta(hours=1))
    assert limits.remaining(known) == 0


@pytest.mark.parametrize("odd", ["", "-1", "many", "\uff19", "9" * 40])
def test_a_number_that_is_none_says_nothing(odd: str) -> None:
    known = after(200, x_ratelimit_limit=odd, x_ratelimit_remaining=odd, x_ratelimit_reset=odd)

    assert known.primary == {}


def test_a_write_waits_for_the_one_before_it_and_a_read_does_not() -> None:
    known = limits.after_request(RateLimits(), NOON, BOUNDS, write=True)

    assert (opens(known, write=True), opens(known)) == (SECOND, timedelta())


def test_a_write_costs_five_points() -> None:
    bounds = Bounds(timedelta(), 12, 80, 500)
    known = RateLimits()
    for second, write in enumerate((True, False, True)):
        known = limits.after_request(known, NOON + second * SECOND, bounds, write=write)
    now = NOON + 3 * SECOND

    assert limits.next_allowed(known, now, bounds, write=False, of_resource="core") == now
    assert limits.next_allowed(known, now, bounds, write=True, of_resource="core") == NOON + timedelta(minutes=1)


def test_what_is_remembered_is_bounded() -> None:
    known = RateLimits()
    for minute in range(2000):
        known = limits.after_request(known, NOON + timedelta(minutes=minute), BOUNDS, write=True)

    assert (len(known.writes), len(known.points)) == (500, 1)
