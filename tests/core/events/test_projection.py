from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from plan_states import a_deferral, a_queued_action, admitted, an_action, an_open_event, folded

from prloom.core.delivery import reply_limit
from prloom.core.events import projection
from prloom.model import record
from prloom.model.action import Action, Comment
from prloom.model.decision import Change, Decision, Deferral, DeliveryChange, Thread, Todo
from prloom.model.event import Target
from prloom.model.kinds import DONE, OPEN, State
from prloom.model.record import Cursor, Position, Timestamp
from prloom.model.state import DispatchState, OpenEvent, RepliesToday
from prloom.model.work import BoxState, WorkStep, WorkVerdict

T0, T1, T2 = (Timestamp(2026, 11, 21, 12, 0, second, tzinfo=UTC) for second in range(3))
EMPTY = DispatchState()
ONE = folded(EMPTY, admitted(), at=T0)
"""A state with one pending event, e1."""


def moved(state: DispatchState, verdict: str, to: State = "pending", **values: Any) -> OpenEvent:
    by = values.pop("by", "quiet")
    run = values.pop("run", None)
    after = folded(state, Change(event_id="e1", verdict=verdict, state=to, **values), by=by, at=T1, run=run)
    return after.open["e1"]


# ---- events


def test_an_admitted_event_is_pending_with_what_its_intake_says() -> None:
    change = admitted("e1", 42)
    assert change.intake is not None
    change = replace(change, intake=replace(change.intake, author="ann", created_at=str(T0), written_at=str(T1)))

    event = folded(EMPTY, change, at=T2).open["e1"]

    assert (event.state, event.position, event.since, event.digest) == ("pending", Position(1, 42), T2, "d")
    assert (event.author, event.created_at, event.written_at) == ("ann", str(T0), str(T1))
    assert event.intake == change.intake


@pytest.mark.parametrize(
    ("verdict", "state", "about", "values"),
    [
        ("held", "held", {}, {"acknowledgement": an_action("a-1")}),
        ("held", "held", {"deferral": a_deferral("trust")}, {"acknowledgement": an_action("a-1"), "deferred_at": T2}),
        ("vouched", "pending", {}, {"vouched": True}),
        ("admitted", "pending", {}, {}),
    ],
)
def test_an_event_that_comes_in_has_all_that_is_decided_of_it(
    verdict: str, state: State, about: dict[str, Any], values: dict[str, Any]
) -> None:
    change = admitted("e1", 42, verdict=verdict, state=state, reason="as it is", **about)
    assert change.intake is not None
    for notice, acknowledged in ((True, an_action("a-1")), (False, None)):
        intake = replace(change.intake, acknowledgement=acknowledged, notice=notice)
        shown = {**about, **values, **({} if acknowledged else {"acknowledgement": None})}

        event = folded(EMPTY, replace(change, intake=intake), by="trust", at=T2).open["e1"]

        assert event == an_open_event(
            state=state, position=Position(1, 42), since=T2, reason="as it is", by="trust", notice=notice, **shown
        )
        assert event.intake == replace(intake, acknowledgement=event.acknowledgement)


KEPT = Action(id="a-1", target=Target("github"), payload=Comment("Noted."))
WAITED = Deferral(owner="p", reason="w", attempts=1, first_deferred_at=T0, deferred_until=T1, deadline=T2)
LATE = replace(WAITED, reason="l", attempts=2, first_deferred_at=T1)


