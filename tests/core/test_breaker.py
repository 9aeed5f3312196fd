from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from prloom.backoff import Backoff
from prloom.core import breaker
from prloom.core.breaker import COOL_DOWN, THRESHOLD, Breaker, UsageLimit
from prloom.model.decision import Deferral
from prloom.model.record import Timestamp
from prloom.model.state import OpenEvent

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


NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
LIMIT = UsageLimit("limit reached", NOW + 5 * HOUR, known=True)

Make = Callable[..., OpenEvent]
MakeDeferral = Callable[..., Deferral]


def test_a_limit_lasts_as_long_as_the_program_says() -> None:
    assert breaker.limit_met("limit reached", NOW + 5 * HOUR, NOW) == LIMIT


def test_a_limit_of_which_the_end_is_not_known_is_tried_again_in_an_hour() -> None:
    assert breaker.limit_met("limit", None, NOW) == UsageLimit("limit", NOW + HOUR, known=False)


def test_a_wait_for_a_limit_is_no_attempt(an_open_event: Make, a_deferral: MakeDeferral) -> None:
    event = an_open_event(deferral=a_deferral("triage", attempts=2), first_deferred_at=Timestamp.of(NOW), failures=2)

    change = breaker.wait_for_limit(event, LIMIT, now=NOW, policy=Backoff(max_attempts=1))

    assert (change.verdict, change.state, change.alone) == ("limited", "deferred", False)
    assert change.deferral is not None
    assert (change.deferral.attempts, change.deferral.deferred_until) == (2, Timestamp.of(NOW + 5 * HOUR))


def test_a_wait_for_a_limit_of_which_the_end_is_not_known_has_a_name_a_next_try_and_a_deadline(
    an_open_event: Make,
) -> None:
    limit = breaker.limit_met("gemini: You have exhausted your daily quota.", None, NOW)

    change = breaker.wait_for_limit(an_open_event(), limit, now=NOW, policy=Backoff())

    assert (change.verdict, change.state, change.alone) == ("quota", "deferred", False)
    assert change.deferral is not None
    assert (change.deferral.attempts, change.deferral.on_expire) == (0, "park")
    assert (change.deferral.deferred_until, change.deferral.deadline) == (
        Timestamp.of(NOW + HOUR),
        Timestamp.of(NOW + 7 * DAY),
    )
    assert "does not say when the limit is reset, so prloom tries again in an hour" in change.deferral.reason


@pytest.mark.parametrize(
    ("until", "due"), [(NOW - HOUR, NOW + SECOND), (NOW, NOW + SECOND), (NOW + 30 * DAY, NOW + 7 * DAY)]
)
def test_an_end_that_makes_no_sense_is_bounded(an_open_event: Make, until: datetime, due: datetime) -> None:
    limit = breaker.limit_met("limit", until, NOW)

    change = breaker.wait_for_limit(an_open_event(), limit, now=NOW, policy=Backoff())

    assert change.deferral is not None
    assert change.deferral.deferred_until == (due)


def test_a_limit_keeps_the_program_from_being_run_until_its_end(an_open_event: Make) -> None:
    events = (an_open_event(), an_open_event("e2"))

    assert breaker.limit_applies(LIMIT, events, NOW)
    assert not breaker.limit_applies(LIMIT, events, NOW + 5 * HOUR)


@pytest.mark.parametrize(("owner", "until", "held"), [("triage", 1, False), ("triage", -1, True), ("quiet", 1, True)])
def test_an_event_that_somebody_wants_to_be_retried_does_not_wait_for_the_limit(
    an_open_event: Make,
    a_deferral: MakeDeferral,
    owner: str,
    until: int,
    held: bool,  # noqa: FBT001 - parametrised
) -> None:
    waited = a_deferral(owner, deferred_until=Timestamp.of(NOW + until * HOUR))

    assert breaker.limit_applies(LIMIT, (an_open_event(), an_open_event("e2", deferral=waited)), NOW) == held


def test_a_limit_that_was_met_by_a_clock_that_was_ahead_does_not_hold_once_the_clock_is_set_right() -> None:
    limit = breaker.limit_met("limit reached", NOW + 400 * DAY, NOW + 399 * DAY)

    assert breaker.limit_applies(limit, (), NOW + 399 * DAY)
    assert not breaker.limit_applies(limit, (), NOW)
