from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.backoff import Backoff
from prloom.core import outbox
from prloom.core.outbox import RECEIPTS
from prloom.model import record
from prloom.model.decision import DeliveryChange
from prloom.model.state import Attempt, DeliveryState, DispatchState, QueuedAction, Receipt

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT = record.iso(NOW)
POLICY = Backoff()
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)

Make = Callable[..., QueuedAction]


def refused(
    action: QueuedAction,
    *,
    retryable: bool = True,
    retry_after: timedelta | None = None,
    now: datetime = NOW,
    policy: Backoff = POLICY,
) -> DeliveryChange:
    return outbox.refused(action, "502", retryable=retryable, retry_after=retry_after, now=now, policy=policy)


@pytest.mark.parametrize(
    ("values", "ready"),
    [
        ({}, True),
        ({"next_try": AT}, True),
        ({"next_try": record.iso(NOW - HOUR)}, True),
        ({"next_try": record.iso(NOW + SECOND)}, False),
        ({"failed": True}, False),
        ({"failed": True, "next_try": AT}, False),
    ],
)
def test_an_action_may_be_tried_when_its_time_has_come_and_it_has_not_failed(
    a_queued_action: Make, values: dict[str, object], *, ready: bool
) -> None:
    assert bool(outbox.ready([a_queued_action(**values)], NOW)) is ready


def test_ready_actions_go_in_the_order_in_which_they_were_queued_and_wait_for_nobody(a_queued_action: Make) -> None:
    queue = [
        a_queued_action("first", next_try=record.iso(NOW + HOUR)),
        a_queued_action("second"),
        a_queued_action("failed", failed=True),
        a_queued_action("third", next_try=AT),
    ]

    assert [action.id for action in outbox.ready(queue, NOW)] == ["second", "third"]


def test_the_next_due_time_is_that_of_the_first_action_that_waits(a_queued_action: Make) -> None:
    queue = [
        a_queued_action("a"),
        a_queued_action("b", next_try=record.iso(NOW + DAY)),
        a_queued_action("c", next_try=record.iso(NOW + HOUR)),
        a_queued_action("d", next_try=record.iso(NOW + SECOND), failed=True),
    ]

    assert outbox.next_due(queue) == NOW + HOUR
    assert outbox.next_due(queue[:1]) is None


def test_a_delivered_action_keeps_what_its_receipt_says(a_queued_action: Make) -> None:
    receipt = Receipt("a-1", AT, url="https://x/1", remote_id="c1")

    assert outbox.delivered(a_queued_action(attempts=2), receipt) == DeliveryChange(
        action_id="a-1", state="delivered", attempts=3, url="https://x/1", remote_id="c1"
    )


def test_a_permanent_refusal_is_a_visible_failure_at_once(a_queued_action: Make) -> None:
    assert refused(a_queued_action(), retryable=False) == DeliveryChange(
        action_id="a-1", state="failed", attempts=1, error="502"
    )


@pytest.mark.parametrize(("attempts", "full"), [(0, 30), (1, 60), (2, 120), (20, 3600)])
def test_each_refusal_waits_longer(a_queued_action: Make, attempts: int, full: int) -> None:
    delivery = refused(a_queued_action(attempts=attempts))

    assert (delivery.state, delivery.attempts) == ("retrying", attempts + 1)
    assert delivery.next_try is not None
    assert 0.9 * full <= (record.moment(delivery.next_try) - NOW).total_seconds() <= full


@pytest.mark.parametrize(
    ("retry_after", "waits"), [(2 * HOUR, 2 * HOUR), (SECOND, None), (timedelta(), None), (-DAY, None)]
)
def test_a_target_that_says_how_long_is_waited_for_as_long_but_never_less_than_the_backoff(
    a_queued_action: Make, retry_after: timedelta, waits: timedelta | None
) -> None:
    delivery = refused(a_queued_action(), retry_after=retry_after)

    assert delivery.next_try is not None
    pause = record.moment(delivery.next_try) - NOW
    assert pause == waits if waits else 27 * SECOND <= pause <= 30 * SECOND


@pytest.mark.parametrize(
    ("values", "retry_after", "now", "policy"),
    [
        ({}, None, NOW + 7 * DAY, POLICY),
        ({}, 8 * DAY, NOW, POLICY),
        ({}, timedelta.max, NOW, POLICY),
        ({"attempts": 2}, None, NOW, Backoff(max_attempts=3)),
    ],
)
def test_an_action_is_given_up_visibly_when_its_time_or_its_attempts_are_over(
    a_queued_action: Make, values: dict[str, int], retry_after: timedelta | None, now: datetime, policy: Backoff
) -> None:
    delivery = refused(a_queued_action(**values), retry_after=retry_after, now=now, policy=policy)

    assert delivery.state == "failed"
    assert delivery.error == f"given up after {delivery.attempts} attempts: 502"


def test_an_action_that_is_refused_for_ever_ends_by_its_deadline(a_queued_action: Make) -> None:
    action, now = a_queued_action(), NOW
    while (delivery := refused(action, now=now)).state == "retrying":
        assert delivery.next_try is not None
        action = a_queued_action(attempts=delivery.attempts)
        now = record.moment(delivery.next_try)

    assert NOW + 6 * DAY < now <= NOW + 7 * DAY


def test_a_revived_action_begins_anew(a_queued_action: Make, folded: Callable[..., DispatchState]) -> None:
    failed = a_queued_action(attempts=9, failed=True, error="gone", next_try=AT, since=record.iso(NOW - 30 * DAY))

    state = folded(DispatchState(queue={"a-1": failed}), deliveries=(outbox.revived(failed),), at=AT)

    action = state.queue["a-1"]
    assert outbox.ready([action], NOW) == (action,)
    assert (refused(action).state, refused(action).attempts) == ("retrying", 1)


def test_a_receipt_ends_the_attempts_of_its_action_only() -> None:
    state = DeliveryState(attempts={"a-1": Attempt(1, AT), "a-2": Attempt(2, AT)})

    after = outbox.receipted(state, Receipt("a-1", AT))

    assert (dict(after.attempts), after.receipts) == ({"a-2": Attempt(2, AT)}, (Receipt("a-1", AT),))


def test_a_receipt_that_is_written_again_after_a_crash_stands_there_once() -> None:
    once = outbox.receipted(DeliveryState(), Receipt("a-1", AT))

    assert outbox.receipted(once, Receipt("a-1", AT)) == once


@given(ids=st.lists(st.integers(0, 1500).map(str), max_size=30))
def test_the_latest_receipts_are_remembered_oldest_first(ids: list[str]) -> None:
    state = DeliveryState(receipts=tuple(Receipt(f"old-{number}", AT) for number in range(RECEIPTS - 5)))
    for action_id in ids:
        state = outbox.receipted(state, Receipt(action_id, AT))

    remembered = [receipt.action_id for receipt in state.receipts]
    latest = list(dict.fromkeys(reversed(ids)))[::-1]
    assert len(remembered) <= RECEIPTS
    assert remembered[len(remembered) - len(latest) :] == latest
