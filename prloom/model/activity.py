"""One thing that an agent did, or that prloom did for it, as it happened: an event of the activity stream."""

from __future__ import annotations

from collections.abc import Mapping

from prloom.model.record import Json, Record


class ActivityEvent(Record, frozen=True, kw_only=True):
    """An event of the activity stream; docs/activity.md says which data each type has.

    `seq` increases by one within a run, and within a plan for what belongs to no run. `timestamp` is Unix time in
    milliseconds. `parent_id` is the id of the event that this one belongs to: of the run's AGENT_START, or of the start
    of what ends here. `type` is one of kinds.ACTIVITY_TYPES, or kinds.UNKNOWN_ACTIVITY.
    """

    id: str
    seq: int
    type: str
    plan_id: str | None
    run_id: str | None = None
    stage: str | None = None
    parent_id: str | None = None
    timestamp: int
    data: Mapping[str, Json]


class ActivityDraft(Record, frozen=True, kw_only=True):
    """What an event is to say, before it has a number. `call` is the id of the tool call that it happened within."""

    type: str
    data: Mapping[str, Json]
    call: str | None = None
