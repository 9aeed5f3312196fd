from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from plan_states import an_open_event
from values import an_event

from prloom.backoff import Backoff
from prloom.core.events import dispatch
from prloom.core.events.dispatch import RunHook, Subscribers
from prloom.core.plans.plan_file import TodoItem
from prloom.core.waits import deferral, wake
from prloom.core.waits.wake import Arrival
from prloom.model.decision import Change, Deferral, Intake, WakeOn
from prloom.model.event import Event
from prloom.model.record import Position
from prloom.model.state import OpenEvent

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
POLICY = Backoff()


def waiting(wake_on: WakeOn | None, event_id: str = "e1", owner: str = "gate") -> dict[str, OpenEvent]:
    wait = deferral.defer(an_open_event(event_id), owner, "why", now=NOW, policy=POLICY, wake_on=wake_on)
    return {event_id: an_open_event(event_id, state="deferred", deferral=wait)}


@pytest.mark.parametrize(
    ("wake_on", "arrival", "wakes"),
    [
        (WakeOn(types=("check_*",)), Arrival("e2", "check_failed"), True),
        (WakeOn(types=("check_*",)), Arrival("e2", "checks_changed"), False),
        (WakeOn(types=("x", "pr_pushed")), Arrival("e2", "pr_pushed"), True),
        (WakeOn(threads=("t1",)), Arrival("e2", "pr_comment", "t1"), True),
        (WakeOn(threads=("t1",)), Arrival("e2", "pr_comment", "t2"), False),
        (WakeOn(threads=("t1",)), Arrival("e2", "pr_comment"), False),
        (WakeOn(types=("x",), threads=("t1",)), Arrival("e2", "pr_comment", "t1"), True),
        (WakeOn(todo="d1"), Arrival("e2", "pr_comment", "d1"), False),
        (WakeOn(types=("*",)), Arrival("e1", "pr_comment"), False),
        (None, Arrival("e2", "pr_comment"), False),
    ],
)
def test_a_wait_ends_with_the_first_event_that_meets_one_of_its_keys(
    wake_on: WakeOn | None, arrival: Arrival, *, wakes: bool
):
    found = wake.by_arrivals(waiting(wake_on), [arrival])

    assert bool(found) is wakes


def test_what_ended_the_wait_is_said():
    (change,) = wake.by_arrivals(waiting(WakeOn(types=("pr_pushed",))), [Arrival("e2", "pr_pushed")])

    assert (change.verdict, change.state, change.reason) == ("woken", "pending", "pr_pushed e2 arrived")


def in_thread(thread: str) -> Event:
    return an_event(context={"thread": thread})


def test_an_event_arrives_as_it_comes_in_and_that_of_a_stranger_with_its_approval():
    intake = Intake(position=Position(1, 1), type="pr_comment", source="forge", digest="")
    held = Change(event_id="e2", verdict="held", state="held", intake=intake)
    pending = Change(event_id="e3", verdict="admitted", state="pending", intake=intake)
    approved = Change(event_id="e2", verdict="vouched", state="pending")

    assert wake.arrivals([held, pending], {}, lambda event_id, _: in_thread(f"of {event_id}")) == (
        Arrival("e3", "pr_comment", "of e3"),
    )
    assert wake.arrivals([approved], {"e2": an_open_event("e2", state="held")}, lambda *_: in_thread("t1")) == (
        Arrival("e2", "pr_comment", "t1"),
    )


@pytest.mark.parametrize("event", [None, an_event(), an_event(context={"thread": 7})], ids=["lost", "none", "a number"])
def test_an_event_arrives_without_a_thread_where_it_names_none(event: Event | None):
    intake = Intake(position=Position(1, 1), type="pr_comment", source="forge", digest="")
    pending = Change(event_id="e3", verdict="admitted", state="pending", intake=intake)

    assert wake.arrivals([pending], {}, lambda *_: event) == (Arrival("e3", "pr_comment"),)


@pytest.mark.parametrize(("state", "wakes"), [("open", False), ("blocked", False), ("done", True), ("dropped", True)])
def test_a_wait_for_a_todo_ends_with_it(state: Any, *, wakes: bool):
    opened = waiting(WakeOn(todo="d1"))

    assert bool(wake.by_todos(opened, [TodoItem("d1", "Do it", state=state)])) is wakes
    assert wake.by_todos(opened, []) == (
        Change(event_id="e1", verdict="woken", state="pending", reason="the TODO d1 has ended", woken_by="d1"),
    )


def test_a_plugin_ends_its_own_waits_only():
    opened = {**waiting(None, "mine", "gate"), **waiting(None, "theirs", "other"), "open": an_open_event("open")}
    opened["over"] = an_open_event("over", deferral=opened["mine"].deferral)

    assert wake.by_plugin(opened, ["theirs", "open", "over", "gone", "mine", "mine"], "gate") == (
        Change(event_id="mine", verdict="woken", state="pending", reason="gate ended its wait", woken_by="gate"),
    )


def test_what_arrived_while_the_hook_ran_is_not_missed():
    wait = deferral.defer(an_open_event(), "gate", "why", now=NOW, policy=POLICY, wake_on=WakeOn(types=("pr_pushed",)))
    deferred = Change(event_id="e1", verdict="deferred", state="deferred", deferral=wait)

    assert wake.missed([deferred], [Arrival("e1", "pr_pushed"), Arrival("e2", "pr_pushed")]) == (
        Change(event_id="e1", verdict="woken", state="pending", reason="pr_pushed e2 arrived", woken_by="e2"),
    )
    others = [replace(deferred, deferral=None), replace(deferred, deferral=a_wait()), deferred]
    assert wake.missed(others, [Arrival("e3", "check_failed")]) == ()


def a_wait(**asked: Any) -> Deferral:
    return deferral.defer(an_open_event(), "gate", "why", now=NOW, policy=POLICY, **asked)


def test_with_a_condition_and_no_time_only_the_deadline_ends_the_wait():
    until = NOW + timedelta(hours=2)
    condition = WakeOn(types=("pr_pushed",))

    assert a_wait(wake_on=condition).deferred_until == NOW + POLICY.deadline
    assert a_wait(wake_on=condition, until=until).deferred_until == until
    assert a_wait(wake_on=condition, retry_after=timedelta(minutes=1)).deferred_until == NOW + timedelta(minutes=1)
    assert a_wait().deferred_until < NOW + timedelta(minutes=2)


def test_an_event_that_was_woken_is_shown_once_every_observer_has_seen_what_woke_it():
    woken = an_open_event("e1", seen=("log",), woken_by="e2")
    subscribers = Subscribers(observers=("log",), triagers=("gate",))

    def begun(*events: OpenEvent, busy: tuple[str, ...] = ()) -> set[tuple[str, tuple[str, ...]]]:
        steps = dispatch.steps(
            [(event, None) for event in events], subscribers, busy=busy, alone=(), paused=False, triaging=False
        )
        return {(step.hook, step.event_ids) for step in steps if isinstance(step, RunHook)}

    assert begun(woken, an_open_event("e2")) == {("onEvent", ("e2",))}
    assert begun(woken, busy=("e2",)) == set()
    assert begun(woken, an_open_event("e2", seen=("log",))) == {("beforeTriage", ("e1", "e2"))}
    assert begun(woken) == {("beforeTriage", ("e1",))}


def test_what_a_wait_is_for_is_said_in_words():
    condition = WakeOn(types=("check_*", "pr_pushed"), threads=("t1", "t2"), todo="d1")

    assert (
        wake.described(condition)
        == "an event check_* or pr_pushed, or an event in thread t1 or t2, or the end of the TODO d1"
    )
