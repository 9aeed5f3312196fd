"""Find where an event stands in the closed segments of a journal, by as few tables as their number has digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from prloom.errors import StorageError
from prloom.model.position import Position
from prloom.storage import paths, tablefile
from prloom.storage.folder import Folder
from prloom.storage.index import FAR, Pairs, Table
from prloom.storage.journal import Journal
from prloom.storage.tablefile import DamagedError, TableFile

_WIDTHS = (64, 32, 16, 8, 4, 2)
"""Segments that share a table once all of them are closed: two tables become one, so that there are never many."""

Scan = Callable[[int, int, int], Table]
"""Makes the table of a segment's events, from an offset on and before another one."""


class Closed:
    """The tables of a journal's closed segments, each in a file that is made when it is first needed.

    A table is no truth, only a way to it: one that is missing or damaged is made again. So nothing has to be kept in
    step with the journal, and two that were put together may go as soon as the one of both is there. The newest
    segment has a table of its own, for lines may still come there.
    """

    def __init__(self, journal: Journal, scan: Scan) -> None:
        self._journal = journal
        self._scan = scan
        self._sizes: dict[int, int] = {}
        self._tables: dict[range, TableFile | None] = {}

    def look_round(self, live: int, late: int) -> None:
        """See which segments there are before the live one; the newest of them was read up to `late`."""
        numbers = [number for number in self._journal.segments() if number < live]
        self._sizes = {number: self._sizes.get(number) or self._journal.size(number) or 0 for number in numbers}
        self._sizes.update({live - 1: late} if live - 1 in self._sizes else {})
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

    def keep(self, number: int, table: Table) -> None:
        """Keep the table of a segment that was read."""
        segments = range(number, number + 1)
        self._tables[segments] = self._written(segments, ((table.pairs, 0),), (table.covered,))

    def add(self, number: int, more: Table) -> None:
        """Add what came late to the newest segment, and was read by now."""
        segments = range(number, number + 1)
        self._sizes[number] = more.covered
        table = self._tables.get(segments) or self._kept(segments)
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
        with self._journal.folder.make_sub(paths.BUS_STATE) as state:
            table = tablefile.load(state, paths.index(self._journal.name, segments))
            if table is None or (table.first, len(table.covered)) != (segments[0], len(segments)):
                return self._anew(segments)
            self._sweep(state, segments)  # for a crash may have left them
        before, now = table.covered[0], self._sizes.get(segments[0], 0)
        if len(segments) > 1 or before >= now:
            return table
        return self._longer(segments, table, self._scan(segments[0], before, now))

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

    def _sweep(self, state: Folder, segments: range) -> None:
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
        name, content = paths.index(self._journal.name, segments), partial(tablefile.content, segments[0])
        try:
            with self._journal.folder.make_sub(paths.BUS_STATE) as state:
                state.replace(name, content(pieces, covered), lasting=False)
                table = tablefile.load(state, name)
                if table is not None:
                    self._sweep(state, segments)
        except StorageError:
            table = None
        return table or TableFile(memoryview(b"".join(content(pieces, covered))))


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
    return (segments[:half], segments[half:]) if half else ()
