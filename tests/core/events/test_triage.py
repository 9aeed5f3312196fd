from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_states import an_open_event
from values import an_event

from prloom.backoff import Backoff
from prloom.core.answers import triage_answer
from prloom.core.answers.triage_answer import AnswerItem, TriageAnswer
from prloom.core.delivery import outbox
from prloom.core.events import triage
from prloom.core.events.triage import TriageResult
from prloom.core.plans import todo_ids
from prloom.core.text import bounds
from prloom.core.work.automatic_todos import rebase_todo
from prloom.model import record
from prloom.model.action import Comment
from prloom.model.decision import Change, Thread, Todo
from prloom.model.event import Target
from prloom.model.record import Timestamp
from prloom.model.state import OpenEvent
from prloom.model.work import NewTodo

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT = record.iso(NOW)
POLICY = Backoff()
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
PULL_REQUEST = Target("github", {"pr": 7})
BATCH = ("e1", "e2", "e3")


# ---- reading the answer


def read(*items: object, todos: object = (), **more: object) -> TriageAnswer:
    return triage_answer.read({"items": list(items), "todos": todos, **more}, BATCH)


def an_item(event_id: object = "e1", verdict: object = "acknowledged", **values: object) -> dict[str, object]:
    return {"eventId": event_id, "verdict": verdict, "reply": None, **values}


def a_todo(*event_ids: object, **values: object) -> dict[str, object]:
    return {"title": "Rename it", "context": "in a.py", "eventIds": list(event_ids or ("e1",)), **values}


@pytest.mark.parametrize("verdict", ["answered", "acknowledged", "declined"])
def test_an_item_says_what_becomes_of_its_event(verdict: str) -> None:
    answer = read(an_item(verdict=verdict, reply="Because."))

    assert answer == TriageAnswer(
        {"e1": AnswerItem("e1", verdict, "Because.")}, (), rebase_requested=False, problems={}
    )  # type: ignore[arg-type]


def test_a_change_request_becomes_a_todo() -> None:
    answer = read(an_item(verdict="todo"), an_item("e2", "todo"), todos=[a_todo("e1", "e2")])

    assert answer.todos == (NewTodo("Rename it", "in a.py", ("e1", "e2")),)
    assert set(answer.items) == {"e1", "e2"}
    assert answer.problems == {}


def test_fields_that_are_not_known_are_ignored() -> None:
    answer = read(an_item(confidence=0.9), todos=[a_todo(priority="high")], thoughts="…")

    assert set(answer.items) == {"e1"}
    assert len(answer.todos) == 1


@pytest.mark.parametrize("value", [None, 7, "x", [], {}, {"items": None}, {"items": {}}, {"items": "e1"}])
def test_an_answer_without_a_list_of_items_says_nothing(value: object) -> None:
    answer = triage_answer.read(value, BATCH)

    assert (answer.items, answer.todos, answer.rebase_requested) == ({}, (), False)
    assert answer.problems == {"": "the answer has no list of items"}


@pytest.mark.parametrize(
    ("bad", "event_id", "problem"),
    [
        (an_item("e1", "maybe"), "e1", "Invalid enum value 'maybe' - at `$.verdict`"),
        (an_item("e1", reply=7), "e1", "Expected `str | null`, got `int` - at `$.reply`"),
        ({"eventId": "e1"}, "e1", "Object missing required field `verdict`"),
        (an_item("e9"), "", "an item names an event that is not in the batch"),
        (an_item(7), "", "Expected `str`, got `int` - at `$.eventId`"),
        (an_item("e1", "todo"), "e1", "the verdict is todo, but no TODO names the event"),
        ("e1", "", "Expected `object`, got `str`"),
        (None, "", "Expected `object`, got `null`"),
    ],
)
def test_one_bad_item_is_named_and_does_not_spoil_the_others(bad: object, event_id: str, problem: str) -> None:
    answer = read(bad, an_item("e2"))

    assert set(answer.items) == {"e2"}
    assert answer.problems == {event_id: problem}


@pytest.mark.parametrize(
    "second", [an_item(verdict="declined"), an_item(reply="x"), an_item(verdict="maybe"), {"eventId": "e1"}]
)
@pytest.mark.parametrize("swapped", [False, True])
def test_two_items_for_one_event_that_say_different_things_say_nothing(
    second: dict[str, object], *, swapped: bool
) -> None:
    pair = [an_item(), second]

    answer = read(*(reversed(pair) if swapped else pair), an_item("e2"), an_item())

    assert set(answer.items) == {"e2"}
    assert answer.problems == {"e1": "the answer has two items for the event"}


