"""Know the requests that were carried out, so that none is repeated from a file that was replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from prloom.model.event import Event
from prloom.model.record import Json

REMEMBERED = 100
"""Of so many requests the ids are kept; older ones are known by their time alone."""


class DoneRequests(NamedTuple):
    """When the last requests that were read were sent, by id, and when the last one before these was sent."""

    sent: Mapping[str, str] = MappingProxyType({})
    before: str = ""

    def has(self, request_id: str, sent_at: str) -> bool:
        """Whether a request was read before, as far as is known: all that are no newer than forgotten ones were."""
        return request_id in self.sent or sent_at <= self.before

    def with_events(self, events: Iterable[Event]) -> DoneRequests:
        """Return these and newer ones, without the ids of the oldest."""
        new = [(event.id, event.created_at or "") for event in events]
        if not new:
            return self
        sent = [*self.sent.items(), *new]
        return DoneRequests(dict(sent[-REMEMBERED:]), max((self.before, *(at for _, at in sent[:-REMEMBERED]))))

    def to_wire(self) -> dict[str, Json]:
        """Return the keys by which `control.json` keeps them."""
        return {"done": dict(self.sent), "doneBefore": self.before}


def read(saved: Mapping[str, Json]) -> DoneRequests:
    """Return the requests that `control.json` keeps; none where it keeps none, as an earlier version."""
    sent, before = saved.get("done"), saved.get("doneBefore")
    if not isinstance(sent, dict) or not isinstance(before, str):
        return DoneRequests()
    return DoneRequests({name: at for name, at in sent.items() if isinstance(at, str)}, before)
