from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plan_states import a_deferral, admitted, an_action, an_open_event, folded

from prloom.backoff import Backoff
from prloom.core.delivery import outbox
from prloom.core.events import hook_results
from prloom.core.events.hook_results import HookResult
from prloom.model import record
from prloom.model.action import Merge, Review
from prloom.model.decision import Change, Deferral, WakeOn
from prloom.model.event import Event, Target
from prloom.model.hook import HookCall, Limits, Mark, Outcome, Writes
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.tool import ToolCall

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT = Timestamp.of(NOW)
POLICY = Backoff()
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
PULL_REQUEST = Target("github", {"pr": 7})
ENDED = WakeOn(todo="ended")


def a_call(events: Sequence[Event], hook: str = "beforeTriage", at: datetime = NOW) -> HookCall:
    now = record.iso(at)
    return HookCall(hook=hook, plan_id="pr-7", repo_root="/r", worktree="/w", now=now, events=tuple(events))


def settled(
    opened: Sequence[OpenEvent],
    outcome: Outcome,
    *,
    shown: Sequence[str] = ("e1",),
    hook: str = "beforeTriage",
    policy: Backoff = POLICY,
    plugin: str = "quiet",
    called_at: datetime = NOW,
    call: HookCall | None = None,
) -> HookResult:
    events = [Event(id=event_id, source="github", type="pr_comment") for event_id in shown]
    return hook_results.settle(
        call or a_call(events, hook, called_at),
        outcome,
        {event.id: event for event in opened},
        plugin=plugin,
        now=NOW,
        policy=policy,
        plan_target=PULL_REQUEST,
    )


def failure(
    opened: Sequence[OpenEvent],
    *,
    hook: str = "beforeTriage",
    on_error: str = "defer",
    policy: Backoff = POLICY,
    retry_after: timedelta | None = None,
) -> tuple[Change, ...]:
    return hook_results.settle_failure(
        [event.id for event in opened] + ["gone"],
        {event.id: event for event in opened},
        "boom",
        hook=hook,
        plugin="quiet",
        now=NOW,
        policy=policy,
        on_error=on_error,  # type: ignore[arg-type]
        retry_after=retry_after,
    )


# ---- what a hook said


@pytest.mark.parametrize(
    ("hook", "mark", "becomes"),
    [
        ("beforeTriage", None, ("passed", "pending", "quiet", None)),
        ("beforeTriage", Mark("e1", "handled", "a bot"), ("handled", "handled", None, "a bot")),
        ("beforeTriage", Mark("e1", "deferred", wake_on=ENDED), ("deferred", "deferred", None, "no reason was given")),
        ("command:/note", None, ("handled", "handled", None, "/note")),
        ("command:/note", Mark("e1", "handled"), ("handled", "handled", None, None)),
        ("command:/note", Mark("e1", "deferred", "busy"), ("deferred", "deferred", None, "busy")),
        ("onEvent", None, ("seen", "pending", "quiet", None)),
        ("onEvent", Mark("e1", "handled"), ("seen", "pending", "quiet", None)),
        ("onGlobalEvent", None, ("seen", "pending", "quiet", None)),
    ],
)
def test_a_mark_becomes_what_becomes_of_its_event(
    hook: str, mark: Mark | None, becomes: tuple[str, str, str | None, str | None]
) -> None:
    result = settled([an_open_event()], Outcome(marks=(mark,) if mark else ()), hook=hook)

    (change,) = result.changes
    assert change.deferral is None or change.deferral.reason == change.reason
    assert (change.event_id, change.verdict, change.state, change.plugin, change.reason) == ("e1", *becomes)


def test_a_deferral_takes_over_all_that_its_mark_says_but_a_todo_that_has_ended() -> None:
    wake_on = WakeOn(todo="ended", types=("a",))
    mark = Mark("e1", "deferred", "too loud", 60_000, record.iso(NOW + HOUR), "pass", wake_on)

    (change,) = settled([an_open_event()], Outcome(marks=(mark,))).changes

    assert change.reason == "too loud"
    assert change.deferral == Deferral(
        owner="quiet",
        reason="too loud",
        attempts=1,
        first_deferred_at=AT,
        deferred_until=Timestamp.of(NOW + 60 * SECOND),
        deadline=Timestamp.of(NOW + HOUR),
        on_expire="pass",
        wake_on=WakeOn(types=("a",)),
    )


