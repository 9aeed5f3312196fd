"""Find where an event stands in the segments of a journal, by as few tables as their number has digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from prloom.errors import StorageError
from prloom.model.position import START, Cursor, Position
from prloom.storage import paths, tablefile
from prloom.storage.index import FAR, Pairs, Table
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir
from prloom.storage.tablefile import DamagedError, TableFile

_WIDTHS = (64, 32, 16, 8, 4, 2)
"""Segments that share a table once all of them are closed: two tables become one, so that there are never many."""

WORTH_KEEPING = 1024 * 1024
"""Bytes of a growing segment from which on its table is kept: what there is of a shorter one is soon read again."""

Scan = Callable[[int, int, int], Table]
"""Makes the table of a segment's events, from an offset on and before another one."""


class SegmentTables:
    """The tables of a journal's segments up to a cursor, each in a file that is made when it is first needed.

    A table is no truth, only a way to it: one that is missing or damaged is made again, and one that ends too early is
    brought up. So nothing has to be kept in step with the journal, and two that were put together may go as soon as the
    one of both is there. The live segment and the newest closed one have tables of their own, for lines may still come
    there; of a live one that has just begun it is in memory only.
    """

    def __init__(self, journal: Journal, scan: Scan) -> None:
        self._journal = journal
        self._scan = scan
        self._live = START.segment
        self._sizes: dict[int, int] = {}
        self._tables: dict[range, TableFile | None] = {}

    def look_round(self, cursor: Cursor) -> None:
        """See which segments there are, and how far the live one and the newest closed one were read."""
        still = {number: size for number, size in self._sizes.items() if number < self._live - 1}
        live = self._live = cursor.segment
        numbers = [number for number in self._journal.segments() if number < live]
        self._sizes = {number: still.get(number) or self._journal.size(number) or 0 for number in numbers}
        self._sizes.update({live - 1: cursor.late} if live - 1 in self._sizes else {})
        self._sizes[live] = cursor.offset
        self._tables = {each: self._tables.get(each) for each in reversed(shared(self._sizes, live - 1))}

    def places(self, low: int) -> Iterator[Position]:
        """Yield where an event may stand, by the checksum of its id, the latest segments first."""
        for segments, table in self._tables.items():
            try:
                found = (table or self._kept(segments)).find(low)
            except DamagedError:
                found = self._made(segments).find(low)
            for file, offset in found:
                yield Position(segments[file], offset)

    def add(self, number: int, more: Table) -> None:
        """Add what was read of a segment since its table was made; if none was, that will find it there."""
        segments = range(number, number + 1)
        table = self._tables.get(segments)
        if table is not None:
            self._tables[segments] = self._longer(segments, table, more)

    # ---- inside

    def _kept(self, segments: range) -> TableFile:
        """Return a table of these, and keep it."""
        table = self._tables[segments] = self._read(segments)
        return table

    def _made(self, segments: range) -> TableFile:
        """Return a table that takes the place of a damaged one, and keep it."""
        table = self._tables[segments] = self._anew(segments)
        return table

    def _read(self, segments: range) -> TableFile:
        """Return the table that a file holds, brought up to what was read since; or else make it."""
        name, now = paths.index(self._journal.name, segments), self._sizes.get(segments[0], 0)
        with self._journal.folder.make_sub(paths.BUS_STATE) as state:
            table = tablefile.load(state, name)
            if table is None or (table.first, len(table.covered)) != (segments[0], len(segments)):
                return self._anew(segments)
            before = table.covered[0]
            if len(segments) == 1 and (before > now or not self._stands(table)):
                state.remove(name)
                return self._anew(segments)
            self._sweep(state, segments)  # for a crash may have left them
        if len(segments) > 1 or before == now:
            return table
        return self._longer(segments, table, self._scan(segments[0], before, now))

    def _stands(self, table: TableFile) -> bool:
        """Whether a segment is the one of which the table was made, and none that took its place."""
        return bool(self._journal.fingerprint(table.first, table.covered[0]) == table.fingerprint)

    def _anew(self, segments: range) -> TableFile:
        """Make the table of one segment from the segment, and that of many from their tables."""
        if len(segments) == 1:
            table = self._scan(segments[0], 0, self._sizes.get(segments[0], 0))
            return self._written(segments, ((table.pairs, 0),), (table.covered,))
        pieces: list[tuple[Pairs, int]] = []
        covered: list[int] = []
        for part in _parts(segments):
            table_of = self._read(part)
            try:
                pairs = table_of.pairs()
            except DamagedError:
                table_of = self._anew(part)
                pairs = table_of.pairs()
            pieces.append((pairs, sum(covered)))
            covered += table_of.covered
        return self._written(segments, pieces, covered)

    def _sweep(self, state: SafeDir, segments: range) -> None:
        """Remove the tables that the one of these segments was made of; where that cannot be, they are in no way."""
        with suppress(StorageError):
            for part in _parts(segments):
                state.remove(paths.index(self._journal.name, part))

    def _longer(self, segments: range, table: TableFile, more: Table) -> TableFile:
        """Return the table of a segment with more of its pairs."""
        try:
            pairs = table.pairs()
        except DamagedError:
            return self._anew(segments)  # with the others, for they stand in the journal
        return self._written(segments, ((pairs, 0), (more.pairs, 0)), (max(*table.covered, more.covered),))

    def _written(self, segments: range, pieces: Sequence[tuple[Pairs, int]], covered: Sequence[int]) -> TableFile:
        """Write a table for this process and the next ones; where that cannot be, it is kept in memory."""
        name = paths.index(self._journal.name, segments)
        mark = None
        if len(segments) == 1:
            mark = self._journal.fingerprint(segments[0], covered[0])
        content = partial(tablefile.content, segments[0], pieces, covered, mark or 0)
        table = None
        if segments[0] < self._live or sum(covered) >= WORTH_KEEPING:
            with suppress(StorageError), self._journal.folder.make_sub(paths.BUS_STATE) as state:
                state.replace(name, content(), lasting=False)
                table = tablefile.load(state, name)
                if table is not None:
                    self._sweep(state, segments)
        return table or TableFile(memoryview(b"".join(content())))


def shared(sizes: Mapping[int, int], newest: int) -> tuple[range, ...]:
    """Return which segments share a table, in their order: 2, 4, 8 and so on, as long as their offsets have room.

    The newest has its own. The same segments always share the same tables, however many more there are.
    """
    found: list[range] = []
    for number in sorted(sizes):
        if found and number in found[-1]:
            continue
        widths = (
            range((number - 1) // width * width + 1, (number - 1) // width * width + width + 1) for width in _WIDTHS
        )
        fitting = (each for each in widths if _fits(each, sizes, after=found[-1][-1] if found else 0, before=newest))
        found.append(next(fitting, range(number, number + 1)))
    return tuple(found)


def _fits(segments: range, sizes: Mapping[int, int], *, after: int, before: int) -> bool:
    room = sum(sizes.get(number, 0) for number in segments) < FAR
    return room and after < segments[0] and segments[-1] < before


def _parts(segments: range) -> tuple[range, ...]:
    """Return the halves, whose tables become the one of these segments; none of a single one."""
    half = len(segments) // 2
    if half:
        return (segments[:half], segments[half:])
    return ()
