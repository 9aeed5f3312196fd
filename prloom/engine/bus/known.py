"""Which events a bus has had already, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from prloom.engine.bus import entries
from prloom.model.position import Cursor, Position
from prloom.storage.journal import Journal

REMEMBERED = 4096
"""Ids that are kept in memory."""
WINDOW = 1024 * 1024
"""Bytes at the end of the journal whose ids are read when a bus is opened."""


class Known:
    """The ids of the latest events of a journal; for an older one the journal itself is searched.

    The search costs 0.1 ms for a megabyte, and only where memory has had to forget something.
    """

    def __init__(self, journal: Journal, cursor: Cursor) -> None:
        self._journal = journal
        self._before = Position(cursor.segment, cursor.offset)
        self._ids: OrderedDict[str, None] = OrderedDict()
        first: Position | None = None
        for entry in journal.tail(WINDOW):
            first = first or entry.position
            if entry.position < self._before:
                self._remember_line(entry.line)
        oldest = Position(journal.segments()[0], 0)
        # With no line at all in the window, the last one is longer than that, or the journal is empty.
        self._forgetful = first > oldest if first is not None else journal.end() > Cursor(*oldest)

    def __contains__(self, event_id: object) -> bool:
        if not isinstance(event_id, str):
            return False
        return event_id in self._ids or (self._forgetful and self._written(event_id))

    def add(self, event_id: str) -> None:
        """Remember an id; the oldest go."""
        self._ids[event_id] = None
        self._ids.move_to_end(event_id)
        while len(self._ids) > REMEMBERED:
            self._ids.popitem(last=False)
            self._forgetful = True

    def advance(self, cursor: Cursor) -> None:
        """Note how far the journal is read: what stands behind is no memory yet but news."""
        self._before = Position(cursor.segment, cursor.offset)

    def _remember_line(self, line: bytes) -> None:
        event = entries.event(line)
        if event is not None:
            self.add(event.id)

    def _written(self, event_id: str) -> bool:
        needle = msgspec.json.encode(event_id)
        for entry in self._journal.containing(needle, self._before):
            event = entries.event(entry.line)
            if event is not None and event.id == event_id:
                return True
        return False
