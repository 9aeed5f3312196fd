from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_states import a_queued_action, folded

from prloom.backoff import Backoff
from prloom.core.delivery import outbox
from prloom.core.delivery.outbox import RECEIPTS
from prloom.model.action import Comment, InlineComment, Merge, Payload, Review
from prloom.model.decision import DeliveryChange
from prloom.model.event import Event
from prloom.model.record import Position, Timestamp
from prloom.model.state import Attempt, DeliveryState, DispatchState, QueuedAction, Receipt

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT = Timestamp.of(NOW)
POLICY = Backoff()
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


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
        ({"next_try": Timestamp.of(NOW - HOUR)}, True),
        ({"next_try": Timestamp.of(NOW + SECOND)}, False),
        ({"failed": True}, False),
        ({"failed": True, "next_try": AT}, False),
    ],
)
def test_an_action_may_be_tried_when_its_time_has_come_and_it_has_not_failed(
    values: dict[str, object], *, ready: bool
) -> None:
    assert bool(outbox.ready([a_queued_action(**values)], NOW)) is ready


@pytest.mark.parametrize(
    ("tried_at", "clock", "ready"),
    [
        (NOW + HOUR, None, True),  # the clock was set back after the attempt
        (NOW + SECOND, None, False),
        (NOW, None, False),
        (None, None, False),
        (NOW + HOUR, NOW + 2 * HOUR, False),
    ],
)
def test_an_action_that_was_tried_at_a_time_to_come_waits_no_longer(
    tried_at: datetime | None, clock: datetime | None, *, ready: bool
) -> None:
    tried = Timestamp.of(tried_at) if tried_at else None
    action = a_queued_action(attempts=1, next_try=Timestamp.of(NOW + 2 * HOUR), tried_at=tried)

    assert bool(outbox.ready([action], NOW, clock=clock)) is ready


def test_ready_actions_go_in_the_order_in_which_they_were_queued_and_wait_for_nobody() -> None:
    queue = [
        a_queued_action("first", next_try=Timestamp.of(NOW + HOUR)),
        a_queued_action("second"),
        a_queued_action("failed", failed=True),
        a_queued_action("third", next_try=AT),
    ]

    assert [action.id for action in outbox.ready(queue, NOW)] == ["second", "third"]


def test_the_next_due_time_is_that_of_the_first_action_that_waits() -> None:
    queue = [
        a_queued_action("a"),
        a_queued_action("b", next_try=Timestamp.of(NOW + DAY)),
        a_queued_action("c", next_try=Timestamp.of(NOW + HOUR)),
        a_queued_action("d", next_try=Timestamp.of(NOW + SECOND), failed=True),
    ]

    assert outbox.next_due(queue) == NOW + HOUR
    assert outbox.next_due(queue[:1]) is None


def test_a_delivered_action_keeps_what_its_receipt_says() -> None:
    receipt = Receipt("a-1", AT, url="https://x/1", remote_id="c1")

    assert outbox.delivered(a_queued_action(attempts=2), receipt) == DeliveryChange(
        action_id="a-1", state="delivered", attempts=3, url="https://x/1", remote_id="c1"
    )


def test_a_permanent_refusal_is_a_visible_failure_at_once() -> None:
    assert refused(a_queued_action(), retryable=False) == DeliveryChange(
        action_id="a-1", state="failed", attempts=1, error="502"
    )


@pytest.mark.parametrize(("attempts", "full"), [(0, 30), (1, 60), (2, 120), (20, 3600)])
def test_each_refusal_waits_longer(attempts: int, full: int) -> None:
    delivery = refused(a_queued_action(attempts=attempts))

    assert (delivery.state, delivery.attempts) == ("retrying", attempts + 1)
    assert delivery.next_try is not None
    assert 0.9 * full <= (delivery.next_try - NOW).total_seconds() <= full


