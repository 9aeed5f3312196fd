from __future__ import annotations

from prloom.core.plugins import request_rate


def test_the_limit_holds_for_each_span_of_a_minute_wherever_it_begins():
    times = (10.0, 50.0, 65.0)

    assert request_rate.retry_after_ms(times, 69.9, 3) == 100
    assert request_rate.retry_after_ms(times, 70.0, 3) is None
    assert request_rate.retry_after_ms(times, 80.0, 2) == 30_000


def test_a_limit_that_was_lowered_counts_from_the_latest_requests():
    assert request_rate.retry_after_ms((10.0, 20.0, 30.0), 40.0, 1) == 50_000


def test_a_limit_of_nothing_lets_nothing_through():
    assert request_rate.retry_after_ms((), 0.0, 0) == 60_000


def test_only_the_last_minute_is_remembered():
    assert request_rate.recent((0.0, 39.9, 40.0, 41.0), 100.0) == (41.0,)
