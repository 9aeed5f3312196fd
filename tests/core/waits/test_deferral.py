from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from plan_states import a_deferral, admitted, an_open_event, folded

from prloom.backoff import SHORTEST, Backoff
from prloom.core.events import hook_results
from prloom.core.waits import deferral
from prloom.model.decision import Change, Deferral, OnExpire
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState, OpenEvent

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
POLICY = Backoff()
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def at(moment: datetime) -> Timestamp:
    return Timestamp.of(moment)


def deferred(event: OpenEvent, wait: Deferral) -> OpenEvent:
    first = event.first_deferred_at or wait.first_deferred_at
    return replace(event, state="deferred", deferral=wait, first_deferred_at=first)


def test_a_first_deferral_says_who_why_since_when_until_when_and_what_then() -> None:
    wait = deferral.defer(an_open_event(), "quiet", "too loud", now=NOW, policy=POLICY, retry_after=5 * MINUTE)

    assert wait == Deferral(
        owner="quiet",
        reason="too loud",
        attempts=1,
        first_deferred_at=at(NOW),
        deferred_until=at(NOW + 5 * MINUTE),
        deadline=at(NOW + 7 * DAY),
        on_expire="park",
    )


def test_a_deferral_without_a_time_waits_by_the_usual_backoff_and_not_all_come_due_at_once() -> None:
    asked = [("e1", "quiet"), ("e2", "quiet"), ("e1", "checks")]
    waits = [deferral.defer(an_open_event(event_id), by, "r", now=NOW, policy=POLICY) for event_id, by in asked]

    assert all(27 * SECOND <= wait.deferred_until - NOW <= 30 * SECOND for wait in waits)
    assert len({wait.deferred_until for wait in waits}) == len(asked)


def test_the_backoff_doubles_with_the_owners_deferrals_in_a_row() -> None:
    event = an_open_event()
    for full in (30, 60, 120):
        wait = deferral.defer(event, "quiet", "r", now=NOW, policy=POLICY)
        assert 0.9 * full <= (wait.deferred_until - NOW).total_seconds() <= full
        event = deferred(event, wait)


def test_another_owners_deferral_begins_its_own_count_but_not_its_own_deadline() -> None:
    event = deferred(an_open_event(), deferral.defer(an_open_event(), "quiet", "r", now=NOW, policy=POLICY))

    wait = deferral.defer(event, "checks", "r", now=NOW + HOUR, policy=POLICY)

    assert (wait.attempts, wait.first_deferred_at) == (1, at(NOW + HOUR))
    assert wait.deadline == at(NOW + 7 * DAY)


def test_an_owners_wait_counts_from_its_first_deferral_also_where_the_clock_was_set_back() -> None:
    first = deferral.defer(an_open_event(), "quiet", "r", now=NOW, policy=POLICY)
    event = deferred(an_open_event(), first)

    assert deferral.defer(event, "quiet", "r", now=NOW + HOUR, policy=POLICY).first_deferred_at == at(NOW)
    assert deferral.defer(event, "checks", "r", now=NOW - DAY, policy=POLICY).deadline == at(NOW + 6 * DAY)


def test_a_deferral_that_is_not_counted_leaves_the_attempts_as_they_are() -> None:
    event = an_open_event(deferral=a_deferral(attempts=4), first_deferred_at=at(NOW))

    assert deferral.defer(event, "quiet", "r", now=NOW, policy=POLICY, counted=False).attempts == 4


@pytest.mark.parametrize(
    ("until", "deadline"),
    [(HOUR, HOUR), (7 * DAY, 7 * DAY), (30 * DAY, 7 * DAY), (100_000 * DAY, 7 * DAY)],
)
def test_an_owner_may_shorten_the_wait_but_not_lengthen_it(until: timedelta, deadline: timedelta) -> None:
    wait = deferral.defer(an_open_event(), "quiet", "r", now=NOW, policy=POLICY, until=NOW + until)

    assert wait.deadline == at(NOW + deadline)