def test_the_first_mark_of_an_event_wins() -> None:
    marks = (Mark("e1", "deferred", "wait"), Mark("e1", "handled"))

    (change,) = settled([an_open_event()], Outcome(marks=marks)).changes

    assert change.state == "deferred"


def test_a_mark_for_an_event_that_was_not_shown_is_void() -> None:
    result = settled([an_open_event("e1"), an_open_event("e2")], Outcome(marks=(Mark("e2", "handled"),)))

    assert [(change.event_id, change.verdict) for change in result.changes] == [("e1", "passed")]


@pytest.mark.parametrize("ends", [[], ["deferred"], ["held"], ["parked"]])
def test_an_event_that_left_while_the_hook_ran_keeps_its_end_and_its_neighbour_its_mark(ends: list[str]) -> None:
    opened = [an_open_event("e2"), *(an_open_event("e1", state=state) for state in ends)]
    outcome = Outcome(
        marks=(Mark("e1", "handled"), Mark("e2", "handled")),
        actions=(an_action(related_event_id="e1"), an_action(related_event_id="e2")),
    )

    result = settled(opened, outcome, shown=("e1", "e2"))

    assert [change.event_id for change in result.changes] == ["e2"]
    assert [action.related_event_id for action in result.actions] == ["e2"]


@pytest.mark.parametrize(
    ("retry_after_ms", "until"),
    [(10**15, None), (10**30, None), (-(10**30), None), (None, "tomorrow"), (None, "9999-12-31T23:59:59-12:00")],
)
def test_a_wait_that_makes_no_sense_is_bounded_by_the_policy(retry_after_ms: int | None, until: str | None) -> None:
    mark = Mark("e1", "deferred", "r", retry_after_ms, until)

    (change,) = settled([an_open_event()], Outcome(marks=(mark,))).changes

    assert change.deferral is not None
    assert change.deferral.deadline == (NOW + 7 * DAY)
    assert AT < change.deferral.deferred_until <= change.deferral.deadline


def test_a_wait_is_no_longer_than_the_calls_limit() -> None:
    call = record.from_wire(
        HookCall,
        {
            **record.to_wire(a_call([Event(id="e1", source="s", type="t")])),
            "limits": record.to_wire(Limits(longest_deferral_ms=5000)),
        },
    )
    outcome = Outcome(marks=(Mark("e1", "deferred", "r", 60_000),))

    (change,) = hook_results.settle(
        call, outcome, {"e1": an_open_event()}, plugin="q", now=NOW, policy=POLICY, plan_target=PULL_REQUEST
    ).changes

    assert change.deferral is not None
    assert change.deferral.deferred_until == (NOW + 5 * SECOND)


@pytest.mark.parametrize(("took", "left"), [(timedelta(), 60), (20 * SECOND, 40), (90 * SECOND, 1), (-20 * SECOND, 60)])
def test_a_wait_begins_when_the_hook_was_called_however_long_it_ran_and_is_a_second_at_least(
    took: timedelta, left: int
) -> None:
    outcome = Outcome(marks=(Mark("e1", "deferred", "r", 60_000),))

    (change,) = settled([an_open_event()], outcome, called_at=NOW - took).changes

    assert change.deferral is not None
    assert change.deferral.deferred_until == (NOW + left * SECOND)


@pytest.mark.parametrize(
    ("attempts", "woken_by", "state"),
    [(1, None, "deferred"), (2, None, "deferred"), (3, None, "parked"), (4, None, "parked"), (3, "e0", "deferred")],
)
def test_an_owner_may_defer_as_often_as_the_policy_says_and_then_a_person_is_asked(
    attempts: int, woken_by: str | None, state: str
) -> None:
    event = an_open_event(deferral=a_deferral("quiet", attempts=attempts), first_deferred_at=AT, woken_by=woken_by)

    outcome = Outcome(marks=(Mark("e1", "deferred", "loud"),))
    (change,) = settled([event], outcome, policy=Backoff(max_attempts=3)).changes

    assert change.state == state
    if state == "parked":
        assert change == hook_results.park("e1", "quiet deferred it 3 times: loud")


# ---- actions and their ids


def test_an_actions_id_is_derived_from_event_plugin_and_ordinal_which_counts_by_event() -> None:
    outcome = Outcome(actions=tuple(an_action("forged", related_event_id=event_id) for event_id in ("e1", "e2", "e1")))

    result = settled([an_open_event("e1"), an_open_event("e2", actions=5)], outcome, shown=("e1", "e2"))

    assert [action.id for action in result.actions] == [
        outbox.action_id("e1", "quiet", 0),
        outbox.action_id("e2", "quiet", 5),
        outbox.action_id("e1", "quiet", 1),
    ]


