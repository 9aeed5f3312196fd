from __future__ import annotations

from prloom.core.plugins import request_rate
from prloom.core.plugins.request_rate import SpentRequest


def test_the_limit_holds_for_each_span_of_a_minute_wherever_it_begins():
    times = (SpentRequest(10.0), SpentRequest(50.0), SpentRequest(65.0))

    assert request_rate.retry_after_ms(times, 69.9, 3) == 100
    assert request_rate.retry_after_ms(times, 70.0, 3) is None
    assert request_rate.retry_after_ms(times, 80.0, 2) == 30_000


def test_a_limit_that_was_lowered_counts_from_the_latest_requests():
    assert request_rate.retry_after_ms((SpentRequest(10.0), SpentRequest(20.0), SpentRequest(30.0)), 40.0, 1) == 50_000


def test_a_limit_of_nothing_lets_nothing_through():
    assert request_rate.retry_after_ms((), 0.0, 0) == 60_000


def test_only_the_last_minute_is_remembered():
    spent = tuple(map(SpentRequest, (0.0, 39.9, 40.0, 41.0)))

    assert request_rate.recent(spent, 100.0) == (SpentRequest(41.0),)


def test_a_request_fits_once_enough_of_the_limit_is_free_again_and_never_where_it_is_larger_than_that():
    spent = (SpentRequest(10.0, 30), SpentRequest(20.0, 50))

    assert request_rate.retry_after_ms(spent, 40.0, 100, 20) is None
    assert request_rate.retry_after_ms(spent, 40.0, 100, 21) == 30_000
    assert request_rate.retry_after_ms(spent, 40.0, 100, 60) == 40_000
    assert request_rate.retry_after_ms(spent, 40.0, 100, 101) == 60_000
