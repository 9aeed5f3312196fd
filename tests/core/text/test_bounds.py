from __future__ import annotations

import pytest
from msgspec.structs import replace

from prloom.core.text import bounds
from prloom.model.decision import Change, Decision, Deferral, DeliveryChange

LONG = "x" * 5_000_000
CUT = "x" * (bounds.REASON - 1) + "…"


def waiting(reason: str) -> Deferral:
    return Deferral("p", reason, 1, "2026-01-01", "2026-01-02", "2026-01-03")


@pytest.mark.parametrize("length", [0, 1, bounds.REASON - 1, bounds.REASON])
def test_a_text_that_is_short_enough_stays_as_it_is(length: int) -> None:
    assert bounds.cut("x" * length) == "x" * length


def test_a_text_that_is_too_long_ends_in_an_ellipsis() -> None:
    assert bounds.cut("x" * (bounds.REASON + 1)) == CUT
    assert len(bounds.title(LONG)) == bounds.TITLE


def test_every_reason_and_error_of_a_decision_is_cut() -> None:
    made = Decision(
        seq=1,
        stage="beforeTriage",
        by="p",
        changes=(
            Change(event_id="a", verdict="deferred", state="deferred", reason=LONG, deferral=waiting(LONG)),
            Change(event_id="b", verdict="deferred", state="deferred", deferral=waiting(LONG)),
            Change(event_id="c", verdict="passed", state="pending"),
        ),
        deliveries=(DeliveryChange(action_id="x", state="failed", attempts=1, error=LONG),),
        note=LONG,
    )

    cut = bounds.decision(made)

    assert [change.reason for change in cut.changes] == [CUT, None, None]
    assert [change.deferral and change.deferral.reason for change in cut.changes] == [CUT, CUT, None]
    assert [delivery.error for delivery in cut.deliveries] == [CUT]
    assert cut.note == CUT
    assert bounds.decision(replace(made, changes=(), note=None)).deliveries == cut.deliveries
    assert bounds.decision(replace(made, changes=(), deliveries=())).note == CUT
    reasons = (Change(event_id="a", verdict="passed", state="pending", reason=LONG),)
    assert bounds.decision(replace(made, changes=reasons, deliveries=(), note=None)).changes[0].reason == CUT


def test_a_decision_with_nothing_too_long_is_the_same() -> None:
    made = Decision(seq=1, stage="s", by="p", changes=(Change(event_id="a", verdict="held", state="held", reason="r"),))

    assert bounds.decision(made) is made
