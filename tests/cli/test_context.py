from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click
import pytest

from prloom.cli import context

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("30m", NOW - timedelta(minutes=30)),
        ("7d", NOW - timedelta(days=7)),
        ("2026-11-21T19:00:00Z", NOW - timedelta(hours=1)),
        ("2026-11-21T19:00:00+02:00", NOW - timedelta(hours=3)),
    ],
)
def test_an_age_or_a_time_is_a_point_in_time(text: str, moment: datetime) -> None:
    assert context.since(text, NOW) == moment


def test_a_date_is_its_first_moment_where_the_reader_is() -> None:
    assert context.since("2026-11-21", NOW) == datetime(2026, 11, 21).astimezone()


@pytest.mark.parametrize("text", ["soon", "-2h", "2", ""])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=f"{text!r} is not a time; write an age such as 30m, 2h or 7d"):
        context.since(text, NOW)
