from __future__ import annotations

import pytest

from prloom.core.answers import review_answer
from prloom.core.answers.json_answer import InvalidAnswer
from prloom.core.answers.review_answer import LineComment, ReviewAnswer


def read(**fields: object) -> ReviewAnswer:
    found = review_answer.read(fields)  # type: ignore[arg-type]
    assert isinstance(found, ReviewAnswer)
    return found


def test_an_approval_needs_no_words() -> None:
    assert read(verdict="approve") == ReviewAnswer(verdict="approve")


def test_a_rejection_says_what_to_correct_and_where() -> None:
    comments = [{"path": "app.py", "line": 3, "body": "This is slow."}, {"path": "b.py", "line": None, "body": "Why?"}]

    found = read(verdict="reject", summary="Not yet.", comments=comments)

    assert found.comments == (
        LineComment(path="app.py", line=3, body="This is slow."),
        LineComment(path="b.py", line=None, body="Why?"),
    )
    assert review_answer.as_text(found) == "Not yet.\n\napp.py:3: This is slow.\n\nb.py: Why?"


def test_a_comment_may_be_about_the_change_as_a_whole() -> None:
    found = read(verdict="reject", comments=[{"body": "Too much."}])

    assert review_answer.as_text(found) == "the change: Too much."


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("approve", "there is no answer"),
        ({"verdict": "lgtm"}, '`verdict` must be one of approve, reject, but it is "lgtm"'),
        ({"verdict": "approve | reject"}, "`verdict` must be one of approve, reject"),
        ({"verdict": "reject"}, "`verdict` is reject, but neither `summary` nor `comments` says why"),
        ({"verdict": "reject", "comments": [{"path": "a"}]}, "entry 1 of `comments` has no `body`"),
        ({"verdict": "reject", "comments": [{"body": "x", "line": "3"}]}, "must be a line number or null"),
        ({"verdict": "reject", "comments": [{"body": "x", "line": True}]}, "must be a line number or null"),
        ({"verdict": "reject", "comments": [{"body": "x", "line": 0}]}, "must be a line number or null"),
        ({"verdict": "approve", "comments": [{"body": "x"}] * 101}, "at most 100 are allowed"),
    ],
)
def test_what_is_wrong_is_one_sentence(value: object, words: str) -> None:
    found = review_answer.read(value)  # type: ignore[arg-type]

    assert isinstance(found, InvalidAnswer)
    assert words in found.problem
    assert "\n" not in found.problem


def test_a_path_is_one_line_without_control_characters() -> None:
    assert read(verdict="approve", comments=[{"path": "a\x1b]0;x\x07\nb", "body": "x"}]).comments[0].path == "a]0;x b"
