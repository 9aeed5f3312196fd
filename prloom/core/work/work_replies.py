"""Write what is said in the threads of a TODO: that it is done, that nothing had to be done, or a worker's question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from prloom.core.delivery import outbox, reply_sanitizer
from prloom.model.action import Action, Comment
from prloom.model.event import Event, Target
from prloom.model.work import TodoWork

OWNER = "prloom/work"

_LOCAL = "local"
_SHORT = 12
"""Characters of a commit's id that are shown; a forge makes a link of them."""


def done(work: TodoWork, events: Sequence[Event]) -> tuple[Action, ...]:
    """Return the replies that tell the authors of a TODO's events that it is done."""
    if work.rebase:
        text = "Done."
    elif work.commit is not None:
        text = f"Done in {work.commit[:_SHORT]}."
    else:
        text = "There was nothing to do."
    if work.summary:
        text = f"{text}\n\n{work.summary}"
    return tuple(_reply(work, "done", event, event.reply_to, text) for event in events if event.reply_to is not None)


def question(work: TodoWork, text: str, events: Sequence[Event], plan_target: Target) -> tuple[Action, ...]:
    """Return a worker's question, in the threads that the TODO came from, or on the plan where it came from none."""
    asked = tuple(
        _reply(work, "question", event, event.reply_to, text) for event in events if event.reply_to is not None
    )
    if asked:
        return asked
    if plan_target.target == _LOCAL:
        text = f"{text}\n\nAnswer with an item of your own in this file: `- [ ] `…"
    return (_reply(work, "question", None, plan_target, text),)


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
        payload=Comment(reply_sanitizer.sanitize(text, to=login)),
        related_event_id=None if event is None else event.id,
    )
