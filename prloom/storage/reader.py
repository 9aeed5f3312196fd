"""Read a journal from any place, across its segments, while others append to it and rotate it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from prloom.model.record import Cursor, Position
from prloom.storage import file_stamp, lines, os_errors
from prloom.storage.file_stamp import ReadMark
from prloom.storage.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prloom.storage.safe_dir import SafeDir

READ_BYTES = 1024 * 1024
READ_LINES = 10_000


class JournalEntry(NamedTuple):
    """A complete line, without its newline, and its position."""

    position: Position
    line: bytes


class JournalBatch(NamedTuple):
    """What one read returned; `cursor` is where to go on.

    `skipped` counts lines over the size limit. `gap` says that the file was cut or a segment was removed before the
    cursor: reading went on at the next line there is, and lines may come a second time. `unfinished` counts the bytes
    without a newline behind the cursor: if they stay, their writer was killed, and Journal.heal repairs them.
    `fingerprint` is that of the segment up to the cursor; None where nothing was read there. `left`
    are the segments in which nothing more is looked for, and how far each was read.
    """

    entries: tuple[JournalEntry, ...]
    cursor: Cursor
    skipped: int = 0
    gap: bool = False
    unfinished: int = 0
    fingerprint: int | None = None
    left: tuple[tuple[int, int], ...] = ()


class JournalReader:
    """A journal for reading: takes no lock, changes nothing, and keeps no descriptor open between calls."""

    __slots__ = ("_mark", "_segments", "_unfinished", "folder", "name")

    def __init__(self, folder: SafeDir, name: str) -> None:
        self.folder = folder
        self.name = name
        self._segments = Segments(folder, name)
        self._mark = ReadMark()
        # Segment, offset, size, checksum: in the file as it was then, no newline was found behind the offset.
        self._unfinished = (0, 0, 0, 0)

    @property
    def path(self) -> str:
        """The live file's path, for messages."""
        return self.folder.where(self.name)

    def segments(self) -> tuple[int, ...]:
        """Return the numbers of the segments that exist, ascending; the last is the live one."""
        return self._segments.numbers()

    def end(self) -> Cursor:
        """Return the cursor that is behind all complete lines."""
        live, size = self._segments.live()
        return Cursor(live, self._complete(live, size), self._complete(live - 1, self._segments.size(live - 1) or 0))

    def read(self, cursor: Cursor, *, limit_bytes: int = READ_BYTES, limit_lines: int = READ_LINES) -> JournalBatch:
        """Return the next complete lines, late ones first; `limit_bytes` is soft.

        With nothing new it costs three looks at file names, however long the journal is.
        """
        live, size = self._segments.live()
        cursor, gap = self._settle(cursor, live, size)
        taken = _Taken(limit_bytes, limit_lines)
        if cursor.segment > 1 and (self._segments.size(cursor.segment - 1) or 0) > cursor.late:
            cursor = cursor._replace(late=self._take(Position(cursor.segment - 1, cursor.late), None, taken))
        left: list[tuple[int, int]] = []
        while not taken.full():
            known_size = size if cursor.segment == live else None
            cursor = cursor._replace(offset=self._take(Position(cursor.segment, cursor.offset), known_size, taken))
            if cursor.segment == live or taken.full():
                break
            following = self._following(cursor.segment, live)
            gap = gap or following != cursor.segment + 1
            if cursor.segment > 1:
                left.append((cursor.segment - 1, cursor.late))
            if following > cursor.segment + 1:
                left.append((cursor.segment, cursor.offset))
            cursor = Cursor(following, 0, cursor.offset)
        unfinished = 0
        if cursor.segment == live and not taken.full():
            unfinished = max(0, size - cursor.offset)
        fingerprint = taken.fingerprints.get(cursor.segment)
        return JournalBatch(tuple(taken.entries), cursor, taken.skipped, gap, unfinished, fingerprint, tuple(left))

    def read_at(self, position: Position) -> bytes | None:
        """Return the line at a position, or None if no line begins there."""
        with self._open(position.segment) as fd:
            if fd is None or (position.offset and os.pread(fd, 1, position.offset - 1) != b"\n"):
                return None
            found = lines.one(fd, position.offset).lines
        if found and found[0][0] == position.offset:
            return found[0][1]
        return None

    def fingerprint(self, number: int, size: int) -> int | None:
        """Return the fingerprint of a segment's first bytes, so many; None where it is missing."""
        with self._open(number) as fd:
            if fd is None:
                return None
            return file_stamp.checksum(fd, size)

    def is_unchanged(self, cursor: Cursor, fingerprint: int | None = None) -> bool:
        """Whether what was read up to a cursor is there as it was; False where the file was cut or replaced.

        The fingerprint is that of the read that came to the cursor. Without one, lines of one length look alike from
        behind, so the file has to be the same one too, while this reader lives. A file that is as it was at the last
        look is not opened.
        """
        before, live = self._mark, self.folder.stat(self.name)
        if not cursor.offset or (live is not None and before == file_stamp.mark(cursor, fingerprint, live)):
            return True
        with self._open(cursor.segment) as fd:
            if fd is None:
                return False
            now = file_stamp.mark(cursor, fingerprint, os.fstat(fd))
            is_same = now.matches(fd, before)
            if is_same:
                self._mark = now
            else:
                self._mark = now._replace(offset=-1)
            return is_same

    def tail(self, room: int) -> Iterator[JournalEntry]:
        """Yield the complete lines among the journal's last `room` bytes, oldest first, across segments."""
        wanted: list[tuple[int, int]] = []
        live, size = self._segments.live()
        for number in reversed(self.segments()):
            length = size if number == live else self._segments.size(number) or 0
            wanted.append((number, min(room, length)))
            room -= length
            if room <= 0:
                break
        for number, share in reversed(wanted):
            with self._open(number) as fd:
                if fd is not None:
                    yield from _entries(number, lines.ending(fd, os.fstat(fd).st_size, share))

    def scan(self, since: Position | None = None) -> Iterator[JournalEntry]:
        """Yield all lines from a position (default: the oldest segment's beginning) to the present end."""
        for number in self.segments():
            start = 0
            if since is not None and number == since.segment:
                start = since.offset
            if since is None or number >= since.segment:
                yield from self._lines(number, start)

    def after(self, cursor: Cursor) -> Iterator[JournalEntry]:
        """Yield all lines behind a cursor, up to the present end."""
        while True:
            batch = self.read(cursor)
            yield from batch.entries
            if batch.cursor == cursor:
                return
            cursor = batch.cursor

    def size(self, number: int) -> int | None:
        """Return the size in bytes of a closed segment, or None if it was removed."""
        return self._segments.size(number)

    def file(self, number: int) -> str:
        """Return the name of a closed segment's file."""
        return self._segments.archive(number)

    def part(self, number: int, start: int, stop: int) -> Iterator[JournalEntry]:
        """Yield the lines of one segment that begin from an offset on and before another one."""
        for entry in self._lines(number, start):
            if entry.position.offset >= stop:
                return
            yield entry

    def containing(self, needle: bytes, before: Position | None = None) -> Iterator[JournalEntry]:
        """Yield the lines that contain the bytes, oldest first; `before` ends the search. Nothing else is parsed."""
        for number in self.segments():
            if before is not None and number > before.segment:
                return
            stop = None
            if before is not None and number == before.segment:
                stop = before.offset
            with self._open(number) as fd:
                if fd is not None:
                    for offset, line in lines.containing(fd, needle, stop):
                        yield JournalEntry(Position(number, offset), line)

    def find(self, needle: bytes, before: Position | None = None) -> bool:
        """Whether any line (beginning before a position) contains the bytes: for ids that memory has let go."""
        return next(self.containing(needle, before), None) is not None

    # ---- inside

    def _settle(self, cursor: Cursor, live: int, size: int) -> tuple[Cursor, bool]:
        """Put a cursor whose place no longer exists at the next place that does; tell whether that was needed."""
        if cursor.segment > live:
            return Cursor(live, 0, self._segments.size(live - 1) or 0), True
        if cursor.segment == live:
            if cursor.offset <= size:
                return (cursor, False)
            return (cursor._replace(offset=0), True)
        if self._segments.size(cursor.segment) is None:
            return Cursor(self._following(cursor.segment, live)), True
        return cursor, False

    def _following(self, segment: int, live: int) -> int:
        if segment + 1 == live or self._segments.size(segment + 1) is not None:
            return segment + 1
        return min(number for number in (*self.segments(), live) if number > segment)

    def _take(self, at: Position, size: int | None, taken: _Taken) -> int:
        """Take lines until a limit or the end of the segment, and return the offset where to go on."""
        end = at.offset
        if end == size:
            return end
        with self._open(at.segment) as fd:
            if fd is None or (size is not None and self._is_unfinished(fd, at, size)):
                return end
            while not taken.full():
                piece = lines.cut(fd, end, limit_bytes=max(taken.bytes, lines.BLOCK), limit_lines=taken.lines)
                if piece.end == end:
                    break
                taken.add(at.segment, piece, piece.end - end)
                end = piece.end
            if end > at.offset:
                taken.fingerprints[at.segment] = file_stamp.checksum(fd, end)
            if size is not None and end < size and not taken.full():
                self._unfinished = (at.segment, end, size, file_stamp.checksum(fd, size))
        return end

    def _is_unfinished(self, fd: int, at: Position, size: int) -> bool:
        """Whether there is what was there at the last look, without a newline; other lines may have taken its place."""
        *place, check = self._unfinished
        return place == [*at, size] and check == file_stamp.checksum(fd, size)

    def _lines(self, number: int, start: int) -> Iterator[JournalEntry]:
        with self._open(number) as fd:
            if fd is not None:
                yield from _entries(number, lines.each(fd, start))

    def _complete(self, number: int, size: int) -> int:
        if not size:
            return 0
        with self._open(number) as fd:
            return 0 if fd is None else lines.complete(fd, size)

    @contextmanager
    def _open(self, number: int) -> Iterator[int | None]:
        fd = self._segments.open(number)
        try:
            yield fd
        except OSError as error:
            raise os_errors.failed("read", self.path, error) from error
        finally:
            if fd is not None:
                os.close(fd)


class _Taken:
    """The lines that one read has taken, and what room is left."""

    __slots__ = ("bytes", "entries", "fingerprints", "lines", "skipped")

    def __init__(self, limit_bytes: int, limit_lines: int) -> None:
        self.entries: list[JournalEntry] = []
        self.skipped = 0
        self.fingerprints: dict[int, int] = {}  # of each segment up to where it was read
        self.bytes = limit_bytes
        self.lines = limit_lines

    def full(self) -> bool:
        return self.bytes <= 0 or self.lines <= 0

    def add(self, segment: int, piece: lines.Cut, size: int) -> None:
        self.entries += [JournalEntry(Position(segment, offset), line) for offset, line in piece.lines]
        self.skipped += piece.skipped
        self.bytes -= size
        self.lines -= len(piece.lines)


def _entries(number: int, pieces: Iterator[lines.Cut]) -> Iterator[JournalEntry]:
    for piece in pieces:
        for offset, line in piece.lines:
            yield JournalEntry(Position(number, offset), line)