@pytest.mark.parametrize(
    ("verdict", "to", "about", "changed"),
    [
        ("seen", "pending", {"plugin": "p"}, {"seen": ("s", "p")}),
        ("passed", "pending", {}, {"passed": ("q", "quiet")}),
        *((each, "pending", {"alone": True}, {"passed": (), "alone": True}) for each in ("due", "woken", "retried")),
        # The wait for a look-up counts as nobody's deferral; one that is tried again keeps its history.
        ("admitted", "pending", {}, {"first_deferred_at": None, "deferred_at": None, "deferral": None}),
        (
            "vouched",
            "pending",
            {"approved_by": "ann"},
            {"first_deferred_at": None, "deferred_at": None, "deferral": None, "vouched": True, "approved_by": "ann"},
        ),
        (
            "held",
            "held",
            {"deferral": LATE},
            {"first_deferred_at": None, "deferred_at": T1, "deferral": LATE, "acknowledgement": KEPT},
        ),
        ("expired", "pending", {"plugin": "p"}, {"passed": ("q", "p"), "deferral": None}),
        ("expired", "parked", {}, {"passed": (), "deferral": None}),
        ("failed", "deferred", {"deferral": LATE}, {"failures": 2, "deferral": LATE, "deferred_at": T1}),
        ("started", "pending", {}, {"run": "r"}),  # until anything else happens to the event
        *(
            (each, "deferred", {"deferral": LATE}, {"deferral": LATE, "deferred_at": T1})
            for each in ("handled", "deferred", "parked", "dropped", "superseded", "limited", "quota", "cut_short")
        ),
        *((each, "parked", {}, {}) for each in ("todo", "answered", "acknowledged", "declined")),
        ("woken", "pending", {"woken_by": "now"}, {"passed": (), "woken_by": "now"}),
    ],
)
def test_a_verdict_changes_what_it_speaks_of_and_leaves_the_rest(
    *, verdict: str, to: State, about: Any, changed: Any
) -> None:
    before = an_open_event(
        "e1",
        state="deferred",
        seen=("s",),
        passed=("q",),
        deferral=WAITED,
        first_deferred_at=T0,
        deferred_at=T0,
        failures=1,
        run="old",
        woken_by="before",
        acknowledgement=KEPT,
        since=T0,
    )
    state = replace(EMPTY, open={"e1": before})
    always: dict[str, Any] = {"state": to, "since": T1, "reason": "r", "by": "quiet", "run": None}
    always |= {"woken_by": None, "acknowledgement": None}
    if to == "pending":
        always["woken_by"] = "before"
    elif to == "deferred":
        always["since"] = T0

    after = moved(state, verdict, to, reason="r", run="r", **about)

    assert after == replace(before, **{**always, **changed})


@pytest.mark.parametrize("state", OPEN)
def test_an_event_that_is_not_done_stays_open_in_its_state(state: State) -> None:
    event = moved(ONE, "parked", state, reason="because")

    assert (event.state, event.reason, event.by) == (state, "because", "quiet")
    assert event.since == (T0 if state == "pending" else T1)


@pytest.mark.parametrize("state", DONE)
def test_an_event_that_is_done_is_only_counted(state: State) -> None:
    after = folded(ONE, Change(event_id="e1", verdict=state, state=state))

    assert (after.open, after.done) == ({}, {state: 1})


@pytest.mark.parametrize("state", get_args(State))
def test_what_comes_later_than_an_events_end_changes_nothing(state: State) -> None:
    done = folded(ONE, Change(event_id="e1", verdict="handled", state="handled"))

    after = folded(done, Change(event_id="e1", verdict="dropped", state=state))

    assert (after.open, after.done) == (done.open, done.done)


def test_an_event_that_comes_in_and_ends_in_one_decision_is_counted() -> None:
    after = folded(EMPTY, admitted("old"), Change(event_id="old", verdict="superseded", state="superseded"))

    assert (after.open, after.done) == ({}, {"superseded": 1})


def test_the_first_deferral_by_anybody_is_remembered() -> None:
    state = ONE
    for owner, at in (("quiet", T1), ("checks", T2)):
        wait = a_deferral(owner, first_deferred_at=at)
        state = folded(state, Change(event_id="e1", verdict="deferred", state="deferred", deferral=wait))

    assert state.open["e1"].first_deferred_at == T1


@pytest.mark.parametrize(
    ("state", "first", "failures"), [("deferred", T0, 3), ("parked", None, 0)], ids=["deferred", "parked"]
)
def test_a_retry_of_a_parked_event_is_a_new_start_and_of_a_deferred_one_is_not(
    state: str, first: str | None, failures: int
) -> None:
    before = replace(
        ONE.open["e1"],
        state=state,
        passed=("p",),
        deferral=a_deferral(first_deferred_at=T0),
        first_deferred_at=T0,
        failures=3,
    )

    event = moved(replace(ONE, open={"e1": before}), "retried")

    assert (event.passed, event.first_deferred_at, event.failures) == ((), first, failures)
    assert (event.deferral is None) is (state == "parked")


def test_failures_of_triage_are_counted_and_once_alone_is_always_alone() -> None:
    first = replace(ONE, open={"e1": moved(ONE, "failed", "deferred", alone=True)})

    second = moved(first, "failed", "deferred")

    assert (second.failures, second.alone) == (2, True)


# ---- actions and deliveries


