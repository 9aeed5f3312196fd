"""Which calls of guards are recorded."""

from __future__ import annotations

from datetime import timedelta

import pytest

from prloom.engine.plan import plugin_calls
from prloom.model.hook import Outcome, Writes

SOON = timedelta(milliseconds=999)


@pytest.mark.parametrize(
    ("outcome", "took", "recorded"),
    [
        (Outcome(), SOON, False),
        (Outcome(block="not here"), SOON, False),
        (Outcome(), plugin_calls.SLOW, True),
        (Outcome(wakes=("c-1",)), SOON, True),
        (Outcome(writes=(Writes(scope="plan"),)), SOON, False),
        (Outcome(writes=(Writes(scope="plan", values={"seen": 1}),)), SOON, True),
    ],
)
def test_a_guard_that_has_no_effect_of_its_own_is_recorded_where_it_was_slow(
    outcome: Outcome, took: timedelta, *, recorded: bool
) -> None:
    assert plugin_calls.is_recorded(outcome, took) is recorded
