from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_states import an_open_event

from prloom.core.commands.comment_commands import SlashCommand
from prloom.core.events import dispatch
from prloom.core.events.dispatch import EventStep, RunCommand, RunHook, RunTriage, Subscribers
from prloom.extensions.host.interface import Registered
from prloom.model.event import Event
from prloom.model.record import Position
from prloom.model.state import OpenEvent

ROSTER = Subscribers(observers=("log",), triagers=("memory", "quiet"), commands={"note": "memory"})
NOTE = SlashCommand("note", ("this",))


def steps(
    *pending: OpenEvent | tuple[OpenEvent, SlashCommand | None],
    roster: Subscribers = ROSTER,
    busy: Sequence[str] = (),
    alone: Sequence[str] = (),
    paused: bool = False,
    triaging: bool = False,
) -> tuple[EventStep, ...]:
    pairs = [item if isinstance(item, tuple) else (item, None) for item in pending]
    return dispatch.steps(pairs, roster, busy=busy, alone=alone, paused=paused, triaging=triaging)


REGISTERED = {
    "log": Registered(hooks=("onEvent", "onGlobalEvent")),
    "first": Registered(
        hooks=("beforeTriage", "onEvent"), commands={"Note": "", "list": ""}, approved_commands=("list",)
    ),
    "second": Registered(commands={"note": "", "add": ""}, approved_commands=("note", "add")),
}


def test_plugins_get_the_events_of_a_plan_by_what_they_registered_and_the_first_has_a_command():
    assert dispatch.plan_subscribers(REGISTERED) == Subscribers(
        observers=("log", "first"),
        triagers=("first",),
        commands={"note": "first", "list": "first", "add": "second"},
        approved_commands={"list", "add"},
    )


def test_an_event_of_the_whole_repository_is_only_observed():
    assert dispatch.repository_subscribers(REGISTERED) == Subscribers(observers=("log",), observer_hook="onGlobalEvent")


@pytest.mark.parametrize(
    ("seen", "passed", "step"),
    [
        ((), (), RunHook("log", "onEvent", ("e1",))),
        (("log",), (), RunHook("memory", "beforeTriage", ("e1",))),
        (("log",), ("memory",), RunHook("quiet", "beforeTriage", ("e1",))),
        (("log",), ("quiet",), RunHook("memory", "beforeTriage", ("e1",))),
        (("log",), ("memory", "quiet"), RunTriage(("e1",))),
        ((), ("memory", "quiet"), RunHook("log", "onEvent", ("e1",))),
        (("log", "gone"), ("gone", "memory", "quiet"), RunTriage(("e1",))),
    ],
)
def test_an_event_is_shown_to_each_plugin_in_its_order_and_then_to_the_agent(
    seen: tuple[str, ...], passed: tuple[str, ...], step: EventStep
) -> None:
    assert steps(an_open_event(seen=seen, passed=passed)) == (step,)


def test_without_plugins_an_event_goes_straight_to_the_agent() -> None:
    assert steps(an_open_event(), roster=Subscribers()) == (RunTriage(("e1",)),)


def test_events_of_the_whole_repository_are_shown_by_their_own_hook() -> None:
    roster = Subscribers(observers=("log",), observer_hook="onGlobalEvent")

    assert steps(an_open_event(), roster=roster) == (RunHook("log", "onGlobalEvent", ("e1",)),)


def test_events_whose_turn_is_with_one_plugin_are_shown_together_the_oldest_first() -> None:
    # The state lists an event that was deferred after those that came later.
    late = an_open_event("late", position=Position(2, 0), seen=("log",))
    old = an_open_event("old", position=Position(1, 900), seen=("log",))
    other = an_open_event("other", position=Position(1, 950), seen=("log",), passed=("memory",))

    assert steps(late, old, other) == (
        RunHook("memory", "beforeTriage", ("old", "late")),
        RunHook("quiet", "beforeTriage", ("other",)),
    )


def test_what_has_failed_in_company_is_shown_alone() -> None:
    events = [an_open_event(f"e{number}", seen=("log",), position=Position(1, number)) for number in range(4)]

    assert steps(*events, alone=["e1", "e2"]) == (
        RunHook("memory", "beforeTriage", ("e0", "e3")),
        RunHook("memory", "beforeTriage", ("e1",)),
        RunHook("memory", "beforeTriage", ("e2",)),
    )


@pytest.mark.parametrize("values", [{"state": "deferred"}, {"state": "held"}, {"state": "parked"}, {"run": "r1"}])
def test_what_waits_or_is_with_the_agent_is_left_alone(values: dict[str, str]) -> None:
    assert steps(an_open_event(**values)) == ()


def test_what_is_in_somebodys_hands_is_left_alone_and_delays_nobody() -> None:
    events = [an_open_event("e1"), an_open_event("e2", position=Position(1, 5))]

    assert steps(*events, busy={"e1"}) == (RunHook("log", "onEvent", ("e2",)),)


# ---- the agent's turn

DONE = {"seen": ("log",), "passed": ("memory", "quiet")}


def test_a_burst_of_comments_is_one_run() -> None:
    events = [an_open_event(f"e{number}", position=Position(1, number), **DONE) for number in range(5)]

    assert steps(*events) == (RunTriage(("e0", "e1", "e2", "e3", "e4")),)


def test_a_running_agent_stops_no_hook_and_begins_no_second_run() -> None:
    ready = an_open_event("e1", **DONE)
    fresh = an_open_event("e2", position=Position(1, 5))

    assert steps(ready, fresh, triaging=True) == (RunHook("log", "onEvent", ("e2",)),)