def test_actions_are_queued_where_they_stand_and_counted_on_their_event() -> None:
    actions = (an_action("a-1", related_event_id="e1"), an_action("a-2", target=Target("slack")))

    state = folded(ONE, actions=actions, at=T1)

    assert [(a.id, a.target, a.position, a.since) for a in state.queue.values()] == [
        ("a-1", "github", Position(1, 0), T1),
        ("a-2", "slack", Position(1, 10), T1),
    ]
    assert state.open["e1"].actions == 1


def test_an_action_is_queued_with_the_event_that_it_is_about_and_what_the_decision_says_of_it() -> None:
    target = Target("github", {"pr": 7, "thread": "t"})
    actions = tuple(an_action(each, target=target, related_event_id="e1") for each in ("a-1", "a-2", "a-3"))

    queue = folded(ONE, actions=actions, courtesies=("a-2",), drafts=("a-3",), at=T1).queue

    usual = {"since": T1, "event_id": "e1", "thread": reply_limit.thread(actions[0])}
    assert list(queue.values()) == [
        a_queued_action("a-1", **usual),
        a_queued_action("a-2", position=Position(1, 10), courtesy=True, **usual),
        a_queued_action("a-3", position=Position(1, 20), draft=True, **usual),
    ]


def test_the_actions_of_a_decision_that_ends_their_event_are_queued_all_the_same() -> None:
    end = Change(event_id="e1", verdict="handled", state="handled")

    assert list(folded(ONE, end, actions=(an_action("a-1", related_event_id="e1"),)).queue) == ["a-1"]


@pytest.mark.parametrize(
    ("delivery", "queued", "delivered"),
    [
        (DeliveryChange(action_id="a-1", state="delivered", attempts=1), None, 1),
        (DeliveryChange(action_id="a-1", state="retrying", attempts=2, next_try=T2, error="x"), (2, T2, "x", False), 0),
        (DeliveryChange(action_id="a-1", state="failed", attempts=3, error="no"), (3, None, "no", True), 0),
        (DeliveryChange(action_id="a-1", state="queued", attempts=0), (0, None, None, False), 0),
        (DeliveryChange(action_id="gone", state="delivered", attempts=1), (0, None, None, False), 0),
    ],
)
def test_a_delivery_ends_its_action_or_says_what_is_next(
    delivery: DeliveryChange, queued: tuple[int, str | None, str | None, bool] | None, delivered: int
) -> None:
    state = folded(folded(EMPTY, actions=(an_action("a-1"),)), deliveries=(delivery,))

    action = state.queue.get("a-1")
    assert (action and (action.attempts, action.next_try, action.error, action.failed)) == queued
    assert state.delivered == delivered


@pytest.mark.parametrize(
    ("before", "delivery", "after"),
    [
        (
            {"draft": True, "failed": True, "tried_at": T0, "error": "a secret", "withheld": True},
            {"state": "queued", "released": True},
            {"since": T1, "released": True, "lifted": True},
        ),
        (
            {"draft": True},
            {"state": "retrying", "next_try": T2, "commit": "c"},
            {"draft": True, "next_try": T2, "tried_at": T1, "commit": "c"},
        ),
        (
            {"released": True, "commit": "c", "lifted": True},
            {"state": "failed", "withheld": True, "error": "a secret"},
            {"released": True, "commit": "c", "lifted": True, "failed": True, "withheld": True, "error": "a secret"}
            | {"tried_at": T1},
        ),
        ({"next_try": T0, "tried_at": T0}, {"state": "failed"}, {"failed": True, "tried_at": T1}),
    ],
)
def test_a_try_leaves_what_is_known_of_an_action_but_for_what_it_says_itself(
    before: dict[str, Any], delivery: dict[str, Any], after: dict[str, Any]
) -> None:
    state = replace(EMPTY, queue={"a-1": a_queued_action("a-1", **before)})

    tried = folded(state, deliveries=(DeliveryChange(action_id="a-1", attempts=2, **delivery),), at=T1)

    assert tried.queue == {"a-1": a_queued_action("a-1", attempts=2, **after)}


def test_several_deliveries_are_counted_with_the_replies_of_their_conversations_and_not_what_says_nothing() -> None:
    queue = {each: a_queued_action(each, thread="github:t") for each in ("a-1", "a-2", "a-3", "a-4", "a-5")}
    queue["a-2"] = replace(queue["a-2"], courtesy=True, thread=None)
    ended = (("gone", "delivered"), ("a-1", "delivered"), ("a-2", "delivered"), ("a-3", "dropped"), ("a-4", "failed"))
    deliveries = tuple(DeliveryChange(action_id=each, state=state, attempts=1) for each, state in ended)  # type: ignore[arg-type]

    state = folded(replace(EMPTY, queue=queue), deliveries=deliveries, at=T1)

    assert (list(state.queue), state.delivered, state.replies.counts) == (["a-4", "a-5"], 1, {"github:t": 1})
    assert state.queue["a-4"].failed


