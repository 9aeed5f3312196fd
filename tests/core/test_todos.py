from __future__ import annotations

import pytest

from prloom.core import marker, todos
from prloom.core.plan_file import TodoItem
from prloom.model.action import ResolveThread
from prloom.model.decision import Thread, Todo
from prloom.model.event import Target
from prloom.model.issued import IssuedTodo

FIRST = Thread("e1", Target("github", {"thread": 1}))
SECOND = Thread("e2", Target("github", {"thread": 2}))


@pytest.mark.parametrize(
    ("waiting", "ticked", "done", "resolved"),
    [
        ({}, {"t1"}, (), []),
        ({"t1": (FIRST,)}, set(), (), []),
        ({"t1": (FIRST,)}, {"t1"}, ("t1",), ["e1"]),
        ({"t1": (FIRST, SECOND)}, {"t1"}, ("t1",), ["e1", "e2"]),
        ({"t1": (FIRST,), "t2": (FIRST,)}, {"t1"}, ("t1",), []),
        ({"t1": (FIRST,), "t2": (FIRST,)}, {"t1", "t2"}, ("t1", "t2"), ["e1"]),
        ({"t2": (FIRST,)}, {"t1", "t2"}, ("t2",), ["e1"]),
        ({"t1": (FIRST, SECOND), "t2": (SECOND,)}, {"t1"}, ("t1",), ["e1"]),
    ],
)
def test_a_conversation_is_resolved_with_the_last_of_its_todos(
    waiting: dict[str, tuple[Thread, ...]], ticked: set[str], done: tuple[str, ...], resolved: list[str]
) -> None:
    items = [TodoItem(todo_id, "", done=todo_id in ticked) for todo_id in ("t1", "t2")]
    found, dropped = todos.ended(waiting, items)
    actions = todos.resolved(waiting, found)

    assert (found, dropped) == (done, ())
    assert [action.related_event_id for action in actions] == resolved
    assert all(action.payload == ResolveThread() for action in actions)


def test_a_conversation_is_resolved_where_it_is_and_by_the_same_action_whenever_it_is_asked() -> None:
    (action,) = todos.resolved({"t1": (FIRST,)}, {"t1"})
    again = todos.resolved({"t9": (FIRST,)}, {"t9"})

    assert action.target == FIRST.target
    assert action.id == marker.action_id("e1", "prloom/resolve", 0)
    assert again == (action,)


def test_a_todo_that_was_taken_out_has_ended_and_holds_up_no_conversation() -> None:
    waiting = {"t1": (FIRST,), "t2": (FIRST,)}

    done, dropped = todos.ended(waiting, [TodoItem("t1", "x", done=True), TodoItem(None, "of a person")])

    assert (done, dropped) == (("t1",), ("t2",))
    assert [action.related_event_id for action in todos.resolved(waiting, done, dropped)] == ["e1"]


def test_an_open_todo_that_is_not_waited_for_is_taken_from_what_is_remembered_or_from_the_plan() -> None:
    remembered = {"t1": IssuedTodo(todo=Todo(id="t1", title="x", threads=(FIRST,)), ended=True)}
    items = [TodoItem("t1", "x"), TodoItem("t2", "y", context="c", event_ids=("e2",)), TodoItem(None, "of a person")]

    found = todos.unknown({}, [*items, TodoItem("t3", "z", done=True)], remembered)

    assert found == (remembered["t1"].todo, Todo(id="t2", title="y", context="c", event_ids=("e2",)))
    assert todos.unknown({"t1": (), "t2": ()}, items, remembered) == ()


def test_a_rebase_is_asked_for_while_its_todo_is_in_the_plan() -> None:
    assert todos.rebase(None, (), [Todo(id="t1", title="Rebase", rebase=True)]) is True
    assert todos.rebase("t1", ("t1",), ()) is False
    assert todos.rebase("t1", ("t2",), [Todo(id="t3", title="x")]) is None
