"""Write what is said in the threads of a TODO: that it is done, that nothing had to be done, or a worker's question."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Literal

from msgspec.structs import replace

from prloom.core.delivery import outbox, quoting, reply_sanitizer
from prloom.core.text import markdown
from prloom.core.work.automatic_todos import CHECK
from prloom.model.action import Action, Comment
from prloom.model.event import Event, Target
from prloom.model.kinds import TRIAGE
from prloom.model.work import Question, TodoWork

OWNER = "prloom/work"

LOCAL = "local"
"""The target of the plan's own files."""

_ORDINALS = 16
"""How many actions of one event are tried to find the reply of its triage."""

_SHORT = 12
"""Characters of a commit's id that are shown; a forge makes a link of them."""


def done(work: TodoWork, events: Sequence[Event], issued: Container[str] = ()) -> tuple[Action, ...]:
    """Return the replies that tell the authors of a TODO's events that it is done.

    Who requested it gets one reply: where one of those `issued` answers the event already, the words are added to it.
    """
    return tuple(
        _with_earlier(_reply(work, "done", event, event.reply_to, _done_text(work, event)), event, issued)
        for event in events
        if event.reply_to is not None
    )


def _with_earlier(action: Action, event: Event, issued: Container[str]) -> Action:
    """Return a reply that is added to the first one to the event; where it is that itself, with an id that says so."""
    first = outbox.action_id(f"{event.id}/done", OWNER, 0)
    answers = (*(outbox.action_id(event.id, TRIAGE, ordinal) for ordinal in range(_ORDINALS)), first)
    earlier = next((each for each in answers if each in issued), None)
    if earlier is None:
        return replace(action, id=first)
    assert isinstance(action.payload, Comment)  # noqa: S101 - as every reply
    return replace(action, payload=replace(action.payload, appends_to=earlier))


def _done_text(work: TodoWork, event: Event) -> str:
    """Return what became of a TODO, as the conversation of one of its events is told; a check is named."""
    check = event.context.get("check")
    if work.rebase:
        text = "Done."
    elif work.commit is None:
        text = "There was nothing to do."
    elif event.type == CHECK and isinstance(check, str):
        text = f"Fixed the check {markdown.code(markdown.one_line(check))} in {work.commit[:_SHORT]}."
    else:
        text = f"Done in {work.commit[:_SHORT]}."
    if work.summary:
        return f"{text}\n\n{work.summary}"
    return text


def question(work: TodoWork, text: str, events: Sequence[Event], plan_target: Target) -> tuple[Action, ...]:
    """Return a worker's question, in the threads that the TODO came from, or on the plan where it came from none."""
    places: list[tuple[Event | None, Target]] = [
        (event, event.reply_to) for event in events if event.reply_to is not None
    ]
    if not places:
        return (_reply(work, "question", None, plan_target, _with_way(_about(work.title, text), plan_target)),)
    return tuple(_reply(work, "question", event, place, _with_way(text, place)) for event, place in places)


def moved_question(todo_id: str, asked: Question, place: Target) -> Action:
    """Return a question that was asked in the plan's file, as it is posted on the pull request."""
    ident = outbox.action_id(f"{todo_id}/question/{asked.after[0]}/{asked.after[1]}", OWNER, 0)
    text = reply_sanitizer.sanitize(_with_way(asked.text, place), to=None)
    return Action(id=ident, target=place, payload=Comment(text))


def _about(title: str, text: str) -> str:
    """Return a question that stands beside none of what it is about."""
    return f"About the TODO {markdown.code(markdown.one_line(title))}: {text}"


def _with_way(text: str, place: Target) -> str:
    """Return a question with what answers it there."""
    way = "A comment here answers this question."
    if place.target == LOCAL:
        way = "Answer with an item of your own in this file: `- [ ] `…"
    return f"{text}\n\n{way}"


def _reply(
    work: TodoWork, kind: Literal["done", "question"], event: Event | None, target: Target | None, text: str
) -> Action:
    login, cause = None, work.id
    if event is not None:
        cause = f"{work.id}/{event.id}"
        if event.author is not None:
            login = event.author.login
    ident = outbox.action_id(f"{cause}/{kind}/{work.round}/{work.attempt}", OWNER, 0)
    assert target is not None  # noqa: S101 - events without one are left out above
    return Action(
        id=ident,
        target=target,
        payload=Comment(quoting.quoted(reply_sanitizer.sanitize(text, to=login), event)),
        related_event_id=None if event is None else event.id,
    )
