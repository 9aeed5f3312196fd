"""Which events a bus has had already, and where they stand, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from prloom.engine.bus import entries
from prloom.engine.bus.closed import Closed
from prloom.model.position import Cursor, Position
from prloom.storage import index
from prloom.storage.index import Table
from prloom.storage.journal import Journal
from prloom.storage.places import Places

REMEMBERED = 16 * 1024
"""Ids that are kept in memory as they are; of older ones there is a checksum and a place, 8 bytes each."""


class Known:
    """The ids of the events of a journal up to a cursor.

    The latest are remembered. For the others there is a table in memory for the live segment, and tables on the disk
    for those that were closed. Nothing is read before it is needed.
    """

    def __init__(self, journal: Journal, cursor: Cursor) -> None:
        self._journal = journal
        self._before = cursor
        self._ids: dict[str, Position] = {}
        self._live: Places | None = None
        self._closed = Closed(journal, self._scanned)
        journal.segments()  # which sees that the journal is none that could not be read

    def __contains__(self, event_id: object) -> bool:
        return isinstance(event_id, str) and self.position(event_id) is not None

    def position(self, event_id: str) -> Position | None:
        """Return where an event stands that was read, or None."""
        found = self._ids.get(event_id)
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

    def advance(self, cursor: Cursor) -> None:
        """Note how far the journal is read: what stands behind is no memory yet but news."""
        before, self._before = self._before, cursor
        if self._live is None or (cursor.segment == before.segment and len(self._ids) <= REMEMBERED):
            return
        self._settle(before.segment)
        if cursor.segment > before.segment:
            self._close(before.segment, cursor)

    # ---- inside

    def _candidates(self, event_id: str) -> Iterator[Position]:
        """Yield the places where an event may stand, the latest segments first."""
        if self._live is None:
            self._live = Places(self._places(self._before.segment, 0, self._before.offset))
            self._closed.look_round(self._before.segment, self._before.late)
        low = index.checksum(event_id)
        for offset in self._live.find(low):
            yield Position(self._before.segment, offset)
        yield from self._closed.places(low)

    def _settle(self, segment: int) -> None:
        """Let go of the ids themselves, and keep where they stand."""
        assert self._live is not None  # noqa: S101 - the caller has looked
        self._live.add((key, at.offset) for key, at in self._ids.items() if at.segment == segment)
        late = {key: at for key, at in self._ids.items() if at.segment < segment}
        self._ids = {key: at for key, at in self._ids.items() if at.segment > segment}
        for number in {at.segment for at in late.values()}:
            read = self._before.late if number == self._before.segment - 1 else self._journal.size(number) or 0
            self._closed.add(
                number, index.made(((key, at.offset) for key, at in late.items() if at.segment == number), read)
            )

    def _close(self, segment: int, cursor: Cursor) -> None:
        """Keep the table of a segment that is read to its end, and begin a new one."""
        assert self._live is not None  # noqa: S101 - likewise
        covered = cursor.late if cursor.segment == segment + 1 else (self._journal.size(segment) or 0)
        self._closed.keep(segment, self._live.table(covered))
        self._closed.look_round(cursor.segment, cursor.late)
        self._live = Places()  # what was read of the next segment is remembered
        if cursor.segment > segment + 1:
            self._live.add(self._places(cursor.segment, 0, cursor.offset))

    def _scanned(self, number: int, start: int, stop: int) -> Table:
        """Return the table of a part of a segment."""
        return index.made(self._places(number, start, stop), stop)

    def _places(self, number: int, start: int, stop: int) -> Iterator[tuple[str, int]]:
        """Yield the ids in a part of a segment, with what only looks like an event: each find is looked at."""
        for entry in self._journal.part(number, start, stop):
            found = _named(entry.line)
            if found is not None:
                yield found.data.id, entry.position.offset

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
        return None if event is None else _Named(_Id(event.id))