@given(showings=st.lists(st.tuples(st.sampled_from(["quiet", "memory"]), st.integers(0, 3)), max_size=12))
def test_no_two_actions_of_an_event_share_an_id_over_any_number_of_showings(showings: list[tuple[str, int]]) -> None:
    state = folded(DispatchState(), admitted())
    for plugin, count in showings:
        outcome = Outcome(actions=(an_action(related_event_id="e1"),) * count)
        result = settled([state.open["e1"]], outcome, plugin=plugin)
        state = folded(state, *result.changes, by=plugin, actions=result.actions)

    assert len(state.queue) == sum(count for _, count in showings)


def test_a_run_that_is_settled_again_after_a_crash_makes_the_same_ids() -> None:
    outcome = Outcome(actions=(an_action(related_event_id="e1"), an_action()))

    assert settled([an_open_event()], outcome) == settled([an_open_event()], outcome)


def test_an_action_that_answers_nothing_shown_is_not_lost() -> None:
    outcome = Outcome(actions=(an_action(), an_action(), an_action(related_event_id="of last week")))

    result = settled([an_open_event()], outcome)

    assert len({action.id for action in result.actions}) == 3
    assert [action.related_event_id for action in result.actions] == [None, None, "of last week"]


def test_actions_about_an_event_that_was_not_shown_have_other_ids_on_every_call() -> None:
    outcome = Outcome(actions=(an_action(related_event_id="of last week"),))

    first = settled([an_open_event()], outcome)
    second = settled([an_open_event()], outcome, called_at=NOW - HOUR)

    assert first.actions[0].id != second.actions[0].id


def test_hooks_that_run_side_by_side_at_one_time_do_not_share_the_ids_of_unrelated_actions() -> None:
    opened = [an_open_event("e1"), an_open_event("e2")]

    first = settled(opened, Outcome(actions=(an_action(),)), shown=("e1",))
    second = settled(opened, Outcome(actions=(an_action(),)), shown=("e2",))

    assert first.actions[0].id != second.actions[0].id
    calls = [replace(a_call((), "onToolCall"), tool=ToolCall(id=each, name="say")) for each in "ab"]
    of_tools = [settled([], Outcome(actions=(an_action(),)), call=call).actions[0].id for call in calls]
    assert of_tools[0] != of_tools[1]


def test_a_merge_is_of_the_commit_that_its_event_was_about_and_a_review_of_the_head_at_the_call() -> None:
    old, new, head = ("1" * 40, "2" * 40, "3" * 40)
    events = [Event(id=e, source="s", type="pr_comment", context={"head": c}) for e, c in (("e1", old), ("e2", new))]
    asked = [("e1", Merge()), (None, Merge()), ("of last week", Merge()), ("e1", Review("approve"))]
    outcome = Outcome(actions=tuple(an_action(payload=payload, related_event_id=cause) for cause, payload in asked))

    result = settled([an_open_event("e1"), an_open_event("e2")], outcome, call=replace(a_call(events), head=head))

    merges = [Merge(commit=commit) for commit in (old, new, new)]
    assert [action.payload for action in result.actions] == [*merges, Review("approve", commit=head)]


def test_an_answer_to_the_plan_goes_to_the_plans_own_conversation() -> None:
    outcome = Outcome(
        actions=(
            an_action(target=Target(outbox.PLAN_TARGET), related_event_id="e1"),
            an_action(target=Target("slack", "C1"), related_event_id="e1"),
        )
    )

    result = settled([an_open_event()], outcome)

    assert [action.target for action in result.actions] == [PULL_REQUEST, Target("slack", "C1")]


def test_a_hook_without_events_may_act() -> None:
    result = settled([], Outcome(actions=(an_action(),)), shown=(), hook="afterTodo")

    assert result.changes == ()
    assert len(result.actions) == 1


# ---- failures


def test_a_hook_that_fails_puts_its_events_off_and_says_why() -> None:
    changes = failure([an_open_event("e1"), an_open_event("e2")])

    assert [(c.event_id, c.verdict, c.state, c.reason) for c in changes] == [
        ("e1", "deferred", "deferred", "boom"),
        ("e2", "deferred", "deferred", "boom"),
    ]
    assert all(c.deferral is not None and c.deferral.owner == "quiet" for c in changes)


