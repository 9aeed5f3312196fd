"""Know which events a bus has had already, and where they are in the journal, in bounded memory."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

import msgspec

from prloom.engine.bus import entries
from prloom.errors import StorageError
from prloom.model.record import Cursor, Position
from prloom.storage import id_cache, paths
from prloom.storage.id_cache import Covered, IdCache
from prloom.storage.journal import Journal

REMEMBERED = 4096
"""Ids that are kept in memory until they are added to the cache together."""

WORTH_CACHING = 128 * 1024
"""Bytes of a journal from which on its ids are in the cache: those of a shorter one are read into memory again."""

log = logging.getLogger(__name__)


class SeenIds:
    """The ids of the events of a journal up to a cursor.

    The latest are in memory, all others in a cache: `seen-ids.sqlite` in the bus's state folder. The journal is what
    counts. Each find is checked there, and a cache that is missing, damaged, or of another journal is made again from
    it; one that ends too early is completed. Where it cannot be written, it is in memory. Nothing is read before it is
    needed, and the file is open only while a batch is taken in.
    """

    def __init__(self, journal: Journal, cursor: Cursor, *, worth_caching: int = WORTH_CACHING) -> None:
        self._journal = journal
        self._cursor = cursor
        self._worth_caching = worth_caching
        self._recent: dict[str, Position] = {}
        self._recalled: dict[str, Position] = {}
        self._recalled_until = cursor
        self._is_loaded = False
        self._is_short = False  # then all ids are in memory
        self._cache: IdCache | None = None
        self._covered: dict[int, Covered] = {}  # by the cache, when it was last used
        journal.segments()  # which raises for a journal that cannot be read

    def __contains__(self, event_id: object) -> bool:
        return isinstance(event_id, str) and self.position(event_id) is not None

    def position(self, event_id: str) -> Position | None:
        """Return where an event is that was read, or None."""
        if not self._is_loaded:
            self._load()
        found = self._recent.get(event_id) or self._recalled.get(event_id)
        if found is not None or self._is_short:
            return found
        for place in self._cached_positions(event_id):
            event = entries.event(self._journal.read_at(place))
            if event is not None and event.id == event_id:
                return place
        return None

    def add(self, event_id: str, position: Position) -> None:
        """Remember an id that is read now."""
        self._recent[event_id] = position

    def recall(self, places: Iterable[tuple[str, Position]], until: Cursor) -> None:
        """Know the events of a journal file that was replaced, until its replacement is read up to a cursor."""
        self._recalled, self._recalled_until = dict(places), until

    def add_again(self, event_id: str, position: Position) -> None:
        """Remember where a recalled event is now; one that was not recalled is remembered already."""
        if event_id in self._recalled:
            self.add(event_id, position)

    def advance(self, cursor: Cursor) -> None:
        """Note how far the journal is read: the events behind that are new."""
        self._cursor = cursor
        if self._recalled and cursor[:2] >= self._recalled_until[:2]:
            self._recalled = {}
        if self._is_loaded and len(self._recent) > REMEMBERED:
            self._move_to_cache()
        if self._cache is not None and not self._cache.in_memory:
            self._close()

    # ---- inside

    def _load(self) -> None:
        """Read a short journal's ids into memory; those of a long one are in the cache."""
        self._is_loaded = True
        ends = self._ends()
        self._is_short = sum(ends.values()) < self._worth_caching
        if self._is_short:
            for number in sorted(ends, reverse=True):
                for entry in self._journal.part(number, 0, ends[number]):
                    event = entries.event(entry.line)
                    if event is not None:
                        self._recent.setdefault(event.id, entry.position)

    def _move_to_cache(self) -> None:
        """Add the ids in memory to the cache, so that memory is bounded."""
        self._is_short = False
        try:
            cache = self._open()
            # Of earlier segments, lines that came late may not be read yet: the next start adds these.
            newest = {number: end for number, end in self._ends().items() if number >= self._cursor.segment - 1}
            covered = {number: self._cover(number, end) for number, end in newest.items()}
            cache.add(self._recent.items(), covered)
            self._covered |= covered
        except StorageError as error:
            self._make_again(error)
        self._recent = {}

    def _cached_positions(self, event_id: str) -> list[Position]:
        try:
            return self._open().positions(event_id)
        except StorageError as error:
            return self._make_again(error).positions(event_id)

    def _open(self) -> IdCache:
        """Return the cache, which has all that was read of the journal."""
        if self._cache is None:
            with self._journal.folder.make_sub(paths.BUS_STATE) as state:
                if not self._covered:
                    id_cache.remove_old_caches(state)
                self._cache = IdCache(state, paths.SEEN_IDS)
            if not self._covered or self._cache.covered() != self._covered:
                self._complete(self._cache)
        return self._cache

    def _make_again(self, reason: StorageError) -> IdCache:
        """Return a new cache in the place of one that cannot be used; where that cannot be written, in memory."""
        log.info("%s: %s; it is made again", self._journal.path, reason)
        self._close()
        self._covered = {}
        try:
            with self._journal.folder.make_sub(paths.BUS_STATE) as state:
                id_cache.delete(state, paths.SEEN_IDS)
            return self._open()
        except StorageError as error:
            log.warning("%s: %s; it is in memory until prloom starts again", self._journal.path, error)
        self._close()
        self._cache = IdCache(None)
        self._complete(self._cache)
        return self._cache

    def _complete(self, cache: IdCache) -> None:
        """Add what the cache lacks of the journal, and what it has of files that were replaced or cut."""
        known = cache.covered()
        for number, end in self._ends().items():
            before = known.get(number, Covered(0, 0))
            if before.read_to > end or self._journal.fingerprint(number, before.read_to) != before.fingerprint:
                cache.remove(number)
                before = Covered(0, 0)
            if before.read_to < end:
                cache.add(self._scan(number, before.read_to, end), {number: self._cover(number, end)})
        self._covered = cache.covered()

    def _close(self) -> None:
        cache, self._cache = self._cache, None
        if cache is not None:
            cache.close()

    def _cover(self, number: int, end: int) -> Covered:
        return Covered(end, self._journal.fingerprint(number, end) or 0)

    def _ends(self) -> dict[int, int]:
        """Return how far each segment was read."""
        live = self._cursor.segment
        ends = {number: self._journal.size(number) or 0 for number in self._journal.segments() if number < live - 1}
        if live > 1:
            ends[live - 1] = self._cursor.late
        ends[live] = self._cursor.offset
        return ends

    def _scan(self, number: int, start: int, stop: int) -> Iterator[tuple[str, Position]]:
        """Yield the ids of a part of a segment, also of lines that only look like events."""
        for entry in self._journal.part(number, start, stop):
            event_id = _id_of(entry.line)
            if event_id is not None:
                yield event_id, entry.position


class _Id(msgspec.Struct):
    id: str


class _Line(msgspec.Struct):
    data: _Id


_lines = msgspec.json.Decoder(_Line)


def _id_of(line: bytes) -> str | None:
    """Return the id of a line's event; the rest of the line is not read."""
    try:
        return _lines.decode(line).data.id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        event = entries.event(line)  # which also reads what the strict decoder refuses
    if event is None:
        return None
    return event.id
