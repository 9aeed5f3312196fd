"""Whom a reply answers decides whether it is sent, waits, or is dropped."""

from __future__ import annotations

import pytest

from prloom.core.delivery import audience
from prloom.core.delivery.audience import Audience, Posting, PostingRules
from prloom.core.trust import Policy
from prloom.model.action import Action, AddLabels, Comment, InlineComment, Payload, React, Review
from prloom.model.decision import DecisionParts, DeliveryChange
from prloom.model.event import Author, Event, Target


def said(author: Author | None, kind: str = "pr_comment") -> Event:
    return Event(id="e", source="forge", type=kind, body="hello", author=author)


@pytest.mark.parametrize(
    ("event", "admitted", "vouched", "expected"),
    [
        (None, False, False, "trusted"),
        (said(None), False, False, "trusted"),
        (said(Author("ann", "write")), True, False, "trusted"),
        (said(Author("ann")), True, False, "trusted"),
        (said(Author("eve", "none")), True, True, "others"),
        (said(Author("eve", "none")), False, False, "others"),
        (said(Author("ann", "write")), False, False, "trusted"),
        (said(Author("ann")), False, False, "others"),
        (said(Author("helper[bot]", "write", bot=True)), True, False, "bots"),
        (said(Author("helper[bot]", bot=True)), True, True, "bots"),
        (said(Author("ci[bot]", bot=True), "check_failed"), True, False, "trusted"),
    ],
)
def test_an_audience_is_judged_by_the_author_and_by_how_the_text_was_let_in(
    event: Event | None, expected: Audience, *, admitted: bool, vouched: bool
) -> None:
    assert audience.audience(event, Policy(), admitted=admitted, vouched=vouched) == expected


@pytest.mark.parametrize(("of", "expected"), [("trusted", "auto"), ("others", "draft"), ("bots", "never")])
def test_the_defaults_send_only_what_answers_trusted_people(of: Audience, expected: Posting) -> None:
    assert PostingRules().of(of) == expected


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (Comment("hi"), True),
        (InlineComment("a.py", 1, "hi"), True),
        (Review("approve", "fine"), True),
        (React("eyes"), False),
        (AddLabels(("bug",)), False),
    ],
)
def test_only_words_are_over_limit(payload: Payload, *, words: bool) -> None:
    assert Action(target=Target("forge"), payload=payload).has_words is words


def test_the_replies_of_a_decision_are_sent_or_wait_or_are_dropped_and_what_else_it_says_stays() -> None:
    of: dict[str, Audience] = {"sent": "trusted", "waits": "others", "waited": "others", "dropped": "bots"}
    replies = [Action(id=name, target=Target("forge"), payload=Comment("thanks")) for name in of]
    actions = (*replies, Action(id="seen", target=Target("forge"), payload=React("eyes")))
    delivered = DeliveryChange(action_id="old", state="delivered", attempts=1)
    dropped = audience.dropped(replies[3], "bots")
    parts: DecisionParts = {"actions": actions, "drafts": ("before", "waited"), "deliveries": (delivered,)}

    audience.apply(parts, lambda action: of[action.id], PostingRules())

    assert parts == {"actions": actions, "drafts": ("before", "waited", "waits"), "deliveries": (delivered, dropped)}