def test_an_event_that_spoilt_a_run_has_one_of_its_own_when_the_others_are_through() -> None:
    spoilt = [an_open_event(f"bad{number}", alone=True, position=Position(1, number), **DONE) for number in range(2)]
    good = an_open_event("good", position=Position(1, 9), **DONE)

    assert steps(*spoilt, good) == (RunTriage(("good",)),)
    assert steps(*spoilt) == (RunTriage(("bad0",)),)


# ---- commands


@pytest.mark.parametrize("words", [("status",), ("approve", "ann"), ("nonsense",), ()])
@pytest.mark.parametrize("paused", [True, False])
def test_a_built_in_command_is_obeyed_also_while_paused(words: tuple[str, ...], *, paused: bool) -> None:
    assert steps((an_open_event(), SlashCommand("prloom", words)), paused=paused) == (RunCommand("e1"),)


@pytest.mark.parametrize("paused", [True, False])
def test_a_plugins_command_goes_to_that_plugin_alone(*, paused: bool) -> None:
    assert steps((an_open_event(), NOTE), paused=paused) == (RunHook("memory", "command:/note", ("e1",)),)


def test_a_plugins_command_may_be_written_in_upper_or_lower_case() -> None:
    command = SlashCommand("Note", ())

    assert steps((an_open_event(), command)) == (RunHook("memory", "command:/note", ("e1",)),)


def test_a_command_that_nobody_registered_is_a_comment_like_any_other() -> None:
    assert steps((an_open_event(), SlashCommand("etc/passwd", ()))) == (RunHook("log", "onEvent", ("e1",)),)


def test_while_paused_nothing_but_commands_is_done() -> None:
    assert steps(an_open_event("e1"), an_open_event("e2", **DONE), paused=True) == ()


def test_a_command_that_its_plugin_let_pass_goes_on_instead_of_coming_back_to_it_at_once() -> None:
    passed = an_open_event(seen=("log",), passed=("memory",))

    assert steps((passed, NOTE)) == (RunHook("quiet", "beforeTriage", ("e1",)),)


NAMES = st.sets(st.sampled_from(["log", "memory", "quiet", "gone"])).map(tuple)


@pytest.mark.parametrize("command", [SlashCommand("prloom", ("pause",)), SlashCommand("prloom", ()), NOTE])
@pytest.mark.parametrize("paused", [True, False])
def test_a_command_in_an_approved_text_of_a_stranger_is_only_a_text(command: SlashCommand, *, paused: bool) -> None:
    expected = () if paused else (RunHook("log", "onEvent", ("e1",)),)

    assert steps((an_open_event(vouched=True), command), paused=paused) == expected


def test_a_plugin_may_let_strangers_give_its_command_once_their_text_is_approved() -> None:
    roster = Subscribers(commands={"note": "memory"}, approved_commands={"note"})

    assert steps((an_open_event(vouched=True), NOTE), roster=roster) == (RunHook("memory", "command:/note", ("e1",)),)
    assert steps((an_open_event(vouched=True), SlashCommand("prloom", ("pause",))), roster=roster) == (
        RunTriage(("e1",)),
    )


COMMANDS = st.sampled_from([None, NOTE, SlashCommand("prloom", ("status",)), SlashCommand("nobody", ())])
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "state": st.sampled_from(["pending", "pending", "pending", "deferred", "held", "parked"]),
            "seen": NAMES,
            "passed": NAMES,
            "alone": st.booleans(),
            "run": st.sampled_from([None, None, "r1"]),
        }
    ),
    max_size=12,
)


@given(
    values=EVENTS,
    commands=st.lists(COMMANDS, min_size=12, max_size=12),
    busy=st.sets(st.sampled_from([f"e{number}" for number in range(12)])),
    paused=st.booleans(),
    triaging=st.booleans(),
)
def test_each_event_stands_in_one_step_at_most_and_none_that_can_go_on_is_forgotten(
    values: list[dict[str, object]],
    commands: list[SlashCommand | None],
    busy: set[str],
    *,
    paused: bool,
    triaging: bool,
) -> None:
    events = [an_open_event(f"e{number}", position=Position(1, number), **each) for number, each in enumerate(values)]

    found = steps(*zip(events, commands, strict=False), busy=busy, paused=paused, triaging=triaging)

    named = [name for step in found for name in ((step.event_id,) if isinstance(step, RunCommand) else step.event_ids)]
    free = {event.id for event in events if event.state == "pending" and event.run is None and event.id not in busy}
    assert len(named) == len(set(named))
    assert set(named) <= free
    assert sum(isinstance(step, RunTriage) for step in found) <= 1
    if not paused and not triaging:
        waiting = {event.id for event in events if dispatch.next_hook(event, ROSTER) is None}
        assert free - set(named) <= waiting  # only for the agent does anybody wait


@pytest.mark.parametrize(
    ("roster", "agents", "event", "nobody"),
    [
        (Subscribers(), False, {"body": "hello"}, True),
        (Subscribers(), True, {"body": "hello"}, False),
        (Subscribers(), True, {"type": "pr_pushed", "body": ""}, True),
        (Subscribers(observers=("log",)), False, {"body": "hello"}, False),
        (Subscribers(triagers=("quiet",)), True, {"type": "pr_pushed", "body": ""}, False),
        (Subscribers(), False, {"body": "/prloom status"}, False),
        (Subscribers(commands={"note": "memory"}), False, {"body": "/note this"}, False),
    ],
)
def test_an_event_is_unseen_where_no_plugin_no_agent_and_no_command_has_a_turn_with_it(
    *, roster: Subscribers, agents: bool, event: dict[str, str], nobody: bool
) -> None:
    said = Event(**{"id": "e", "source": "s", "type": "pr_comment", **event})

    assert dispatch.has_no_receiver(said, roster, agents=agents) is nobody