def test_a_bare_deferral_keeps_the_end_that_its_owner_set_before() -> None:
    first = deferral.defer(an_open_event(), "q", "r", now=NOW, policy=POLICY, until=NOW + HOUR, on_expire="pass")

    wait = deferral.defer(deferred(an_open_event(), first), "q", "r", now=NOW + MINUTE, policy=POLICY)

    assert (wait.deadline, wait.on_expire) == (at(NOW + HOUR), "pass")


@pytest.mark.parametrize(
    ("retry_after", "due"),
    [(timedelta(), SECOND), (-DAY, SECOND), (timedelta(milliseconds=1), SECOND), (MINUTE, MINUTE), (30 * DAY, 7 * DAY)],
)
def test_a_wait_is_never_shorter_than_a_second_and_ends_by_the_deadline(retry_after: timedelta, due: timedelta) -> None:
    wait = deferral.defer(an_open_event(), "quiet", "r", now=NOW, policy=POLICY, retry_after=retry_after)

    assert wait.deferred_until == at(NOW + due)


def waiting(event_id: str, due: datetime, **values: object) -> OpenEvent:
    wait = a_deferral(deferred_until=at(due), **values)
    return an_open_event(event_id, state="deferred", deferral=wait)


def test_due_events_come_back_longest_overdue_first_and_the_others_wait_on() -> None:
    events = [
        waiting("later", NOW + SECOND),
        waiting("now", NOW),
        waiting("long", NOW - HOUR),
    ]

    changes = deferral.due(events, NOW)

    assert [(change.event_id, change.verdict, change.state) for change in changes] == [
        ("long", "due", "pending"),
        ("now", "due", "pending"),
    ]


@pytest.mark.parametrize(("named_at", "over"), [(NOW + HOUR, True), (NOW + SECOND, False), (NOW, False), (None, False)])
def test_a_wait_that_was_named_at_a_time_to_come_is_over(named_at: datetime | None, *, over: bool) -> None:
    """The clock was set back, so that what is left of the wait is not known."""
    wait = a_deferral("trust", deferred_until=at(NOW + 2 * HOUR), deadline=at(NOW + DAY))
    named = at(named_at) if named_at else None
    waits, held = (an_open_event(state=state, deferral=wait, deferred_at=named) for state in ("deferred", "held"))

    assert [change.verdict for change in deferral.due([waits], NOW)] == ["due"] * over
    assert deferral.lookup_due(held, NOW) is over


def test_whether_the_clock_was_set_back_is_judged_by_the_clock_and_not_by_the_time_that_waits_are_judged_by() -> None:
    wait = a_deferral("trust", deferred_until=at(NOW + 3 * HOUR), deadline=at(NOW + DAY))
    waits, held = (an_open_event(state=s, deferral=wait, deferred_at=at(NOW + HOUR)) for s in ("deferred", "held"))

    assert deferral.due([waits], NOW, clock=NOW + 2 * HOUR) == ()
    assert not deferral.lookup_due(held, NOW, clock=NOW + 2 * HOUR)


@pytest.mark.parametrize("state", ["pending", "held", "parked"])
def test_only_deferred_events_come_due(state: str) -> None:
    event = an_open_event(state=state, deferral=a_deferral(deferred_until=at(NOW - HOUR)))

    assert deferral.due([event], NOW) == ()
    assert deferral.next_due([event]) is None


@pytest.mark.parametrize(
    ("on_expire", "state", "plugin"),
    [("park", "parked", None), ("pass", "pending", "quiet"), ("drop", "dropped", None)],
)
def test_a_wait_ends_at_its_deadline_as_its_owner_said(on_expire: OnExpire, state: str, plugin: str | None) -> None:
    event = waiting("e1", NOW - SECOND, deadline=at(NOW), on_expire=on_expire, reason="too loud")

    (change,) = deferral.due([event], NOW)

    assert (change.event_id, change.verdict, change.state, change.plugin) == ("e1", "expired", state, plugin)
    assert change.reason == f"quiet waited until the deadline, {at(NOW)}: too loud"


def test_the_next_due_time_is_that_of_the_earliest_wait() -> None:
    events = [
        waiting("a", NOW + HOUR),
        waiting("b", NOW + MINUTE),
        an_open_event("c"),
    ]

    assert deferral.next_due(events) == NOW + MINUTE
    assert deferral.next_due([]) is None


