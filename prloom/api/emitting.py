"""Take in the actions that a plugin asks for: checked when it asks, and filed under the event that they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from prloom.api import strict
from prloom.core import outbox
from prloom.model import record
from prloom.model.action import Action
from prloom.model.event import Event, Target
from prloom.model.record import Json


def action(asked: Action | Mapping[str, Json], related_event_id: str | None, events: Sequence[Event]) -> Action:
    """Return the action that is asked for, copied, so that nothing that the plugin does to it later matters.

    Its id is left to be derived. Raises ValueError, whose text says what is wrong.
    """
    try:
        wire = strict.copy(msgspec.to_builtins(asked))
        if related_event_id is not None and isinstance(wire, dict):
            wire["relatedEventId"] = related_event_id
        read = record.from_wire(Action, wire)
    except (TypeError, RecursionError, msgspec.ValidationError) as error:
        raise ValueError(str(error)) from error
    given = asked.target if isinstance(asked, Action) else asked.get("target")
    cause = read.related_event_id or _answered(events, given, read.target)
    return msgspec.structs.replace(read, id="", related_event_id=cause)


def _answered(events: Sequence[Event], given: Json, target: Target) -> str | None:
    """Return the event that an action for this target answers, or None where that could be several.

    Many events may be answered in one place; the very value that was taken from one of them tells which is meant.
    """
    if len(events) == 1:
        return events[0].id
    if target.target == outbox.PLAN_TARGET:
        place = None
    else:
        place = target
    taken = [event.id for event in events if given is not None and event.reply_to is given]
    answered = taken or [event.id for event in events if event.reply_to == place]
    if len(answered) == 1:
        return answered[0]
    return None
