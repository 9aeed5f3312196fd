from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.core.answers import json_answer, worker_answer
from prloom.core.answers.json_answer import InvalidAnswer
from prloom.core.answers.worker_answer import LONGEST_TEXT, MOST_TODOS, OUTCOMES, WorkAnswer
from prloom.model.work import NewTodo


def read(**fields: object) -> WorkAnswer:
    found = worker_answer.read({"outcome": "done", **fields})
    assert isinstance(found, WorkAnswer)
    return found


def problem(value: object) -> str:
    found = worker_answer.read(value)  # type: ignore[arg-type]
    assert isinstance(found, InvalidAnswer)
    return found.problem


def test_a_full_answer_is_read_as_it_was_written() -> None:
    said = {
        "outcome": "done",
        "summary": "Removed the sleep.",
        "commitMessage": "Drop the sleep\n\nNothing waits for it.",
        "question": None,
        "todos": [{"title": "Add a benchmark", "context": "for greet()"}],
        "notes": "greet() is called in app.py",
    }

    assert worker_answer.read(json_answer.find(f"Done!\n{json.dumps(said)}", worker_answer.KEY)) == WorkAnswer(
        outcome="done",
        summary="Removed the sleep.",
        commit_message="Drop the sleep\n\nNothing waits for it.",
        todos=(NewTodo(title="Add a benchmark", context="for greet()"),),
        notes="greet() is called in app.py",
    )


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_outcome_may_stand_alone_but_one_that_needs_words(outcome: str) -> None:
    assert read(outcome=outcome, summary="x").outcome == outcome


def test_a_question_is_what_a_blocked_todo_waits_for() -> None:
    assert read(outcome="blocked", question="Which cache?").question == "Which cache?"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "there is no answer: neither a file nor a JSON object in the final message"),
        ([], "there is no answer"),
        ({}, "`outcome` must be one of done, blocked, nothing_to_do, but it is missing or null"),
        ({"outcome": "finished"}, '`outcome` must be one of done, blocked, nothing_to_do, but it is "finished"'),
        ({"outcome": True}, "but it is true"),
        ({"outcome": "x" * 99}, "but it is a long text"),
        ({"outcome": "done", "summary": ["a"]}, "`summary` must be a text or null, but it is a list"),
        ({"outcome": "done", "commitMessage": 7}, "`commitMessage` must be a text or null, but it is 7"),
        ({"outcome": "done", "notes": {}}, "`notes` must be a text or null, but it is an object"),
        ({"outcome": "done", "todos": "more"}, '`todos` must be a list, but it is "more"'),
        ({"outcome": "done", "todos": ["more"]}, 'entry 1 of `todos` must be an object, but it is "more"'),
        ({"outcome": "done", "todos": [{"title": "a"}, {"title": " \n"}]}, "entry 2 of `todos` has no `title`"),
        ({"outcome": "done", "todos": [{"title": "a"}] * 21}, "`todos` has 21 entries, and at most 20 are allowed"),
        ({"outcome": "blocked"}, "`outcome` is blocked, but neither `question` nor `summary` says by what"),
    ],
)
def test_what_is_wrong_is_one_sentence(value: object, words: str) -> None:
    assert words in problem(value)
    assert "\n" not in problem(value)


def test_an_agent_that_repeats_the_form_has_answered_nothing() -> None:
    assert "but it is" in problem({"outcome": "done | blocked | nothing_to_do"})


def test_texts_have_no_control_characters_and_an_end() -> None:
    found = read(summary="red\x1b[31m\u202e text", notes="y" * (LONGEST_TEXT + 1))

    assert found.summary == "red[31m text"
    assert len(found.notes) == LONGEST_TEXT


@pytest.mark.parametrize("trailer", ["Prloom-Todo: t-2", "prloom-event:x", " Prloom-Plan : other", "PRLOOM-ROUND: 2"])
def test_a_commit_message_has_no_trailer_of_prlooms(trailer: str) -> None:
    assert read(commitMessage=f"Rename it\n\nBecause.\n\n{trailer}\n").commit_message == "Rename it\n\nBecause."
    assert read(commitMessage=f"Rename it\r{trailer}").commit_message == "Rename it"


def test_other_trailers_and_words_about_prloom_stay() -> None:
    said = "Rename it\n\nprloom: it is called so.\n\nCo-authored-by: Ann <ann@example.com>"

    assert read(commitMessage=said).commit_message == said


def test_a_todo_is_one_line_and_of_a_long_one_the_whole_is_its_context() -> None:
    long = "word " * 100

    assert read(todos=[{"title": "two\nlines"}]).todos == (NewTodo(title="two lines"),)
    (todo,) = read(todos=[{"title": long, "context": "why"}]).todos
    assert len(todo.title) == 300
    assert todo.context == f"{long.strip()}\n\nwhy"
    assert len(read(todos=[{"title": "a"}] * MOST_TODOS).todos) == MOST_TODOS


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ("outcome", "summary", "commitMessage", "question", "todos", "notes")


@given(value=anything | st.dictionaries(st.sampled_from(FIELDS), anything | st.sampled_from(OUTCOMES), max_size=6))
def test_no_answer_whatsoever_is_an_error(value: object) -> None:
    assert isinstance(worker_answer.read(value), WorkAnswer | InvalidAnswer)  # type: ignore[arg-type]
