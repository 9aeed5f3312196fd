"""Answer a worker's question about a TODO as the operator: with an event, as if said where the question was posted."""

from __future__ import annotations

from datetime import datetime

from prloom.core.text.naming import printable
from prloom.engine.operator import control, emit
from prloom.engine.plan.runtime import reply_target
from prloom.engine.views import snapshot
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.event import Author, Event, Target
from prloom.model.record import Json
from prloom.model.work import Question
from prloom.storage.paths import RepositoryPaths

_TYPE = "pr_comment"


def answer(where: RepositoryPaths, plan_id: str, todo: str, text: str, now: datetime) -> Event:
    """Put the answer onto the plan's bus, and return it; raises PrloomError where no question about the TODO waits."""
    bus = snapshot.open_bus(where, plan_id)
    found = None
    if bus is not None:
        with bus:
            found = snapshot.current_state(bus).questions.get(todo)
    if found is None:
        raise PrloomError(f"no question about TODO {printable(todo)} of plan {plan_id} waits for an answer")
    made = _event(found, text, control.request_id(now), record.iso(now), reply_target(emit.plan(where, plan_id)))
    emit.append(where, plan_id, [made], now)
    return made


def _event(question: Question, text: str, event_id: str, created_at: str, place: Target) -> Event:
    """Return the event: in the conversation of the question, or at the place of the plan where it was posted."""
    context: dict[str, Json] = {}
    reply_to = None
    if question.threads:
        context["thread"] = question.threads[0]
    else:
        reply_to = place
    return Event(
        id=event_id,
        source="cli",
        type=_TYPE,
        body=text,
        author=Author("operator", emit.OPERATOR),
        reply_to=reply_to,
        context=context,
        created_at=created_at,
    )
