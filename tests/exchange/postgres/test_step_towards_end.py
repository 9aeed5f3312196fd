"""A lost session is ended before it is given up."""

from __future__ import annotations

import pytest

from prloom.exchange.postgres import transaction
from prloom.exchange.postgres.transaction import GRACE, LONGEST


@pytest.mark.parametrize(
    ("waited", "ended", "step"),
    [
        (0.0, False, "wait"),
        (GRACE, False, "end"),
        (LONGEST * 10, False, "end"),  # this process stood still, and could not end it before
        (GRACE, True, "wait"),
        (LONGEST, True, "give up"),
    ],
)
def test_a_lost_session_is_ended_before_it_is_given_up(waited: float, step: str, *, ended: bool) -> None:
    assert transaction.step_towards_end(waited, ended=ended) == step
