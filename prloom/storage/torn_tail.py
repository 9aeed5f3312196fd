"""Mend the end of a journal that a killed writer left without its newline."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from prloom.storage import disk as disks
from prloom.storage import lines, quarantine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prloom.storage.safe_dir import SafeDir

_CHUNK = 1024 * 1024
LABEL = "torn"


def heal(folder: SafeDir, name: str, fd: int) -> str | None:
    """Make a file end in a newline, under the folder's lock; return the name of the file that holds what was torn.

    A tail that is a whole JSON object only lacks its newline and gets it. Anything else is copied aside and cut off.
    """
    size = os.fstat(fd).st_size
    start = lines.complete(fd, size)
    if start == size:
        return None
    if _is_object(fd, start, size):
        disks.write_all(folder.disk, fd, b"\n")
        return None
    aside = quarantine.copy(folder, name, LABEL, _chunks(fd, start, size))
    # Programs that append without our lock may have written behind the tail meanwhile: then nothing may be cut off,
    # and the torn line stays as one that cannot be read.
    if os.fstat(fd).st_size == size:
        folder.disk.truncate(fd, start)
    elif lines.complete(fd, grown := os.fstat(fd).st_size) != grown:
        disks.write_all(folder.disk, fd, b"\n")
    return aside


def _is_object(fd: int, start: int, size: int) -> bool:
    if size - start > lines.LINE_LIMIT:
        return False
    try:
        return isinstance(msgspec.json.decode(os.pread(fd, size - start, start)), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _chunks(fd: int, start: int, stop: int) -> Iterator[bytes]:
    while start < stop and (chunk := os.pread(fd, min(_CHUNK, stop - start), start)):
        yield chunk
        start += len(chunk)