@pytest.mark.parametrize(
    ("retry_after", "waits"), [(2 * HOUR, 2 * HOUR), (SECOND, None), (timedelta(), None), (-DAY, None)]
)
def test_a_target_that_says_how_long_is_waited_for_as_long_but_never_less_than_the_backoff(
    retry_after: timedelta, waits: timedelta | None
) -> None:
    delivery = refused(a_queued_action(), retry_after=retry_after)

    assert delivery.next_try is not None
    pause = delivery.next_try - NOW
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
    values: dict[str, int], retry_after: timedelta | None, now: datetime, policy: Backoff
) -> None:
    delivery = refused(a_queued_action(**values), retry_after=retry_after, now=now, policy=policy)

    assert delivery.state == "failed"
    assert delivery.error == f"given up after {delivery.attempts} attempts: 502"


def test_an_action_that_is_refused_for_ever_ends_by_its_deadline() -> None:
    action, now = a_queued_action(), NOW
    while (delivery := refused(action, now=now)).state == "retrying":
        assert delivery.next_try is not None
        action = a_queued_action(attempts=delivery.attempts)
        now = delivery.next_try

    assert NOW + 6 * DAY < now <= NOW + 7 * DAY


def test_a_revived_action_begins_anew() -> None:
    failed = a_queued_action(attempts=9, failed=True, error="gone", next_try=AT, since=Timestamp.of(NOW - 30 * DAY))

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


TEXTS = st.text(alphabet=st.characters(exclude_characters="\0"))


def test_an_id_is_derived_and_stays_the_same_for_ever() -> None:
    # A literal: posts that stand on pull requests carry these ids, so the derivation must never change.
    assert outbox.action_id("gh-1", "memory", 0) == "a-449e3cc7fb605d3dcb9c"


def test_an_id_is_derived_from_any_text_also_one_that_is_no_valid_unicode() -> None:
    assert outbox.action_id("\ud800", "memory", 0) == "a-5a3ed855a3ecac4cd799"
    assert outbox.action_id("\ud800", "memory", 0) != outbox.action_id("\ud801", "memory", 0)


@pytest.mark.parametrize("before", ["", "\ufeff", " \t", "\r\n", "\ufeff \r\n\t\n"])
def test_white_space_and_a_byte_order_mark_may_stand_before_the_mark_and_nothing_else(before: str) -> None:
    ours = outbox.action_id("e1", "x", 0)

    assert outbox.leading_marker(f"{before}{outbox.marker(ours)}") == ours
    assert outbox.leading_marker(f"{before}X{outbox.marker(ours)}") is None


@given(first=st.tuples(TEXTS, TEXTS, st.integers(0, 99)), second=st.tuples(TEXTS, TEXTS, st.integers(0, 99)))
def test_other_events_owners_and_ordinals_have_other_ids(
    first: tuple[str, str, int], second: tuple[str, str, int]
) -> None:
    assert (outbox.action_id(*first) == outbox.action_id(*second)) is (first == second)


@given(event_id=st.text(), before=st.text(), after=st.text())
def test_a_mark_is_found_in_any_text_that_carries_it(event_id: str, before: str, after: str) -> None:
    ours = outbox.action_id(event_id, "triage", 0)

    assert ours in outbox.marked(before + outbox.marker(ours) + after)


def test_all_marks_of_a_text_are_found_in_their_order() -> None:
    first, second = outbox.action_id("a", "x", 0), outbox.action_id("b", "x", 0)

    assert outbox.marked(f"{outbox.marker(second)}\n{outbox.marker(first)}") == (second, first)


@given(event_id=st.text(), after=st.text())
def test_the_mark_that_a_text_begins_with_is_told(event_id: str, after: str) -> None:
    ours = outbox.action_id(event_id, "triage", 0)

    assert outbox.leading_marker(f"\r\n {outbox.marker(ours)}{after}") == ours
    assert outbox.leading_marker(f"> {outbox.marker(ours)}{after}") is None


@given(text=st.text())
def test_a_text_without_a_mark_has_none(text: str) -> None:
    assert outbox.marked(text) == ()


def test_a_mark_is_invisible_in_markdown() -> None:
    assert re.fullmatch(r"<!-- [^>-]+-[^>-]+ -->", outbox.marker(outbox.action_id("e1", "x", 0)))


