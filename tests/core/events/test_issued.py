from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from values import an_event

from prloom.core.delivery import outbox
from prloom.core.events import issued
from prloom.core.events.issued import Posts
from prloom.core.plans.plan_file import TodoItem
from prloom.model.action import Action, AddLabels, Comment, React, ResolveThread
from prloom.model.decision import Change, Decision, Thread, Todo
from prloom.model.event import Author, Event, Target
from prloom.model.state import IssuedPost, IssuedTodo

ANSWER = outbox.action_id("e1", "triage", 0)
UNKNOWN = outbox.action_id("of a plugin that is gone", "plugin", 0)
NOON, LATER = "2026-11-21T12:00:00.000Z", "2026-11-21T13:00:00.000Z"


def posts_of(*lines: IssuedPost | IssuedTodo) -> Posts:
    posts = Posts()
    for line in lines:
        posts.add(line)
    return posts


def an_action(payload: Any, event_id: str | None = "e1") -> Action:
    return Action(id=ANSWER, target=Target("forge"), payload=payload, related_event_id=event_id)


def found(own: Iterable[Event], others: Iterable[Event] = (), plugins: Iterable[str] = (), *known: IssuedPost) -> Posts:
    """Return what is remembered after a poll that brought prloom's own posts and the others."""
    posts = posts_of(*known)
    by_action = {outbox.marked(event.body)[0]: event for event in own}
    for line in issued.found_posts(by_action, tuple(others), posts, tuple(plugins)):
        posts.add(line)
    return posts


def a_post(action: str = ANSWER, **fields: Any) -> Event:
    return an_event("post", body=outbox.marker(action), **{"created_at": LATER, **fields})


# ---- what is remembered of a decision


@pytest.mark.parametrize(
    ("payload", "remembered"), [(Comment("Done."), True), (React("eyes"), False), (AddLabels(("a",)), False)]
)
def test_an_action_with_words_is_remembered(payload: Any, *, remembered: bool) -> None:
    decision = Decision(seq=1, stage="triage", by="claude", actions=(an_action(payload),))

    assert [line.action_id for line in issued.posts_of_decision(decision)] == [ANSWER] * remembered


@pytest.mark.parametrize(("state", "ended"), [("triaged", True), ("handled", True), ("deferred", False)])
def test_what_is_said_while_an_event_still_waits_does_not_answer_it(state: Any, *, ended: bool) -> None:
    change = Change(event_id="e1", verdict="handled", state=state)
    decision = Decision(seq=1, stage="s", by="b", changes=(change,), actions=(an_action(Comment("Wait.")),))
    posts = found([a_post()], [], [], *issued.posts_of_decision(decision))

    assert (issued.earlier_answer(an_event("e1"), posts, ()) is not None) is ended


# ---- what was answered


def test_an_event_is_answered_by_the_post_whose_action_was_derived_from_it() -> None:
    posts = found([a_post()])

    assert issued.earlier_answer(an_event("e1"), posts, ()) is not None
    assert issued.earlier_answer(an_event("e2"), posts, ()) is None


@pytest.mark.parametrize("owner", ["triage", "prloom", "memory"])
@pytest.mark.parametrize("ordinal", [0, 3])
def test_the_post_may_be_any_answer_of_prlooms_or_of_a_plugin(owner: str, ordinal: int) -> None:
    posts = found([a_post(outbox.action_id("e1", owner, ordinal))])

    assert issued.earlier_answer(an_event("e1"), posts, ["memory"]) is not None


def test_what_was_issued_and_is_not_found_answers_nothing() -> None:
    posts = posts_of(IssuedPost(action_id=ANSWER, event_id="e1", ended=True))

    assert issued.earlier_answer(an_event("e1"), posts, ()) is None


def test_a_bots_edit_of_a_comment_that_was_answered_is_answered() -> None:
    posts, edit = found([a_post()]), {"supersedes": "e1"}

    assert issued.earlier_answer(an_event("e1@2", author=Author("ci", bot=True), context=edit), posts, ()) is not None
    assert issued.earlier_answer(an_event("e1@2", author=Author("ann"), context=edit), posts, ()) is None


def test_a_notice_is_never_answered() -> None:
    posts = found([a_post()])

    assert issued.earlier_answer(an_event("e1", type="pr_pushed", author=None, body=""), posts, ()) is None


# ---- threads


def in_thread(event_id: str, at: str, thread: str = "1") -> Event:
    return an_event(event_id, created_at=at, context={"thread": thread})