@pytest.mark.parametrize("state", ["deferred", "held", "parked"])
def test_a_failure_leaves_alone_what_is_no_longer_pending(state: str) -> None:
    assert failure([an_open_event(state=state)]) == ()


@pytest.mark.parametrize(
    ("hook", "on_error", "verdict"),
    [
        ("beforeTriage", "pass", "passed"),
        ("command:/note", "pass", "passed"),
        ("onEvent", "pass", "seen"),
        ("onEvent", "defer", "seen"),
        ("onGlobalEvent", "defer", "seen"),
    ],
)
def test_a_failed_observer_and_a_plugin_that_is_to_pass_delay_nobody(hook: str, on_error: str, verdict: str) -> None:
    (change,) = failure([an_open_event()], hook=hook, on_error=on_error)

    assert change == Change(event_id="e1", verdict=verdict, state="pending", reason="boom", plugin="quiet")  # type: ignore[arg-type]


def test_a_plugin_that_is_switched_off_is_waited_for_as_long_as_that_takes() -> None:
    (change,) = failure([an_open_event()], retry_after=HOUR)

    assert change.deferral is not None
    assert change.deferral.deferred_until == (NOW + HOUR)


def test_waiting_for_a_plugin_that_is_switched_off_is_no_attempt() -> None:
    event = an_open_event(deferral=a_deferral("quiet", attempts=3), first_deferred_at=AT)

    (change,) = failure([event], retry_after=HOUR, policy=Backoff(max_attempts=3))

    assert change.deferral is not None
    assert (change.state, change.deferral.attempts) == ("deferred", 3)


@pytest.mark.parametrize(("attempts", "state"), [(1, "deferred"), (2, "parked"), (3, "parked")])
def test_after_the_last_attempt_a_failed_hooks_event_is_parked(attempts: int, state: str) -> None:
    event = an_open_event(deferral=a_deferral("quiet", attempts=attempts), first_deferred_at=AT)

    (change,) = failure([event], policy=Backoff(max_attempts=3))

    if state == "parked":
        reason = f"quiet failed on it {attempts + 1} times; the last error: boom"
        assert change == Change(event_id="e1", verdict="parked", state="parked", reason=reason)
    else:
        assert change.deferral is not None
        assert (change.event_id, change.state, change.deferral.reason) == ("e1", state, "boom")


@pytest.mark.parametrize("on_expire", ["pass", "drop"])
def test_a_failure_never_ends_as_the_plugins_own_deferral_would_have(on_expire: str) -> None:
    deliberate = a_deferral("quiet", deadline=Timestamp.of(NOW + HOUR), on_expire=on_expire)
    event = an_open_event(deferral=deliberate, first_deferred_at=AT)

    (change,) = failure([event])

    assert change.deferral is not None
    assert (change.deferral.on_expire, change.deferral.deadline) == ("park", Timestamp.of(NOW + 7 * DAY))


# ---- lost updates


@pytest.mark.parametrize(
    ("write", "now", "lost"),
    [
        (Writes(scope="plan", read=("n",), values={"n": 2}), {"n": 1}, False),
        (Writes(scope="plan", read=("n",), values={"n": 2}), {"n": 5}, True),
        (Writes(scope="plan", read=("n",), values={"n": 2}), {}, True),
        (Writes(scope="plan", read=("m",), values={"n": 2}), {"n": 5}, False),
        (Writes(scope="plan", read=("m",), values={"n": 2}), {"n": 1, "m": 0}, True),
        (Writes(scope="plan", read=(), values={"n": 2}), {"n": 5}, False),
        (Writes(scope="plan", read=("n",), deleted=("n",)), {"n": 5}, True),
        (Writes(scope="plan", read=("n",)), {"n": 5}, False),
        (Writes(scope="global", read=("n",), values={"n": 2}), {"n": 5}, False),
    ],
)
def test_a_write_that_rests_on_what_has_changed_meanwhile_would_lose_an_update(
    write: Writes, now: dict[str, object], *, lost: bool
) -> None:
    call = HookCall(
        hook="h", plan_id="p", repo_root="/r", worktree="/w", now=str(AT), state={"n": 1}, global_state={"n": 5}
    )

    assert hook_results.has_conflict([write], call, {"plan": now, "global": {"n": 5}}) is lost