# ---- the rest of the state


def test_a_decision_says_how_far_the_journals_are_read_and_written() -> None:
    read = {"cursor": Cursor(2, 7), "fingerprint": 5, "rereading": Cursor(2, 9)}
    decision = Decision(seq=8, stage="intake", by="prloom", **read)  # type: ignore[arg-type]

    state = projection.fold(EMPTY, decision, at=T0, end=Cursor(3, 1), outbox={}, tail=Cursor(4, 2))

    assert (state.seq, state.log, state.cursor, state.outbox) == (8, Cursor(3, 1), Cursor(2, 7), Cursor(4, 2))
    assert (state.fingerprint, state.rereading) == (5, Cursor(2, 9))


def test_a_decision_that_says_nothing_of_a_thing_leaves_it_as_it_was() -> None:
    replies = RepliesToday(day="2026-11-21", counts={"github:t": 1})
    read = {"cursor": Cursor(1, 5), "fingerprint": 5, "rereading": Cursor(1, 9)}
    before = replace(EMPTY, paused=True, rebase_requested=True, replies=replies, **read)

    assert folded(before) == replace(before, seq=1, log=Cursor(1, 1))


@pytest.mark.parametrize("value", [True, False])
def test_a_plan_is_paused_and_rebased_as_the_latest_decision_says(*, value: bool) -> None:
    before = replace(EMPTY, paused=not value, rebase_requested=not value)

    after = folded(before, paused=value, rebase_requested=value)

    assert (after.paused, after.rebase_requested) == (value, value)


def test_conversations_wait_for_their_todos_until_these_are_done() -> None:
    thread = Thread("e1", Target("github", {"thread": 1}))
    todos = (Todo(id="t1", title="x", threads=(thread,)), Todo(id="t2", title="y"))

    asked = folded(EMPTY, todos=todos)

    assert asked.todos == {"t1": (thread,), "t2": ()}
    assert folded(asked).todos == asked.todos
    assert folded(asked, todos_done=("t1",)).todos == {"t2": ()}
    assert folded(asked, todos_done=("t1",), todos_dropped=("t2",)).todos == {}


# ---- any sequence of decisions

IDS = [f"e{number}" for number in range(5)]
VERDICTS = ["seen", "passed", "due", "retried", "admitted", "vouched", "held", "expired", "failed", "started", "parked"]
WAIT = Deferral("quiet", "r", 1, T0, T1, T2)
CHANGES = st.builds(
    Change,
    event_id=st.sampled_from(IDS),
    verdict=st.sampled_from(VERDICTS),
    state=st.sampled_from(get_args(State)),
    plugin=st.none() | st.just("quiet"),
    deferral=st.none() | st.just(WAIT),
    alone=st.booleans(),
)
DELIVERIES = st.builds(
    DeliveryChange,
    action_id=st.integers(0, 12).map(lambda number: f"a-{number}"),
    state=st.sampled_from(["delivered", "retrying", "failed", "queued"]),
    attempts=st.integers(0, 3),
)
STEPS = st.lists(
    st.fixed_dictionaries(
        {
            "admit": st.sets(st.sampled_from(IDS)),
            "changes": st.lists(CHANGES, max_size=4),
            "actions": st.integers(0, 2),
            "deliveries": st.lists(DELIVERIES, max_size=2),
        }
    ),
    max_size=12,
)


def decisions(steps: list[dict[str, Any]]) -> list[Decision]:
    """Make a log of them: each event comes in once, each action has its own id."""
    known: set[str] = set()
    made, log = 0, []
    for step in steps:
        fresh = step["admit"] - known
        known |= fresh
        actions = tuple(an_action(f"a-{made + number}", related_event_id="e0") for number in range(step["actions"]))
        made += len(actions)
        changes = (*(admitted(event_id) for event_id in sorted(fresh)), *step["changes"])
        deliveries = tuple(step["deliveries"])
        log.append(
            Decision(seq=len(log) + 1, stage="x", by="y", changes=changes, actions=actions, deliveries=deliveries)
        )
    return log