def test_a_post_of_which_nothing_is_known_answers_what_stands_before_it_in_its_thread() -> None:
    posts = found([a_post(UNKNOWN, context={"thread": "1"}, created_at=LATER)])

    assert issued.earlier_answer(in_thread("before", NOON), posts, ()) is not None
    assert issued.earlier_answer(in_thread("after", "2026-11-21T14:00:00.000Z"), posts, ()) is None
    assert issued.earlier_answer(in_thread("elsewhere", NOON, "2"), posts, ()) is None
    assert issued.earlier_answer(an_event("in the conversation", created_at=NOON), posts, ()) is None
    assert issued.earlier_answer(an_event("undated", created_at=None, context={"thread": "1"}), posts, ()) is None

    posts.add(IssuedPost(action_id=UNKNOWN, event_id="e2", ended=True))
    assert issued.earlier_answer(in_thread("before", NOON), posts, ()) is None
    assert issued.earlier_answer(an_event("e2"), posts, ()) is not None


def test_a_post_that_answers_another_comment_of_its_thread_answers_that_one_only() -> None:
    asked, held = in_thread("e1", NOON), in_thread("by a stranger", NOON)
    posts = found([a_post(context={"thread": "1"})], [asked, held])

    assert issued.earlier_answer(asked, posts, ()) is not None
    assert issued.earlier_answer(held, posts, ()) is None


def test_a_post_is_remembered_once() -> None:
    posts = found([a_post()])

    assert issued.found_posts({ANSWER: a_post()}, (), posts, ()) == ()


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
    items = [TodoItem(todo_id, "", "done" if todo_id in ticked else "open") for todo_id in ("t1", "t2")]
    found, dropped = issued.ended_todos(waiting, items)
    actions = issued.resolve_threads(waiting, found)

    assert (found, dropped) == (done, ())
    assert [action.related_event_id for action in actions] == resolved
    assert all(action.payload == ResolveThread() for action in actions)


def test_a_conversation_is_resolved_where_it_is_and_by_the_same_action_whenever_it_is_asked() -> None:
    (action,) = issued.resolve_threads({"t1": (FIRST,)}, {"t1"})
    again = issued.resolve_threads({"t9": (FIRST,)}, {"t9"})

    assert action.target == FIRST.target
    assert action.id == outbox.action_id("e1", "prloom/resolve", 0)
    assert again == (action,)


def test_a_todo_that_was_taken_out_has_ended_and_holds_up_no_conversation() -> None:
    waiting = {"t1": (FIRST,), "t2": (FIRST,)}

    done, dropped = issued.ended_todos(waiting, [TodoItem("t1", "x", "done"), TodoItem(None, "of a person")])

    assert (done, dropped) == (("t1",), ("t2",))
    assert [action.related_event_id for action in issued.resolve_threads(waiting, done, dropped)] == ["e1"]


def test_an_open_todo_that_is_not_waited_for_is_taken_from_what_is_remembered_or_from_the_plan() -> None:
    remembered = {"t1": IssuedTodo(todo=Todo(id="t1", title="x", threads=(FIRST,)), ended=True)}
    items = [TodoItem("t1", "x"), TodoItem(None, "of a person"), TodoItem("t2", "y", context="c", event_ids=("e2",))]

    found = issued.unknown_todos({}, [TodoItem("t3", "z", "done"), *items], remembered)

    assert found == (remembered["t1"].todo, Todo(id="t2", title="y", context="c", event_ids=("e2",)))
    assert issued.unknown_todos({"t1": (), "t2": ()}, items, remembered) == ()


def test_each_event_of_a_todo_has_requested_it_also_once_it_has_ended() -> None:
    rename, drop = Todo(id="t1", title="x", event_ids=("e1", "e2")), Todo(id="t2", title="y", event_ids=("e3",))
    posts = posts_of(IssuedTodo(todo=rename), IssuedTodo(todo=drop), IssuedTodo(todo=rename, ended=True))

    assert [issued.requested_todo(an_event(f"e{n}"), posts) for n in range(1, 5)] == [rename, rename, drop, None]
    assert issued.open_todos(posts) == (drop,)


def test_a_rebase_is_asked_for_while_its_todo_is_in_the_plan() -> None:
    assert issued.rebase_requested(None, (), [Todo(id="t1", title="Rebase", rebase=True)]) is True
    assert issued.rebase_requested("t1", ("t1",), ()) is False
    assert issued.rebase_requested("t1", ("t2",), [Todo(id="t3", title="x")]) is None
