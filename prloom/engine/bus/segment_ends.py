"""Know how far each closed segment of `events.jsonl` was read, and find lines that were appended to one afterwards.

A program that keeps the file open over a rotation appends to the closed segment. The reader looks at the newest closed
segment too, but not at those before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from prloom.engine.bus import entries
from prloom.errors import StorageError
from prloom.model.record import Cursor
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.reader import JournalEntry, JournalReader
from prloom.storage.safe_dir import SafeDir

_KEY = "events"
_FIRST_TO_END = 1


class Late(NamedTuple):
    """The complete lines behind the recorded end of a segment, and where they end."""

    segment: int
    end: int
    entries: tuple[JournalEntry, ...]


class SegmentEnds:
    """The recorded ends of the closed segments that are not read any more."""

    def __init__(self, journal: JournalReader, state: SafeDir) -> None:
        self._journal = journal
        self._document = Document(state, paths.SEGMENT_ENDS, lasting=False)
        self._ends: dict[int, int] | None = None
        self._checked_sizes: dict[int, int] = {}  # the size that a segment had when it was last checked
        self._calls = 0

    def record(self, ends: Iterable[tuple[int, int]]) -> None:
        """Record where the reading of segments ended; a record that cannot be written is written the next time."""
        new = dict(ends)
        if not new:
            return
        recorded = self._recorded()
        recorded.update(new)
        with suppress(StorageError):
            self._document.save({_KEY: {str(number): recorded[number] for number in sorted(recorded)}})

    def late(self, cursor: Cursor) -> Late | None:
        """Return what was appended to one of the segments before the newest closed one, if anything was.

        The first call looks at all of them, and each further one at one, so that it costs the same with any number.
        """
        if cursor.segment <= _FIRST_TO_END + 1:
            return None
        ended = [number for number in self._journal.segments() if number < cursor.segment - 1]
        if not ended:
            return None
        recorded = self._recorded()
        # An earlier version recorded nothing: what is there now counts as read.
        self.record((number, self._journal.size(number) or 0) for number in ended if number not in recorded)
        self._calls += 1
        if self._calls == 1:
            to_check = ended
        else:
            to_check = [ended[self._calls % len(ended)]]
        return next(filter(None, map(self._late_lines, to_check)), None)

    def _late_lines(self, number: int) -> Late | None:
        size, end = self._journal.size(number) or 0, self._recorded().get(number, 0)
        if size <= end or self._checked_sizes.get(number) == size:
            return None
        found = tuple(self._journal.part(number, end, size))
        if not found:  # a line that is not complete yet
            self._checked_sizes[number] = size
            return None
        last = found[-1]
        return Late(number, last.position.offset + len(last.line) + 1, found)

    def _recorded(self) -> dict[int, int]:
        if self._ends is None:
            self._ends = _ends(self._document)
        return self._ends


def missed_events(bus: SafeDir) -> Iterator[tuple[str, int]]:
    """Yield the name of each closed segment with events behind its recorded end, and their number; only reads."""
    with suppress(StorageError):
        state = bus.sub(paths.BUS_STATE)
        if state is None:
            return
        with state:
            ends = _ends(Document(state, paths.SEGMENT_ENDS))
        journal = JournalReader(bus, paths.EVENTS)
        for number, end in ends.items():
            behind = journal.part(number, end, journal.size(number) or 0)
            if count := sum(entries.event(entry.line) is not None for entry in behind):
                yield journal.file(number), count


def _ends(document: Document) -> dict[int, int]:
    value = document.peek().value or {}
    found = value.get(_KEY)
    if not isinstance(found, Mapping):
        return {}
    return {int(name): end for name, end in found.items() if name.isdecimal() and isinstance(end, int)}