def test_a_deadline_before_the_next_try_is_what_the_next_due_time_tells() -> None:
    event = waiting("a", NOW + HOUR, deadline=at(NOW + MINUTE))

    assert deferral.next_due([event]) == NOW + MINUTE
    assert deferral.due([event], NOW + MINUTE) != ()


@pytest.mark.parametrize(("ago", "due"), [(-SECOND, False), (timedelta(), True), (HOUR, True), (8 * DAY, False)])
def test_an_author_is_looked_up_when_it_is_time_until_the_deadline(ago: timedelta, *, due: bool) -> None:
    wait = a_deferral("trust", deferred_until=at(NOW), deadline=at(NOW + 7 * DAY))

    assert deferral.lookup_due(an_open_event(state="held", deferral=wait), NOW + ago) is due


def test_nobody_is_looked_up_for_an_event_that_is_not_held_or_whose_look_up_is_over() -> None:
    assert not deferral.lookup_due(an_open_event(state="held"), NOW)
    assert not deferral.lookup_due(an_open_event(state="deferred", deferral=a_deferral(deferred_until=at(NOW))), NOW)


# ---- however owners take turns, the wait ends

OWNERS = ("quiet", "checks", "labels")
RETRIES = st.none() | st.timedeltas(min_value=timedelta(), max_value=30 * DAY)
UNTILS = st.none() | st.timedeltas(min_value=SECOND, max_value=30 * DAY)
ON_EXPIRE = st.sampled_from([None, "park", "pass", "drop"])
WISHES = st.lists(st.tuples(st.sampled_from(OWNERS), RETRIES, UNTILS, ON_EXPIRE), min_size=1, max_size=60)


@settings(max_examples=80, deadline=None)
@given(wishes=WISHES)
def test_any_sequence_of_owners_deferrals_ends_by_the_policys_deadline_from_the_first_one(
    wishes: list[tuple[str, timedelta | None, timedelta | None, OnExpire | None]],
) -> None:
    state, now = folded(DispatchState(), admitted()), NOW
    for owner, retry_after, until, on_expire in wishes:
        event = state.open["e1"]
        if owner in event.passed:
            continue
        wait = deferral.defer(
            event,
            owner,
            "r",
            now=now,
            policy=POLICY,
            retry_after=retry_after,
            until=None if until is None else now + until,
            on_expire=on_expire,
        )
        change = Change(event_id="e1", verdict="deferred", state="deferred", deferral=wait)
        state = folded(state, change, by=owner, at=at(now))
        now = deferral.next_due(state.open.values()) or now
        assert now <= NOW + POLICY.deadline + len(OWNERS) * SHORTEST
        state = folded(state, *deferral.due(state.open.values(), now), at=at(now))
        if "e1" not in state.open or state.open["e1"].state == "parked":
            return


def test_owners_who_let_pass_and_defer_again_in_turns_cannot_keep_an_event_for_ever() -> None:
    state, now = folded(DispatchState(), admitted()), NOW
    rounds = 0
    while (owner := next((name for name in OWNERS if name not in state.open["e1"].passed), None)) is not None:
        rounds += 1
        assert rounds < 10
        wait = deferral.defer(
            state.open["e1"], owner, "r", now=now, policy=POLICY, retry_after=30 * DAY, on_expire="pass"
        )
        state = folded(state, Change(event_id="e1", verdict="deferred", state="deferred", deferral=wait), by=owner)
        now = wait.deferred_until
        state = folded(state, *deferral.due(state.open.values(), now))

    assert state.open["e1"].passed == OWNERS


def test_a_hook_that_fails_for_ever_is_parked_at_the_deadline() -> None:
    state, now = folded(DispatchState(), admitted()), NOW
    while state.open["e1"].state != "parked":
        change = hook_results.defer_failure(state.open["e1"], "boom", owner="quiet", now=now, policy=POLICY)
        state = folded(state, change, at=at(now))
        now = deferral.next_due(state.open.values()) or now
        state = folded(state, *deferral.due(state.open.values(), now), at=at(now))

    assert NOW + POLICY.deadline <= now <= NOW + POLICY.deadline + SHORTEST
