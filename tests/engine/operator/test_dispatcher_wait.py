from __future__ import annotations

from datetime import timedelta

from prloom.engine.operator import dispatcher_wait

MINUTE = timedelta(minutes=1)


def test_a_request_that_is_handled_needs_no_pause() -> None:
    pauses: list[float] = []

    assert dispatcher_wait.until(lambda: True, timedelta(0), pauses.append)
    assert pauses == []


def test_between_two_looks_there_is_a_pause_until_the_request_is_handled() -> None:
    pauses: list[float] = []

    assert dispatcher_wait.until(lambda: len(pauses) == 3, MINUTE, pauses.append)
    assert pauses == [0.05] * 3


def test_a_request_that_is_not_handled_in_time_is_given_up() -> None:
    looks: list[None] = []

    assert not dispatcher_wait.until(lambda: bool(looks.append(None)), -MINUTE, lambda _: None)
    assert len(looks) == 1
