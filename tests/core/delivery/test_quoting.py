"""In a flat conversation, a reply says what it answers."""

from __future__ import annotations

import pytest
from values import an_event

from prloom.core.delivery import quoting
from prloom.model.action import Action, Comment, React
from prloom.model.event import Author, Event, Target

ANN = Author("ann")


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (an_event(body="Why?\nI wonder.", author=ANN), "> **ann**: Why?\n\nSo."),
        (an_event(body="> Why?\n\nBecause.", author=ANN), "> **ann**: Because.\n\nSo."),
        (an_event(body="x" * 300, author=ANN), f"> **ann**: {'x' * (quoting.LONGEST - 1)}…\n\nSo."),
        (an_event(body="", author=ANN), "So."),
        (an_event(body="Why?", author=None), "So."),
        (an_event(body="Why?", author=ANN, type="pr_review_comment"), "So."),
        (an_event(body="Why?", author=ANN, type="check_failed"), "So."),
    ],
)
def test_a_reply_quotes_the_first_line_and_its_author_where_nothing_else_shows_them(event: Event, said: str):
    target = Target("github", {"pr": 7})
    reply = Action(id="a-1", target=target, payload=Comment("So."), related_event_id=event.id)
    reaction = Action(id="a-2", target=target, payload=React("eyes"), related_event_id=event.id)

    shown, left = quoting.in_replies([reply, reaction], [event])

    assert (shown.payload, left) == (Comment(said), reaction)
