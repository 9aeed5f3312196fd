"""Tell whether a file is the one that was read, by a few of its bytes."""

from __future__ import annotations

import os
from typing import NamedTuple
from zlib import crc32

from prloom.model.position import Cursor

_END = 4096
_SAMPLE = 512
_SAMPLES = 8


def of(fd: int, size: int) -> int:
    """Return a checksum of the last 4 KiB of a file's first `size` bytes, and of 512 bytes at each eighth of the rest.

    So that it costs the same however long the file is. One line that was exchanged for another far from the end may
    stay unseen; other lines from somewhere on do not.
    """
    rest = max(0, size - _END)
    check = crc32(os.pread(fd, size - rest, rest))
    for start in range(0, rest, -(-rest // _SAMPLES) or 1):
        check = crc32(os.pread(fd, min(_SAMPLE, rest - start), start), check)
    return check


class FileStamp(NamedTuple):
    """A look at a place: what was read before it, in which file it is, and how that is; an offset of -1 is nowhere."""

    segment: int = 0
    offset: int = -1
    fingerprint: int | None = None
    file: tuple[int, int] = (0, 0)
    size: int = 0
    written_ns: int = 0

    def stands(self, fd: int, before: FileStamp) -> bool:
        """Whether what the open file has before the place is what was read there.

        Without a fingerprint, which a file that an older prloom has read lacks, it is a line's end, and as long as it
        is looked at, the same file.
        """
        if not self.offset:
            return True
        if self.fingerprint is not None:
            return of(fd, self.offset) == self.fingerprint
        same = before.segment != self.segment or before.file == self.file
        return same and os.pread(fd, 1, self.offset - 1) == b"\n"


def stamp(cursor: Cursor, fingerprint: int | None, found: os.stat_result) -> FileStamp:
    """Return the look at a cursor's place in a file that the system tells this of."""
    file = (found.st_dev, found.st_ino)
    return FileStamp(cursor.segment, cursor.offset, fingerprint, file, found.st_size, found.st_mtime_ns)
