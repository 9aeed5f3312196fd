from __future__ import annotations

from datetime import UTC, datetime, timedelta

from prloom.core import breaker
from prloom.core.breaker import COOL_DOWN, THRESHOLD, Breaker

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def failed(times: int, *, now: datetime = NOW, before: Breaker | None = None) -> Breaker:
    state = before or Breaker()
    for number in range(times):
        state = breaker.failed(state, f"failure {number}", key="memory", now=now)
    return state


def test_a_plugin_that_never_failed_is_on() -> None:
    assert not breaker.off(Breaker(), NOW)


def test_failures_below_the_threshold_leave_a_plugin_on() -> None:
    assert not breaker.off(failed(THRESHOLD - 1), NOW)


def test_the_last_failure_of_a_row_switches_a_plugin_off_for_about_a_minute_and_says_why() -> None:
    state = failed(THRESHOLD)

    assert breaker.off(state, NOW)
    assert breaker.off(state, NOW + timedelta(seconds=53))
    assert not breaker.off(state, NOW + timedelta(seconds=60))
    assert state.reason == "failure 4"


def test_a_trial_that_fails_switches_a_plugin_off_again_for_longer() -> None:
    state = failed(THRESHOLD)
    assert state.off_until is not None

    again = failed(1, now=state.off_until, before=state)

    assert again.off_until is not None
    assert again.off_until - state.off_until > timedelta(seconds=100)


def test_a_plugin_that_fails_for_ever_is_tried_again_within_the_hour() -> None:
    state, now = failed(THRESHOLD), NOW
    for _ in range(30):
        assert state.off_until is not None
        assert now < state.off_until <= now + COOL_DOWN.maximum
        now = state.off_until
        state = failed(1, now=now, before=state)


def test_calls_that_were_under_way_when_a_plugin_was_switched_off_do_not_make_it_stay_off_longer() -> None:
    state = failed(THRESHOLD)

    late = failed(3, before=state)

    assert late.off_until == state.off_until
    assert late.failures == state.failures