A, B, C = "a" * 40, "b" * 40, "c" * 64
MERGE, REVIEW, INLINE = Merge("squash"), Review("approve"), InlineComment("a.py", 3, "Here.")


def an_event(kind: str = "pr_comment", **context: Any) -> Event:
    return Event(id="e1", source="github", type=kind, context=context)


@pytest.mark.parametrize(
    ("payload", "event", "head", "commit"),
    [
        (MERGE, an_event("pr_review", commit=A, head=B), C, A),
        (MERGE, an_event(head=A), B, A),
        (MERGE, an_event("pr_review_comment", commit=A, head=B), C, B),
        (MERGE, an_event(), B, B),
        (MERGE, None, B, B),
        (MERGE, None, None, None),
        (Merge(commit=C), an_event(head=A), B, C),
        (REVIEW, an_event(head=A), B, B),
        (REVIEW, an_event("pr_review", commit=A), None, A),
        (Review("approve", commit=C), an_event(head=A), B, C),
        (INLINE, an_event(head=A), B, B),
        (INLINE, an_event(head=A), None, A),
    ],
)
def test_an_action_is_about_the_commit_that_it_was_decided_on(
    payload: Payload, event: Event | None, head: str | None, commit: str | None
) -> None:
    pinned = outbox.pin_commit(payload, event, head)

    assert (type(pinned), getattr(pinned, "commit", "")) == (type(payload), commit)


def test_an_action_that_is_about_no_commit_stays_as_it_is() -> None:
    assert outbox.pin_commit(Comment("hello"), an_event(head=A), B) == Comment("hello")


@pytest.mark.parametrize("value", ["main", "a" * 39, "A" * 40, "a" * 41, "", 7, None, ["a" * 40], "a" * 40 + "\n"])
def test_what_is_not_the_full_name_of_a_commit_is_none(value: Any) -> None:
    assert outbox.pin_commit(MERGE, an_event(head=value), value) == MERGE


def test_later_attempts_are_about_the_commit_of_the_first_where_the_action_names_none() -> None:
    assert outbox.keep_commit(MERGE, A) == Merge("squash", A)
    assert outbox.keep_commit(Merge("squash", B), A) == Merge("squash", B)
    assert outbox.keep_commit(MERGE, None) == MERGE


@pytest.mark.parametrize(
    ("values", "retryable", "state", "error"),
    [
        ({}, True, "retrying", "502"),
        ({}, False, "failed", "502"),
        ({"courtesy": True}, False, "dropped", "502"),
        ({"attempts": 4}, True, "failed", "given up after 5 attempts: 502"),
    ],
)
def test_a_refusal_says_of_which_action_it_is_why_and_for_which_commit(
    values: dict[str, object], state: str, error: str, *, retryable: bool
) -> None:
    change = outbox.refused(
        a_queued_action("reply", **values),
        "502",
        retryable=retryable,
        retry_after=None,
        now=NOW,
        policy=Backoff(max_attempts=5),
        commit="c0ffee",
    )

    assert (change.action_id, change.state, change.error, change.commit) == ("reply", state, error, "c0ffee")


def test_each_text_of_an_action_has_a_version_of_its_own() -> None:
    versions = {outbox.version(a_queued_action(position=Position(*at))) for at in ((1, 11), (11, 1), (1, 12), (2, 11))}

    assert len(versions) == 4


def test_what_is_added_to_a_post_names_it_as_the_forge_does_and_is_a_post_of_its_own_where_there_is_none() -> None:
    state = outbox.receipted(DeliveryState(), Receipt("a-1", Timestamp.of(NOW), None, "c-9"))
    added = Comment("> **ann**: Why?\n\nDone.", appends_to="a-1")

    assert outbox.placed(added, state) == Comment("Done.", appends_to="c-9")
    assert outbox.placed(added, DeliveryState()) == Comment(added.message)
    assert outbox.placed(Comment("> **ann**: Why?\n\nDone."), state) == Comment(added.message)