def test_an_item_that_is_only_repeated_says_what_it_says() -> None:
    answer = read(an_item(), an_item())

    assert (set(answer.items), answer.problems) == ({"e1"}, {})


@pytest.mark.parametrize("todos", [5, "x", {"title": "x"}, True, 1.5])
def test_todos_that_are_no_list_are_none_and_said_so(todos: object) -> None:
    answer = read(an_item(), todos=todos)

    assert (set(answer.items), answer.todos) == ({"e1"}, ())
    assert answer.problems == {"": "todos is not a list"}


def test_no_todos_may_be_null_or_left_out() -> None:
    assert triage_answer.read({"items": [an_item()], "todos": None}, BATCH).problems == {}
    assert triage_answer.read({"items": [an_item()]}, BATCH).problems == {}


@pytest.mark.parametrize(
    ("todo", "problem"),
    [
        (a_todo(title=" \n"), "a TODO has no title or names no event of the batch"),
        (a_todo("e9"), "a TODO has no title or names no event of the batch"),
        ({"title": "x"}, "a TODO has no title or names no event of the batch"),
        (a_todo(7), "a TODO cannot be read: Expected `str`, got `int` - at `$.eventIds[0]`"),
        ("x", "a TODO cannot be read: Expected `object`, got `str`"),
    ],
)
def test_one_bad_todo_is_named_and_does_not_spoil_the_others(todo: object, problem: str) -> None:
    answer = read(an_item("e2", "todo"), todos=[todo, a_todo("e2")])

    assert [each.event_ids for each in answer.todos] == [("e2",)]
    assert answer.problems == {"": problem}


def test_a_todo_names_events_of_the_batch_once_and_its_title_is_one_line() -> None:
    answer = read(todos=[a_todo("e9", "e2", "e2", "e1", title=" Rename\n## TODO\tit ", context="\n a \n b\n")])

    assert answer.todos == (NewTodo("Rename ## TODO it", "a \n b", ("e2", "e1")),)


def test_of_a_long_title_the_whole_is_what_a_worker_reads_before_the_context() -> None:
    full = "x" * (bounds.TITLE + 1)

    assert read(todos=[a_todo(title=full)]).todos == (NewTodo(bounds.title(full), f"{full}\n\nin a.py", ("e1",)),)


@pytest.mark.parametrize(("value", "asked"), [(True, True), (False, False), ("true", False), (1, False), (None, False)])
def test_a_rebase_is_asked_for_by_true_alone(value: object, *, asked: bool) -> None:
    assert read(an_item(), rebaseRequested=value).rebase_requested is asked


# ---- what the answer amounts to


def settle(
    answer: TriageAnswer,
    opened: Mapping[str, OpenEvent] | None = None,
    *,
    batch: tuple[str, ...] = ("e1", "e2"),
    policy: Backoff = POLICY,
    rebase_open: bool = False,
    **values: object,
) -> TriageResult:
    return triage.settle(
        answer,
        tuple(an_event(event_id, **values) for event_id in batch),
        {event_id: an_open_event(event_id) for event_id in batch} if opened is None else opened,
        now=NOW,
        policy=policy,
        plan_target=PULL_REQUEST,
        rebase_open=rebase_open,
    )


def test_events_that_the_answer_settles_are_triaged_and_answered_where_they_belong() -> None:
    thread = Target("github", {"thread": 1})
    answer = read(an_item("e1", "answered", reply=" Because. \n"), an_item("e2", "acknowledged"))

    result = settle(answer, reply_to=thread)

    assert [(c.event_id, c.verdict, c.state) for c in result.changes] == [
        ("e1", "answered", "triaged"),
        ("e2", "acknowledged", "triaged"),
    ]
    (action,) = result.actions
    assert (action.target, action.payload, action.related_event_id) == (thread, Comment("Because."), "e1")
    assert action.id == outbox.action_id("e1", "triage", 0)


def test_an_event_that_belongs_to_no_thread_is_answered_on_the_plans_pull_request() -> None:
    (action,) = settle(read(an_item(reply="Yes.")), reply_to=None, batch=("e1",)).actions

    assert action.target == PULL_REQUEST


@pytest.mark.parametrize("reply", [None, "", " \n\t"])
def test_an_empty_reply_is_none(reply: str | None) -> None:
    assert settle(read(an_item(reply=reply)), batch=("e1",)).actions == ()


