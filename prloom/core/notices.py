"""Decide what follows from a notice: an event without anybody's words, which needs no answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prloom.core import outbox
from prloom.model.decision import Change, DeliveryChange
from prloom.model.event import Event
from prloom.model.state import QueuedAction

_STATUS: Mapping[str, str] = {"pr_closed": "closed", "pr_merged": "merged", "pr_reopened": "active"}
"""What a plan is after its pull request was closed, merged or reopened."""


def status(events: Iterable[Event]) -> str | None:
    """Return what these events, in the order in which they came, make of their plan; None: it stays what it is."""
    told = [_STATUS[event.type] for event in events if event.notice and event.type in _STATUS]
    if told:
        return told[-1]
    return None


def withdrawn(event: Event, queue: Iterable[QueuedAction]) -> tuple[DeliveryChange, ...]:
    """Return the end of all that is still to be sent because of a comment that was deleted.

    Nobody is there to be answered; and what the comment asked for, its author has taken back.
    """
    comment = event.deletes
    reason = f"its comment was deleted: {event.id}"
    return tuple(outbox.dropped(action, reason) for action in queue if comment and action.event_id == comment)


def finished(event_ids: Iterable[str]) -> tuple[Change, ...]:
    """Return the end of notices that every plugin has seen: no agent is asked, for nobody waits for an answer."""
    reason = "a notice, shown to every plugin; it needs no answer"
    return tuple(Change(event_id=each, verdict="handled", state="handled", reason=reason) for each in event_ids)
