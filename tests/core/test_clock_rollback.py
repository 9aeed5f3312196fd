from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from prloom.core import clock_rollback
from prloom.model import record

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


@pytest.mark.parametrize(
    ("ahead", "turned"),
    [
        (-HOUR, False),
        (timedelta(), False),
        (clock_rollback.SLACK, False),
        (clock_rollback.SLACK + SECOND, True),
        (HOUR, True),
    ],
)
def test_what_was_written_by_a_time_that_is_yet_to_come_says_that_the_clock_went_back(ahead: timedelta, turned: bool):  # noqa: FBT001 - a row of the table
    assert clock_rollback.since(record.iso(NOW + ahead), NOW) is turned


def test_what_was_never_written_says_nothing():
    assert not clock_rollback.since(None, NOW)


@pytest.mark.parametrize(
    ("later", "by"), [(HOUR, timedelta()), (-SECOND, timedelta()), (-HOUR, HOUR)], ids=["on", "put right", "back"]
)
def test_only_a_real_step_back_counts(later: timedelta, by: timedelta):
    assert clock_rollback.by(NOW, NOW + later) == by
