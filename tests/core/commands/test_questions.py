"""Which events answer a worker's question, and what the next attempt at the TODO is told."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from plan_states import TIME, an_action, an_open_event
from values import an_event

from prloom.core.commands import questions
from prloom.core.commands.questions import Answered
from prloom.model.action import Comment, ResolveThread
from prloom.model.decision import Change
from prloom.model.event import Author, Event, Target
from prloom.model.record import Cursor, Position
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.work import Block, Question, WorkStep

AFTER = Cursor(1, 100)
IN_THREAD = Question(text="Redis?", after=AFTER, threads=("t1",), event_ids=("e1",))
IN_PLACE = Question(text="Redis?", after=AFTER, event_ids=("e1",), targets=("github",))
LATER, EARLIER = Position(1, 100), Position(1, 99)


def an_answer(**values: object) -> Event:
    """Return a comment that answers either question."""
    return replace(an_event("e2", body="Memory", context={"thread": "t1"}), **values)


def found(event: Event, opened: OpenEvent, question: Question = IN_THREAD) -> Answered | None:
    return questions.find({"T1": question}, opened, event)


def test_a_question_is_asked_in_the_conversations_of_the_comments_that_requested_the_todo() -> None:
    comments = [an_event(name, context={"thread": "t1"}) for name in ("e1", "e2")]

    assert questions.question("Redis?", comments, [an_action()], AFTER) == Question(
        text="Redis?", after=AFTER, threads=("t1",), event_ids=("e1", "e2")
    )


@pytest.mark.parametrize(("ids", "threads"), [((), ()), (("e1", "e2"), ("t1",))])
def test_one_without_a_conversation_of_its_own_is_asked_where_it_is_posted(
    ids: tuple[str, ...], threads: tuple[str, ...]
) -> None:
    comments = [an_event(name, context={"thread": "t1"} if name == "e1" else {}) for name in ids]

    asked = questions.question("Redis?", comments, [an_action(), an_action()], AFTER)

    assert asked == Question(text="Redis?", after=AFTER, threads=threads, event_ids=ids, targets=("github",))


def test_what_a_trusted_person_says_in_its_conversation_answers_it_and_nothing_else() -> None:
    assert found(an_answer(), an_open_event(position=LATER)) == Answered("T1", IN_THREAD)


def test_an_edit_of_the_comment_that_requested_the_todo_answers_it() -> None:
    edit = an_answer(context={"supersedes": "e1"})

    assert found(edit, an_open_event(position=LATER), IN_PLACE) == Answered("T1", IN_PLACE)


def test_without_a_conversation_what_is_said_next_in_that_place_answers_it() -> None:
    opened = an_open_event(position=LATER)

    assert found(an_answer(context={}), opened, IN_PLACE) == Answered("T1", IN_PLACE)
    assert found(an_answer(context={}), opened) is None
    assert found(an_answer(context={"thread": "t9"}), opened, IN_PLACE) is None
    assert found(an_answer(context={}, reply_to=Target("other")), opened, IN_PLACE) is None
    assert found(an_answer(context={}, reply_to=None), opened, IN_PLACE) is None


@pytest.mark.parametrize("kind", ["pr_review", "pr_review_comment"])
def test_a_review_that_is_no_reply_to_the_question_asks_for_something_of_its_own(kind: str) -> None:
    review = an_answer(type=kind, context={})

    assert found(review, an_open_event("e2", position=LATER), IN_PLACE) is None


@pytest.mark.parametrize(
    "values",
    [
        {"author": Author("ci", "admin", bot=True)},
        {"body": "/prloom status"},
        {"type": "check_failed"},
    ],
    ids=["of a bot", "a command", "a report"],
)
def test_what_is_no_persons_answer_answers_nothing(values: dict[str, object]) -> None:
    assert found(an_answer(**values), an_open_event(position=LATER)) is None


@pytest.mark.parametrize("values", [{"position": EARLIER}, {"state": "held"}, {"vouched": True}])
def test_what_came_before_it_or_is_a_strangers_answers_nothing(values: dict[str, object]) -> None:
    opened = an_open_event(**{"position": LATER, **values})

    assert found(an_answer(), opened) is None
    assert found(an_answer(context={}), opened, IN_PLACE) is None


def test_an_answer_opens_its_todo_and_its_block_and_is_done_with() -> None:
    block = Block(reason="it asks", since=TIME, way_on="answer", todo="T1")
    event = an_answer(title="Cache", body=" Memory\n")

    parts = questions.answered(DispatchState(block=block), Answered("T1", IN_THREAD), event)

    told = "You asked: Redis?\n\nann answered:\n\nCache\n\n Memory"
    why = "it answers the question about the TODO T1"
    assert parts == {
        "work": WorkStep(todo_id="T1", verdict="answered", reason="ann answered in e2", box="open", answer=told),
        "unblocked": True,
        "changes": (Change(event_id="e2", verdict="handled", state="handled", reason=why),),
    }


def test_an_answer_in_the_place_of_the_question_is_done_with_too_and_leaves_another_todos_block() -> None:
    block = Block(reason="it asks", since=TIME, way_on="answer", todo="T2")
    event = an_answer(title="Memory", body="Memory, please. " + "y" * questions.LONGEST_ANSWER, author=None)

    parts = questions.answered(DispatchState(block=block), Answered("T1", IN_PLACE), event)

    told = f"You asked: Redis?\n\nthe operator answered:\n\n{event.body[: questions.LONGEST_ANSWER]}"
    reason, why = "the operator answered in e2", "it answers the question about the TODO T1"
    assert parts == {
        "work": WorkStep(todo_id="T1", verdict="answered", reason=reason, box="open", answer=told),
        "changes": (Change(event_id="e2", verdict="handled", state="handled", reason=why),),
    }


def test_the_box_of_an_item_that_answers_is_checked() -> None:
    item = Target("local", {"item": "e2"})
    typed = an_answer(reply_to=item, source="cli")  # as by `prloom top`, in the place of the plan

    parts = questions.answered(DispatchState(), Answered("T1", IN_PLACE), an_answer(reply_to=item, source="local"))

    assert [(action.target, action.payload) for action in parts["actions"]] == [(item, ResolveThread())]
    assert "actions" not in questions.answered(DispatchState(), Answered("T1", IN_PLACE), typed)


IN_FILE = Question(text="Redis?", after=AFTER, targets=("local",))
NOW_AT = Cursor(1, 900)


def test_a_question_in_the_plans_file_is_asked_on_the_pull_request_as_soon_as_there_is_one() -> None:
    place = Target("github", {"pr": 7})

    (parts,) = questions.moves({"T1": IN_FILE, "T2": IN_PLACE, "T3": IN_THREAD}, place, NOW_AT)

    moved = replace(IN_FILE, targets=("local", "github"), after=NOW_AT)
    assert parts["work"] == WorkStep(
        todo_id="T1", verdict="asked", reason="the plan has a pull request", question=moved
    )
    assert [(action.target, action.payload) for action in parts["actions"]] == [
        (place, Comment("Redis?\n\nA comment here answers this question."))
    ]
    assert list(questions.moves({"T1": moved}, place, NOW_AT)) == []
    assert list(questions.moves({"T1": IN_FILE}, Target("local"), NOW_AT)) == []
