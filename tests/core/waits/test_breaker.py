from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from prloom.core.waits import breaker
from prloom.core.waits.breaker import COOL_DOWN, THRESHOLD, Breaker

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def failed(times: int, *, now: datetime = NOW, before: Breaker | None = None, event: str | None = None) -> Breaker:
    """Return the breaker after failures on one event, or on as many events as there are failures."""
    state = before or Breaker()
    for number in range(times):
        state = breaker.failed(state, f"failure {number}", event=event or f"e{number}", key="memory", now=now)
    return state


def test_a_plugin_that_never_failed_is_on() -> None:
    assert not breaker.off(Breaker(), NOW, "e")


def test_failures_below_the_threshold_leave_a_plugin_on() -> None:
    assert not breaker.off(failed(THRESHOLD - 1), NOW, "e")


def test_a_failure_is_told_before_it_switches_anything_off() -> None:
    assert failed(1).reason == "failure 0"


def test_the_last_failure_of_a_row_switches_a_plugin_off_for_about_a_minute_and_says_why() -> None:
    state = failed(THRESHOLD)

    assert breaker.off(state, NOW, "e")
    assert breaker.off(state, NOW + timedelta(seconds=53), "e")
    assert not breaker.off(state, NOW + timedelta(seconds=60), "e")
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


def test_a_call_that_was_under_way_on_the_one_event_leaves_the_others_on() -> None:
    state = failed(THRESHOLD, event="bad")

    assert failed(1, before=state, event="bad") == state


def test_failures_on_one_event_switch_a_plugin_off_for_that_event_alone() -> None:
    state = failed(THRESHOLD, event="bad")

    assert breaker.off(state, NOW, "bad")
    assert not breaker.off(state, NOW, "other")


def test_a_failure_on_another_event_meanwhile_switches_it_off_for_all() -> None:
    before = failed(THRESHOLD, event="bad")
    state = failed(1, before=before, event="other")

    assert breaker.off(state, NOW, "third")
    assert state == replace(before, only=None)


def test_failures_on_several_events_switch_it_off_for_all_however_often_one_of_them_came() -> None:
    state = failed(THRESHOLD - 1, before=failed(1, event="first"), event="bad")

    assert breaker.off(state, NOW, "other")