def test_a_replys_ordinal_goes_on_behind_the_actions_of_plugins() -> None:
    opened = {"e1": an_open_event("e1", actions=3)}

    (action,) = settle(read(an_item(reply="Yes.")), opened, batch=("e1",)).actions

    assert action.id == outbox.action_id("e1", "triage", 3)


def test_what_the_answer_leaves_out_is_tried_again_alone() -> None:
    _, left = settle(read(an_item("e1"))).changes

    assert (left.event_id, left.verdict, left.state, left.alone) == ("e2", "failed", "deferred", True)
    assert left.reason == "the answer does not mention the event"
    assert left.deferral is not None
    assert (left.deferral.owner, left.deferral.attempts, left.deferral.on_expire) == ("triage", 1, "park")
    assert left.deferral.reason == left.reason


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([an_item("e1", "maybe")], "Invalid enum value 'maybe' - at `$.verdict`"),
        ([an_item("e9")], "an item names an event that is not in the batch"),
        ([an_item("e1", "todo")], "the verdict is todo, but no TODO names the event"),
        ([], "the answer does not mention the event"),
    ],
)
def test_an_event_that_is_tried_again_says_what_was_wrong(items: list[object], reason: str) -> None:
    (change,) = settle(read(*items), batch=("e1",)).changes

    assert (change.reason, change.alone) == (reason, False)


@pytest.mark.parametrize("state", [None, "deferred", "held", "parked"])
def test_an_event_that_left_while_the_agent_worked_keeps_its_end_and_asks_for_nothing(state: str | None) -> None:
    opened = {"e2": an_open_event("e2")} | ({"e1": an_open_event("e1", state=state)} if state else {})
    answer = read(
        an_item("e1", "todo", reply="On it."),
        an_item("e2", reply="Thanks."),
        todos=[a_todo("e1")],
        rebaseRequested=True,
    )

    result = settle(answer, opened)

    assert [change.event_id for change in result.changes] == ["e2"]
    assert [action.related_event_id for action in result.actions] == ["e2"]
    assert result.todos == ()


def test_a_rebase_that_nobody_is_left_to_have_asked_for_is_not_made() -> None:
    answer = read(an_item("e1"), rebaseRequested=True)

    assert settle(answer).rebase_requested
    assert not settle(answer, {}).rebase_requested
    assert not settle(answer, batch=("e2",)).rebase_requested


@pytest.mark.parametrize("verdict", ["acknowledged", "answered", "declined"])
@pytest.mark.parametrize("reply", [None, "I see."])
def test_a_rebase_that_is_asked_for_is_a_todo_and_its_event_says_so(verdict: str, reply: str | None) -> None:
    answer = read(an_item("e1", verdict, reply=reply), rebaseRequested=True)

    result = settle(answer, batch=("e1",))

    (todo,), (change,) = result.todos, result.changes
    assert (todo.title, todo.event_ids, todo.rebase) == ("Rebase the branch onto its base", ("e1",), True)
    assert (change.state, change.verdict) == ("triaged", verdict)
    assert change.reason == "the agent requests a rebase of the branch; the plan has a TODO for it"


def test_the_rebase_is_that_of_the_event_of_which_nothing_else_would_come() -> None:
    items = [an_item("e1", "todo", reply="On it."), an_item("e2", "acknowledged", reply=None)]
    answer = read(*items, todos=[a_todo("e1")], rebaseRequested=True)

    result = settle(answer)

    rename, rebase = result.todos
    assert [change.reason is None for change in result.changes] == [True, False]
    assert (rename.event_ids, rename.rebase) == (("e1",), False)
    assert (rebase.id, rebase.event_ids, rebase.rebase) == (rebase_todo("e2").id, ("e2",), True)


def test_a_rebase_for_which_the_agent_wrote_a_todo_itself_is_one_todo() -> None:
    todos = [a_todo("e1"), a_todo("e1", title="Rebase onto main")]
    answer = read(an_item("e1", "todo"), todos=todos, rebaseRequested=True)

    found = settle(answer, batch=("e1",)).todos

    assert [(todo.title, todo.rebase) for todo in found] == [("Rename it", False), ("Rebase onto main", True)]


def test_a_rebase_that_is_asked_for_twice_is_one_todo() -> None:
    result = settle(read(an_item("e1", reply=None), rebaseRequested=True), batch=("e1",), rebase_open=True)

    assert result.todos == ()
    assert result.changes[0].reason == "the agent requests a rebase of the branch; the plan has a TODO for it"