def replayed(state: DispatchState, log: list[Decision]) -> DispatchState:
    for decision in log:
        outbox = {action.id: Position(1, 0) for action in decision.actions}
        state = projection.fold(state, decision, at=T1, end=Cursor(1, decision.seq), outbox=outbox, tail=Cursor())
    return state


@settings(max_examples=60)
@given(steps=STEPS)
def test_whatever_is_decided_each_event_is_in_exactly_one_state_and_the_counts_add_up(
    steps: list[dict[str, Any]],
) -> None:
    log = decisions(steps)

    state = replayed(EMPTY, log)

    came_in = {change.event_id for decision in log for change in decision.changes if change.intake}
    assert len(state.open) + sum(state.done.values()) == len(came_in)
    assert set(state.open) <= came_in
    assert all(event.id == event_id and event.state in OPEN for event_id, event in state.open.items())
    assert set(state.done) <= set(DONE)
    assert len(state.queue) + state.delivered == sum(len(decision.actions) for decision in log)


@settings(max_examples=40)
@given(steps=STEPS, cut=st.integers(0, 12))
def test_a_state_from_disk_or_from_a_snapshot_goes_on_like_the_one_that_never_left_memory(
    steps: list[dict[str, Any]], cut: int
) -> None:
    log = decisions(steps)
    half = replayed(EMPTY, log[:cut])

    saved = record.from_wire(DispatchState, msgspec.json.decode(msgspec.json.encode(record.to_wire(half))))
    snapshot = Decision(seq=half.seq, stage="snapshot", by="prloom", snapshot={"state": record.to_wire(half)})
    restored = replayed(replace(EMPTY, paused=True), [snapshot])

    assert saved == half
    assert replayed(restored, log[cut:]) == replayed(EMPTY, log)


# ---- since when a person is waited for


def decided(state: DispatchState, at: Timestamp, **parts: Any) -> DispatchState:
    decision = Decision(seq=state.seq + 1, stage="work", by="prloom", **parts)
    return projection.fold(state, decision, at=at, end=state.log, outbox={}, tail=state.outbox)


def step(verdict: WorkVerdict, box: BoxState | None = None) -> WorkStep:
    return WorkStep(todo_id="t1", verdict=verdict, box=box)


def test_a_plan_is_paused_since_it_was_paused_first() -> None:
    paused = decided(decided(EMPTY, T0, paused=True), T1, paused=True)

    assert (paused.paused, paused.paused_at) == (True, T0)
    assert decided(paused, T1).paused_at == T0
    assert decided(paused, T2, paused=False).paused_at is None


def test_a_todo_waits_to_be_allowed_since_it_was_proposed() -> None:
    proposed = decided(EMPTY, T1, work=step("proposed"))

    assert (proposed.proposed, proposed.proposed_at) == ("t1", T1)
    assert decided(proposed, T2, work=step("granted")).proposed_at is None
    assert decided(proposed, T2, work=step("taken")).proposed_at is None


def test_a_todo_is_blocked_since_it_was_parked_until_it_is_opened_or_ends() -> None:
    parked = decided(EMPTY, T0, work=step("parked", "blocked"))

    assert parked.blocked_at == {"t1": T0}
    assert decided(parked, T1, work=step("corrected", "blocked")).blocked_at == {"t1": T0}
    assert decided(parked, T1, work=step("parked", "blocked")).blocked_at == {"t1": T1}
    ends: tuple[Mapping[str, Any], ...] = (
        {"work": step("answered", "open")},
        {"work": step("taken")},
        {"work": step("removed")},
        {"todos_done": ("t1",)},
        {"todos_dropped": ("t1",)},
    )
    for parts in ends:
        assert decided(parked, T1, **parts).blocked_at == {}


def test_a_plan_progressed_when_something_moved_and_not_when_a_try_failed_again() -> None:
    taken = decided(EMPTY, T0, work=step("taken"))

    assert taken.progressed_at == T0
    assert decided(taken, T1, work=step("failed")).progressed_at == T0
    assert decided(taken, T1, work=step("done")).progressed_at == T1


def test_a_state_of_an_older_version_says_nothing_of_when() -> None:
    new = {"pausedAt", "proposedAt", "blockedAt", "progressedAt"}
    old = {name: value for name, value in record.to_wire(EMPTY).items() if name not in new}

    read = record.from_wire(DispatchState, {**old, "paused": True})

    assert (read.paused, read.paused_at, read.proposed_at, read.blocked_at) == (True, None, None, {})
    assert read.progressed_at is None
