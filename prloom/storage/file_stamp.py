"""Check whether a file is still the one that was read, by its `stat` or by a few of its bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Generic, NamedTuple, TypeAlias, TypeVar
from zlib import crc32

from prloom.model.record import Cursor, Timestamp

T = TypeVar("T")

UNCHANGED_FOR = timedelta(seconds=3)
"""After which a second change shows in a file's times, whatever file system it is on: FAT's go by two seconds."""

_END = 4096
_SAMPLE = 512
_SAMPLES = 8

FileStamp: TypeAlias = tuple[int, int, int, int, int]
"""A file's device and number, its size, and when its content and its inode changed, in nanoseconds.

While it is the same, so is the file; a plain tuple, because each plan's is compared in each tick.
"""


of: Callable[[os.stat_result], FileStamp] = attrgetter("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
"""Return the stamp of a file with this `stat`; one call, and not a function's five, for each plan in each tick."""


def at(path: str) -> FileStamp | None:
    """Return the stamp of what is at a path, of a link its own; None where there is nothing."""
    try:
        return of(os.lstat(path))
    except OSError:
        return None


def changed_at(path: str | os.PathLike[str]) -> Timestamp | None:
    """Return when the content of what is at a path last changed, of a link its own; None where there is nothing."""
    try:
        return time_of(os.lstat(path))
    except OSError:
        return None


def time_of(found: os.stat_result | None) -> Timestamp | None:
    """Return when the content of a file last changed by its `stat`; None where there is none."""
    if found is None:
        return None
    try:
        return Timestamp.of(datetime.fromtimestamp(found.st_mtime, UTC))
    except (OSError, OverflowError, ValueError):  # a time that no calendar has is as good as none
        return None


def is_settled(changed: float, now: float) -> bool:
    """Return whether a file's last change is so long ago that a later one has another time; seconds since the epoch."""
    return now - changed >= UNCHANGED_FOR.total_seconds()


def checksum(fd: int, size: int) -> int:
    """Return a checksum of the last 4 KiB of a file's first `size` bytes, and of 512 bytes at each eighth of the rest.

    So that it costs the same however long the file is. One line that was exchanged for another far from the end may
    stay unnoticed; other lines from somewhere on do not.
    """
    rest = max(0, size - _END)
    check = crc32(os.pread(fd, size - rest, rest))
    for start in range(0, rest, -(-rest // _SAMPLES) or 1):
        check = crc32(os.pread(fd, min(_SAMPLE, rest - start), start), check)
    return check


class FileValue(Generic[T]):
    """A value of a file's content; `previous` is the one of the content before, None where there was no other."""

    def __init__(self) -> None:
        self.previous: T | None = None
        self._latest: tuple[FileStamp | None, T] | None = None

    def at(self, stamp: FileStamp | None, make: Callable[[], T]) -> T:
        """Return the value of a file with this stamp; it is made anew where the file has changed, or is missing."""
        before = self._latest
        if before is not None and stamp is not None and stamp == before[0]:
            return before[1]
        value = make()
        if before is not None and before[0] is not None:
            self.previous = before[1]
        self._latest = stamp, value
        return value


class ReadMark(NamedTuple):
    """How far a segment was read, the checksum of that part, and the file's stamp at that time.

    An offset of -1 is the mark of nothing.
    """

    segment: int = 0
    offset: int = -1
    checksum: int | None = None
    stamp: FileStamp = (0, 0, 0, 0, 0)

    def matches(self, fd: int, before: ReadMark) -> bool:
        """Return whether the open file still contains what was read before the mark.

        Without a checksum, which a file that an older prloom has read lacks, it must be a line's end, and the same file
        as at the mark `before`.
        """
        if not self.offset:
            return True
        if self.checksum is not None:
            return checksum(fd, self.offset) == self.checksum
        is_same_file = before.segment != self.segment or before.stamp[:2] == self.stamp[:2]
        return is_same_file and os.pread(fd, 1, self.offset - 1) == b"\n"


def mark(cursor: Cursor, check: int | None, found: os.stat_result) -> ReadMark:
    """Return the mark at a cursor in a file with this `stat`."""
    return ReadMark(cursor.segment, cursor.offset, check, of(found))
