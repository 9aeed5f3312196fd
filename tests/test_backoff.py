from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom import backoff
from prloom.backoff import QUICK, SHORTEST, Backoff

USUAL = Backoff()
SECONDS = st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=400))


@pytest.mark.parametrize("attempt", [0, -1])
def test_an_attempt_before_the_first_waits_like_the_first(attempt: int) -> None:
    assert 27 < backoff.delay(USUAL, attempt, "e1").total_seconds() <= 30


def test_the_same_key_waits_as_long_on_every_run() -> None:
    # A literal, so that a hash that differs from process to process would be noticed.
    assert backoff.delay(USUAL, 1, "e1") == timedelta(seconds=28, microseconds=89387)


def test_keys_and_attempts_spread_the_waits() -> None:
    by_key = {backoff.delay(USUAL, 1, f"e{number}") for number in range(100)}
    at_the_maximum = {backoff.delay(USUAL, attempt, "e1") for attempt in range(20, 60)}

    assert len(by_key) == 100
    assert len(at_the_maximum) == 40


@given(initial=SECONDS, maximum=SECONDS, attempt=st.integers(-5, 10**6), key=st.text())
def test_a_wait_is_never_shorter_than_a_second_nor_longer_than_the_maximum(
    initial: timedelta, maximum: timedelta, attempt: int, key: str
) -> None:
    policy = Backoff(initial=initial, maximum=maximum)

    assert SHORTEST <= backoff.delay(policy, attempt, key) <= maximum


@given(attempt=st.integers(1, 30), key=st.text())
def test_jitter_takes_at_most_a_tenth(attempt: int, key: str) -> None:
    full = min(30 * 2 ** (attempt - 1), 3600)

    assert 0.9 * full <= backoff.delay(USUAL, attempt, key).total_seconds() <= full


def test_a_policy_of_no_wait_waits_a_second() -> None:
    assert backoff.delay(Backoff(initial=timedelta(), maximum=timedelta()), 1, "e1") == SHORTEST


@pytest.mark.parametrize(
    ("max_attempts", "attempts", "over"),
    [(0, 0, False), (0, 10**9, False), (3, 2, False), (3, 3, True), (3, 4, True), (1, 0, False), (1, 1, True)],
)
def test_attempts_are_exhausted_where_the_policy_limits_them(max_attempts: int, attempts: int, *, over: bool) -> None:
    assert backoff.exhausted(Backoff(max_attempts=max_attempts), attempts) is over


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(-1, 1), (0, 1), (1, 1), (2, 2), (3, 4), (9, 256), (10, 300), (99, 300)]
)
def test_a_wait_without_jitter_doubles_up_to_the_maximum(attempt: int, seconds: int) -> None:
    assert backoff.doubled(QUICK, attempt) == timedelta(seconds=seconds)


def test_a_wait_without_jitter_may_be_shorter_than_a_second() -> None:
    policy = Backoff(initial=timedelta(milliseconds=10), maximum=timedelta(milliseconds=200))

    milliseconds = [backoff.doubled(policy, attempt) / timedelta(milliseconds=1) for attempt in range(1, 8)]

    assert milliseconds == [10, 20, 40, 80, 160, 200, 200]
