"""The texts of open events: read where they stand in the journal, and kept while an event is pending."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prloom.engine.bus import entries
from prloom.model.decision import Change
from prloom.model.event import Event
from prloom.model.state import DispatchState, OpenEvent
from prloom.storage.journal import Journal


class EventCache:
    """The texts of a bus; in memory are those of pending events that were asked for."""

    def __init__(self, events: Journal) -> None:
        self._events = events
        self._kept: dict[str, Event] = {}

    def of(self, opened: OpenEvent) -> Event | None:
        """Return an open event with its text; None if the journal no longer holds the text that was admitted."""
        kept = self._kept.get(opened.id)
        if kept is not None:
            return kept
        found = entries.find(self._events, opened)
        if found is not None:
            self._kept[opened.id] = found
        return found

    def keep(self, event: Event) -> None:
        """Keep the text of an event that is just being taken in, for it is asked for next."""
        self._kept[event.id] = event

    def let_go(self, changes: Iterable[Change], state: DispatchState) -> None:
        """Forget the texts of events that are not pending any more; `state` is the one that the changes led to."""
        for change in changes:
            opened = state.open.get(change.event_id)
            if opened is None or opened.state != "pending":
                self._kept.pop(change.event_id, None)

    def forget(self) -> None:
        """Forget all: what is asked for is read anew."""
        self._kept.clear()

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)
