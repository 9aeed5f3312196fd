"""Decide which events answer a worker's question, and what the next attempt is told of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from prloom.core.commands import comment_commands
from prloom.core.delivery import outbox
from prloom.core.text import bounds
from prloom.core.work import work_replies
from prloom.core.work.work_replies import LOCAL, OWNER
from prloom.model.action import Action, ResolveThread
from prloom.model.decision import Change, DecisionParts
from prloom.model.event import Event, Target
from prloom.model.record import Cursor
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.work import Question, WorkStep

LONGEST_ANSWER = 8000
"""Characters of an answer that the next attempt is shown."""


_COMMENTS: Final = ("pr_comment", "review_feedback")
"""What is said in a conversation, and not about a change."""


class Answered(NamedTuple):
    """The question about a TODO that an event answers."""

    todo_id: str
    question: Question


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

    Where it was asked in a conversation of its own, that is whatever is said there; else, it is the next comment in
    that place. A review, or a comment on a line, that is no reply to it asks for something of its own.
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
            return Answered(todo_id, question)
        source = None
        if event.reply_to is not None and event.type in _COMMENTS and not isinstance(thread, str):
            source = event.reply_to.target
        if source in question.targets:
            return Answered(todo_id, question)
    return None


def answered(state: DispatchState, found: Answered, event: Event) -> DecisionParts:
    """Return that a TODO is open again, with the answer for its next attempt, and that the event is done with.

    No agent reads it once more: without the question, an answer would be taken for a request.
    """
    author = "the operator"
    if event.author is not None:
        author = event.author.login
    said = f"{event.title}\n\n{event.body}".strip() if event.title not in event.body else event.body.strip()
    told = f"You asked: {found.question.text}\n\n{author} answered:\n\n{said[:LONGEST_ANSWER]}"
    reason = bounds.cut(f"{author} answered in {event.id}")
    step = WorkStep(todo_id=found.todo_id, verdict="answered", reason=reason, box="open", answer=told)
    why = f"it answers the question about the TODO {found.todo_id}"
    handled = Change(event_id=event.id, verdict="handled", state="handled", reason=why)
    parts: DecisionParts = {"work": step, "changes": (handled,)}
    if event.reply_to is not None and event.source == LOCAL:  # the box of the item that it was
        ident = outbox.action_id(f"{found.todo_id}/{event.id}/answered", OWNER, 0)
        parts["actions"] = (Action(id=ident, target=event.reply_to, payload=ResolveThread()),)
    if state.block is not None and state.block.todo == found.todo_id:
        parts["unblocked"] = True
    return parts


def moves(questions: Mapping[str, Question], place: Target, after: Cursor) -> Iterator[DecisionParts]:
    """Yield for each question that was asked in the plan's file that it is asked on the pull request, too.

    `place` is the plan's conversation; there is none elsewhere while that is the file. Answers come `after` it there.
    """
    if place.target == LOCAL:
        return
    for todo_id, question in questions.items():
        if question.targets == (LOCAL,):
            moved = replace(question, targets=(LOCAL, place.target), after=after)
            step = WorkStep(todo_id=todo_id, verdict="asked", reason="the plan has a pull request", question=moved)
            yield {"work": step, "actions": (work_replies.moved_question(todo_id, moved, place),)}