def test_a_conversation_that_asked_for_a_rebase_waits_for_it() -> None:
    answer = read(an_item("e1", reply=None), rebaseRequested=True)

    (todo,) = settle(answer, batch=("e1",), type="pr_review_comment", reply_to=Target("github", 1)).todos

    assert todo.threads == (Thread("e1", Target("github", 1)),)


def test_a_todo_comes_with_the_events_that_were_settled_only_and_who_approved_them() -> None:
    answer = read(an_item("e1", "todo"), an_item("e2", "maybe"), todos=[a_todo("e2", "e1"), a_todo("e2", title="No")])

    (todo,) = settle(answer, {"e1": an_open_event("e1", approved_by="ann"), "e2": an_open_event("e2")}).todos

    assert todo == Todo(
        id=todo_ids.of_cause("e1", "triage", 0),
        title="Rename it",
        context="in a.py",
        event_ids=("e1",),
        approved_by=("ann",),
    )


def test_a_todo_has_an_id_of_its_own_for_each_cause_owner_and_number_the_same_in_every_version() -> None:
    assert todo_ids.of_cause("e1", "triage") == "t-17ff6f64c0e3"
    assert len({todo_ids.of_cause(cause, owner, n) for cause in "ab" for owner in "ab" for n in (0, 1)}) == 8


def test_todos_have_ids_of_their_own_and_the_same_on_every_run() -> None:
    answer = read(an_item("e1", "todo"), todos=[a_todo(), a_todo(), a_todo(title="Other")])

    todos = settle(answer).todos

    assert len({todo.id for todo in todos}) == 3
    assert settle(answer).todos == todos


@pytest.mark.parametrize(
    ("kind", "waits"),
    [("pr_review_comment", True), ("review_feedback", True), ("pr_comment", False), ("check_failed", False)],
)
def test_a_conversation_that_can_be_resolved_waits_for_its_todo(kind: str, *, waits: bool) -> None:
    answer = read(an_item("e1", "todo"), todos=[a_todo()])

    (todo,) = settle(answer, type=kind, reply_to=PULL_REQUEST).todos

    assert todo.threads == ((Thread("e1", PULL_REQUEST),) if waits else ())


# ---- failed runs and known limits


@pytest.mark.parametrize(("failures", "full"), [(0, 30), (1, 60), (3, 240)])
def test_each_failed_run_makes_the_event_wait_longer(failures: int, full: int) -> None:
    change = triage.run_failed(an_open_event(failures=failures), "exit 1", now=NOW, policy=POLICY, alone=False)

    assert change.deferral is not None
    assert change.deferral.attempts == failures + 1
    assert 0.9 * full <= (change.deferral.deferred_until - NOW).total_seconds() <= full


def test_after_the_last_run_a_person_is_asked() -> None:
    change = triage.run_failed(an_open_event(failures=2), "exit 1", now=NOW, policy=Backoff(max_attempts=3), alone=True)

    reason = "triage failed 3 times; the last error: exit 1"
    assert change == Change(event_id="e1", verdict="parked", state="parked", reason=reason)


def test_a_failed_run_does_not_lengthen_a_wait_that_others_began() -> None:
    event = an_open_event(first_deferred_at=Timestamp.of(NOW - 6 * DAY))

    change = triage.run_failed(event, "exit 1", now=NOW, policy=POLICY, alone=False)

    assert change.deferral is not None
    assert change.deferral.deadline == (NOW + DAY)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(BATCH),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ITEMS = JSON | st.fixed_dictionaries(
    {"eventId": JSON, "verdict": st.sampled_from(["todo", "answered", "acknowledged", "declined"]) | JSON},
    optional={"reply": JSON},
)
TODOS = JSON | st.fixed_dictionaries({"title": JSON, "eventIds": st.lists(st.sampled_from(BATCH)) | JSON})


@given(items=st.lists(ITEMS, max_size=5) | JSON, todos=st.lists(TODOS, max_size=3) | JSON, rebase=JSON)
def test_whatever_an_agent_answers_each_event_of_the_batch_goes_on_or_is_tried_again(
    items: object, todos: object, rebase: object
) -> None:
    answer = triage_answer.read({"items": items, "todos": todos, "rebaseRequested": rebase}, BATCH)

    result = settle(answer, batch=BATCH)

    assert [change.event_id for change in result.changes] == list(BATCH)
    assert all(change.state in {"triaged", "deferred"} for change in result.changes)
    done = {change.event_id for change in result.changes if change.state == "triaged"}
    assert {action.related_event_id for action in result.actions} <= done
    assert all(set(todo.event_ids) <= done for todo in result.todos)
    assert all(msgspec.convert(todo, type(todo)) == todo for todo in result.todos)
