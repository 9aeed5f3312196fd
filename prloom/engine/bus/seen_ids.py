"""Which events a bus has had already, and where they stand, in bounded memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from prloom.engine.bus import entries
from prloom.engine.bus.tables import SegmentTables
from prloom.model.position import Cursor, Position
from prloom.storage import index
from prloom.storage.index import Table
from prloom.storage.journal import Journal

REMEMBERED = 16 * 1024
"""Ids that are kept in memory as they are; of older ones there is a checksum and a place, 8 bytes each."""


class SeenIds:
    """The ids of the events of a journal up to a cursor.

    The latest are remembered, for the others there are tables. Nothing is read before it is needed.
    """

    def __init__(self, journal: Journal, cursor: Cursor) -> None:
        self._journal = journal
        self._before = cursor
        self._ids: dict[str, Position] = {}
        self._told: dict[str, Position] = {}
        self._until = cursor
        self._tables = SegmentTables(journal, self._scanned)
        self._looked = False
        journal.segments()  # which sees that the journal is none that could not be read

    def __contains__(self, event_id: object) -> bool:
        return isinstance(event_id, str) and self.position(event_id) is not None

    def position(self, event_id: str) -> Position | None:
        """Return where an event stands that was read, or None."""
        found = self._ids.get(event_id) or self._told.get(event_id)
        if found is not None:
            return found
        for place in self._candidates(event_id):
            if place.offset == index.FAR:
                return self._searched(event_id)
            event = entries.event(self._journal.read_at(place))
            if event is not None and event.id == event_id:
                return place
        return None

    def add(self, event_id: str, position: Position) -> None:
        """Remember an id that is read now; older ones are let go of when the cursor moves on."""
        self._ids[event_id] = position

    def recall(self, places: Iterable[tuple[str, Position]], until: Cursor) -> None:
        """Know what was taken in of a file whose place another one took, as long as that is not read up to a cursor."""
        self._told, self._until = dict(places), until

    def meet(self, event_id: str, position: Position) -> None:
        """Note where an event stands now that was recalled."""
        if event_id in self._told:
            self.add(event_id, position)

    def advance(self, cursor: Cursor) -> None:
        """Note how far the journal is read: what stands behind is no memory yet but news."""
        before, self._before = self._before, cursor
        if self._told and cursor[:2] >= self._until[:2]:
            self._told = {}
        if self._looked and (cursor.segment > before.segment or len(self._ids) > REMEMBERED):
            self._settle()

    # ---- inside

    def _candidates(self, event_id: str) -> Iterator[Position]:
        """Yield the places where an event may stand, the latest segments first."""
        if not self._looked:
            self._tables.look_round(self._before)
            self._looked = True
        return self._tables.places(index.checksum(event_id))

    def _settle(self) -> None:
        """Let go of the ids themselves, and keep where they stand."""
        by_segment: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for event_id, at in self._ids.items():
            by_segment[at.segment].append((event_id, at.offset))
        self._ids = {}
        self._tables.look_round(self._before)
        for number, places in by_segment.items():
            self._tables.add(number, index.made(places, self._read_to(number)))

    def _read_to(self, number: int) -> int:
        """Return how far a segment was read."""
        if number >= self._before.segment - 1:
            if number == self._before.segment:
                return self._before.offset
            return self._before.late
        return self._journal.size(number) or 0

    def _scanned(self, number: int, start: int, stop: int) -> Table:
        """Return the table of a part of a segment, with what only looks like an event: each find is looked at."""
        places = (
            (found.data.id, entry.position.offset)
            for entry in self._journal.part(number, start, stop)
            if (found := _named(entry.line)) is not None
        )
        return index.made(places, stop)

    def _searched(self, event_id: str) -> Position | None:
        for entry in self._journal.containing(msgspec.json.encode(event_id), Position(*self._before[:2])):
            event = entries.event(entry.line)
            if event is not None and event.id == event_id:
                return entry.position
        return None


class _Id(msgspec.Struct):
    id: str


class _Named(msgspec.Struct):
    data: _Id


_decoder = msgspec.json.Decoder(_Named)


def _named(line: bytes) -> _Named | None:
    """Return the id that a line gives its event; the rest of the line is passed over."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        event = entries.event(line)  # which takes a second look
        if event is None:
            return None
        return _Named(_Id(event.id))
