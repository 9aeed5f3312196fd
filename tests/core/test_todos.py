from __future__ import annotations

import pytest

from prloom.core import marker, todos
from prloom.model.action import ResolveThread
from prloom.model.decision import Thread
from prloom.model.event import Target

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
    found, actions = todos.resolved(waiting, ticked)

    assert found == done
    assert [action.related_event_id for action in actions] == resolved
    assert all(action.payload == ResolveThread() for action in actions)


def test_a_conversation_is_resolved_where_it_is_and_by_the_same_action_whenever_it_is_asked() -> None:
    _, (action,) = todos.resolved({"t1": (FIRST,)}, {"t1"})
    _, again = todos.resolved({"t9": (FIRST,)}, {"t9"})

    assert action.target == FIRST.target
    assert action.id == marker.action_id("e1", "prloom/resolve", 0)
    assert again == (action,)
