"""When a usage limit ends, as the programs say it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import available_timezones

import pytest

from prloom.agents import limits

EAST = timezone(timedelta(hours=2))
NOW = datetime(2026, 11, 21, 14, 30, 20, tzinfo=EAST)  # 12:30:20 UTC


def utc(month: int, day: int, hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2026, month, day, hour, minute, second, tzinfo=UTC)


@pytest.mark.parametrize(
    ("message", "reset"),
    [
        # codex; the seconds are cut off, so the limit ends with the minute.
        ("You've hit your usage limit. Try again at 3:04 PM.", utc(11, 21, 13, 5)),
        ("Visit https://x.y/z to purchase more credits or try again at 12:16 AM.", utc(11, 21, 22, 17)),
        ("You've hit your usage limit. Try again at 2:30 PM.", utc(11, 21, 12, 31)),
        ("You've hit your usage limit. Try again at 2:20 PM.", utc(11, 22, 12, 21)),
        # It has just ended, while the message was on its way: to wait until tomorrow would be wrong.
        ("You've hit your usage limit. Try again at 2:29 PM.", utc(11, 21, 12, 31, 20)),
        ("You've hit your usage limit. Try again at 2:26 PM.", utc(11, 21, 12, 31, 20)),
        ("You have hit your usage limit. Try again at Nov 23rd, 2026 4:15 AM.", utc(11, 23, 2, 16)),
        ("try again in 2 days 17 hours 14 minutes.", utc(11, 24, 5, 44, 20)),
        # claude
        ("Claude AI usage limit reached|1795270000", datetime.fromtimestamp(1795270000, tz=UTC)),
        ("You've hit your weekly limit · resets Nov 25 at 9am", utc(11, 25, 7, 1)),
        ("You've hit your session limit · resets 3pm (Nowhere/Land)", utc(11, 21, 13, 1)),
        ("You will regain access on 2026-12-01 at 00:00 UTC.", utc(12, 1, 0)),
        ("You've reached your limit; resets at 2026-11-23T01:02:03Z", utc(11, 23, 1, 2, 3)),
        # opencode
        ("5 hour usage limit reached. It will reset in 3 hours 5 minutes.", utc(11, 21, 15, 35, 20)),
        ("Weekly usage limit reached. Resets in 2 days.", utc(11, 23, 12, 30, 20)),
        # gemini
        ("You have exhausted your capacity. Your quota will reset after 3h20m5s.", utc(11, 21, 15, 50, 25)),
    ],
)
def test_the_programs_words_name_a_time(message: str, reset: datetime) -> None:
    assert limits.reset_time(message, NOW) == reset


@pytest.mark.skipif(not available_timezones(), reason="this machine knows no time zones by name (no tzdata)")
@pytest.mark.parametrize(
    ("message", "reset"),
    [
        ("You've hit your session limit · resets 3pm (UTC)", utc(11, 21, 15, 1)),
        ("You've hit your weekly limit · resets Nov 25, 3:30pm (America/New_York)", utc(11, 25, 20, 31)),
    ],
)
def test_a_clock_time_may_name_its_zone(message: str, reset: datetime) -> None:
    assert limits.reset_time(message, NOW) == reset


@pytest.mark.parametrize(
    "message",
    [
        "",
        "You've hit your usage limit. Try again later.",
        "You've hit your usage limit. Try again at 77:99 PM.",
        "try again at Foo 3rd, 2026 4:15 AM.",
        "try again at Feb 31st, 2027 4:15 AM.",
        "Claude AI usage limit reached|9999999999",
        "try again at Nov 23rd, 2031 4:15 AM.",
        "try again in 9999 days",
        "try again in 2 a 3 b 4 c",
        "You will regain access on 2026-13-41 at 77:99 UTC.",
        "You will regain access on 2025-01-01 at 00:00 UTC.",
    ],
)
def test_words_without_a_sensible_time_name_none(message: str) -> None:
    assert limits.reset_time(message, NOW) is None


def test_a_date_without_a_year_may_lie_in_the_next_one() -> None:
    december = datetime(2026, 12, 30, 12, tzinfo=UTC)

    assert limits.reset_time("resets Jan 2, 3pm", december) == datetime(2027, 1, 2, 15, 1, tzinfo=UTC)


def test_a_stamp_may_be_in_seconds_or_milliseconds() -> None:
    stamp = utc(11, 21, 18).timestamp()

    assert limits.from_epoch(stamp, NOW) == limits.from_epoch(stamp * 1000, NOW) == utc(11, 21, 18)


@pytest.mark.parametrize("stamp", [0, -1, 1e300, 5e10])
def test_a_stamp_that_makes_no_sense_is_no_time(stamp: float) -> None:
    assert limits.from_epoch(stamp, NOW) is None


def test_a_hostile_message_takes_no_time() -> None:
    hostile = "resets " * 50_000 + "try again at " + "1 " * 100_000 + "try again in" + "1 " * 100_000

    assert limits.reset_time(hostile, NOW) is None
