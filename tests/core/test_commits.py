from __future__ import annotations

from typing import Any

import pytest

from prloom.core import commits
from prloom.model.action import Comment, InlineComment, Merge, Payload, Review
from prloom.model.event import Event

A, B, C = "a" * 40, "b" * 40, "c" * 64
MERGE, REVIEW, INLINE = Merge("squash"), Review("approve"), InlineComment("a.py", 3, "Here.")


def an_event(kind: str = "pr_comment", **context: Any) -> Event:
    return Event(id="e1", source="github", type=kind, context=context)


@pytest.mark.parametrize(
    ("payload", "event", "head", "commit"),
    [
        (MERGE, an_event("pr_review", commit=A, head=B), C, A),
        (MERGE, an_event(head=A), B, A),
        (MERGE, an_event("pr_review_comment", commit=A, head=B), C, B),
        (MERGE, an_event(), B, B),
        (MERGE, None, B, B),
        (MERGE, None, None, None),
        (Merge(commit=C), an_event(head=A), B, C),
        (REVIEW, an_event(head=A), B, B),
        (REVIEW, an_event("pr_review", commit=A), None, A),
        (Review("approve", commit=C), an_event(head=A), B, C),
        (INLINE, an_event(head=A), B, B),
        (INLINE, an_event(head=A), None, A),
    ],
)
def test_an_action_is_about_the_commit_that_it_was_decided_on(
    payload: Payload, event: Event | None, head: str | None, commit: str | None
) -> None:
    pinned = commits.pinned(payload, event, head)

    assert (type(pinned), getattr(pinned, "commit", "")) == (type(payload), commit)


def test_an_action_that_is_about_no_commit_stays_as_it_is() -> None:
    assert commits.pinned(Comment("hello"), an_event(head=A), B) == Comment("hello")


@pytest.mark.parametrize("value", ["main", "a" * 39, "A" * 40, "a" * 41, "", 7, None, ["a" * 40], "a" * 40 + "\n"])
def test_what_is_not_the_full_name_of_a_commit_is_none(value: Any) -> None:
    assert commits.pinned(MERGE, an_event(head=value), value) == MERGE


def test_later_attempts_are_about_the_commit_of_the_first_where_the_action_names_none() -> None:
    assert commits.kept(MERGE, A) == Merge("squash", A)
    assert commits.kept(Merge("squash", B), A) == Merge("squash", B)
    assert commits.kept(MERGE, None) == MERGE
