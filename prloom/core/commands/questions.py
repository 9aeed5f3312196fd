"""Decide which events answer a worker's question, and what the next attempt is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prloom.core.commands import comment_commands
from prloom.core.text import bounds
from prloom.model.action import Action
from prloom.model.decision import Change, DecisionParts
from prloom.model.event import Event
from prloom.model.record import Cursor
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.work import Question, WorkStep

LONGEST_ANSWER = 8000
"""Characters of an answer that the next attempt is shown."""


class Answered(NamedTuple):
    """The event that answers the question about a TODO; `is_reply` says that it is about nothing else."""

    todo_id: str
    question: Question
    is_reply: bool


def question(text: str, events: Sequence[Event], posts: Sequence[Action], after: Cursor) -> Question:
    """Return a question about a TODO that these events requested, as it is posted; answers come `after` it."""
    threads = {event.id: event.context.get("thread") for event in events}
    plain = not events or any(not isinstance(thread, str) for thread in threads.values())
    return Question(
        text=text,
        threads=tuple(dict.fromkeys(thread for thread in threads.values() if isinstance(thread, str))),
        event_ids=tuple(threads),
        targets=tuple(dict.fromkeys(post.target.target for post in posts)) if plain else (),
        after=after,
    )


def find(questions: Mapping[str, Question], opened: OpenEvent, event: Event) -> Answered | None:
    """Return the question that an event answers: a trusted person's own words, where the question was asked.

    Where it was asked in a conversation of its own, that is whatever is said there; else, what is said next in that
    place.
    """
    if opened.state != "pending" or opened.vouched or not event.spoken or comment_commands.parse(event) is not None:
        return None
    if event.author is not None and event.author.bot:
        return None
    thread = event.context.get("thread")
    for todo_id, question in questions.items():
        if opened.position < question.after[:2]:
            continue
        if (isinstance(thread, str) and thread in question.threads) or event.supersedes in question.event_ids:
            return Answered(todo_id, question, is_reply=True)
        source = None
        if event.reply_to is not None and not isinstance(thread, str):
            source = event.reply_to.target
        if source in question.targets:
            return Answered(todo_id, question, is_reply=False)
    return None


def answered(state: DispatchState, found: Answered, event: Event) -> DecisionParts:
    """Return that a TODO is open again, with the answer for its next attempt.

    A reply in the question's own conversation is done with; anything else may be about something else as well, and
    goes on.
    """
    author = "the operator"
    if event.author is not None:
        author = event.author.login
    said = f"{event.title}\n\n{event.body}".strip() if event.title not in event.body else event.body.strip()
    told = f"You asked: {found.question.text}\n\n{author} answered:\n\n{said[:LONGEST_ANSWER]}"
    reason = bounds.cut(f"{author} answered in {event.id}")
    step = WorkStep(todo_id=found.todo_id, verdict="answered", reason=reason, box="open", answer=told)
    parts: DecisionParts = {"work": step}
    if state.block is not None and state.block.todo == found.todo_id:
        parts["unblocked"] = True
    if found.is_reply:
        why = f"it answers the question about the TODO {found.todo_id}"
        parts["changes"] = (Change(event_id=event.id, verdict="handled", state="handled", reason=why),)
    return parts
