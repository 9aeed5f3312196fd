"""Repair torn journals, put what cannot be used into quarantine, and remove what crashes left."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from prloom.errors import StorageError
from prloom.storage import disk as disks
from prloom.storage import lines
from prloom.storage.safe_dir import TEMPORARY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prloom.storage.safe_dir import SafeDir


_STALE = 3600.0  # seconds; no write of ours lasts an hour, so an older temporary file is a crash's


def quarantine_copy(folder: SafeDir, name: str, label: str, chunks: Iterable[bytes]) -> str:
    """Write a piece of `name` into a new file `<name>.<label>-<UTC time>`, flushed, and return its name."""
    quarantined = _free_name(folder, name, label)
    folder.write_new(quarantined, chunks)
    folder.sync()
    return quarantined


def quarantine(folder: SafeDir, name: str, label: str) -> str:
    """Rename a file to `<name>.<label>-<UTC time>`, never over another one, and return the new name."""
    quarantined = _free_name(folder, name, label)
    folder.rename(name, quarantined)
    folder.sync()
    return quarantined


def sweep(folder: SafeDir, now: float | None = None, *, older_than: float = _STALE) -> tuple[str, ...]:
    """Remove the temporary files that crashes left, and return their names; times are in seconds."""
    limit = (time.time() if now is None else now) - older_than
    swept = []
    for name in folder.names():
        if name.startswith(".") and name.endswith(TEMPORARY):
            with suppress(StorageError):  # a folder, a link: not ours to touch
                found = folder.stat(name)
                if found is not None and found.st_mtime <= limit:
                    folder.remove(name)
                    swept.append(name)
    return tuple(swept)


def tidy(folder: SafeDir, *below: tuple[str, ...]) -> None:
    """Remove what crashes left in a folder and in those below it that are there; what cannot be looked at is left."""
    with suppress(StorageError):
        sweep(folder)
    for names in below:
        with suppress(StorageError):
            found = folder.sub(*names)
            if found is not None:
                with found:
                    sweep(found)


def _free_name(folder: SafeDir, name: str, label: str) -> str:
    """Choose a name under the folder's lock, so that no other process chooses the same."""
    first = quarantined = f"{name}.{label}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    taken = frozenset(folder.names())
    count = 1
    while quarantined in taken:
        count += 1
        quarantined = f"{first}-{count}"
    return quarantined


_CHUNK = 1024 * 1024
TORN = "torn"


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
    quarantined = quarantine_copy(folder, name, TORN, _chunks(fd, start, size))
    # Programs that append without our lock may have written behind the tail meanwhile: then nothing may be cut off,
    # and the torn line stays as one that cannot be read.
    if os.fstat(fd).st_size == size:
        folder.disk.truncate(fd, start)
    elif lines.complete(fd, grown := os.fstat(fd).st_size) != grown:
        disks.write_all(folder.disk, fd, b"\n")
    return quarantined


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
