"""Append activity events to the file of a run or of a plan, and read them from there.

Each file has one writer, the dispatcher. What is written is not flushed to the disk, for what a program printed can be
read again: with each event stands where in the program's output the line is that it came from.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from prloom.model import record
from prloom.model.activity import ActivityEvent
from prloom.model.record import Record
from prloom.storage import disk, envelope, json_codec, lines, os_errors
from prloom.storage.safe_dir import SafeDir

KIND: Final = "activity"
NAME: Final = "activity.jsonl"
OLDER: Final = "activity.1.jsonl"
"""The closed file of a plan whose own file has grown long; a run has none."""


class OutputPosition(NamedTuple):
    """Where an event comes from: the offset of the line in the program's output, and its number in it, from 0."""

    offset: int
    number: int


class StoredActivity(NamedTuple):
    """An event as it is in the file; `position` is None for one that did not come from the program's output."""

    event: ActivityEvent
    position: OutputPosition | None = None


class _Line(msgspec.Struct, rename="camel", gc=False):
    ts: str
    kind: str
    schema_version: int
    position: OutputPosition | None
    data: ActivityEvent


class _Read(Record, frozen=True, kw_only=True):
    kind: str
    schema_version: int
    position: OutputPosition | None = None
    data: ActivityEvent


def encode(stored: StoredActivity, ts: str) -> bytes:
    """Return the line of an event, with its newline; `ts` as record.iso writes it."""
    line = _Line(ts, KIND, envelope.SCHEMA_VERSION, stored.position, stored.event)
    return json_codec.encode(line) + b"\n"


def append(folder: SafeDir, block: bytes, *, rotate_at: int | None = None) -> None:
    """Append lines, each with its newline; a torn last line is removed first. After an error none of them counts.

    A file of `rotate_at` bytes or more is closed before, in place of the one that was closed before it. Raises
    StorageError.
    """
    fd = folder.open_to_append(NAME)
    try:
        size = os.fstat(fd).st_size
        end = lines.complete(fd, size)
        if end < size:
            folder.disk.truncate(fd, end)
        if rotate_at is not None and end >= rotate_at:
            folder.rename(NAME, OLDER)
            os.close(fd)
            fd = -1
            fd = folder.open_to_append(NAME)
            end = 0
        try:
            disk.write_all(folder.disk, fd, block)
        except OSError:
            folder.disk.truncate(fd, end)
            raise
    except OSError as error:
        raise os_errors.failed("write to", folder.where(NAME), error) from error
    finally:
        if fd >= 0:
            os.close(fd)


def read(folder: SafeDir, name: str = NAME) -> Iterator[StoredActivity]:
    """Yield the events of a file in their order; a line that is none, or damaged, is passed over."""
    fd = folder.open_to_read(name)
    if fd is None:
        return
    try:
        for piece in lines.each(fd):
            yield from _decoded(piece.lines)
    finally:
        os.close(fd)


def read_from(folder: SafeDir, offset: int, *, limit_bytes: int) -> tuple[tuple[StoredActivity, ...], int]:
    """Return events from an offset on, from about so many bytes, and where to go on."""
    fd = folder.open_to_read(NAME)
    if fd is None:
        return (), offset
    try:
        piece = lines.cut(fd, offset, limit_bytes=limit_bytes)
    finally:
        os.close(fd)
    return tuple(_decoded(piece.lines)), piece.end


def last(folder: SafeDir) -> StoredActivity | None:
    """Return the last event of the file, or of the one that was closed before it."""
    return next(latest(folder, 1), None)


def latest(folder: SafeDir, most: int) -> Iterator[StoredActivity]:
    """Yield the latest events of the file and of the one that was closed before it, the last one first."""
    for name in (NAME, OLDER):
        fd = folder.open_to_read(name)
        if fd is None:
            continue
        try:
            for found in itertools.islice(_backwards(fd), most):
                most -= 1
                yield found
        finally:
            os.close(fd)


def _backwards(fd: int) -> Iterator[StoredActivity]:
    """Yield the events of an open file from its end on."""
    end = lines.complete(fd, os.fstat(fd).st_size)
    while end > 0:
        start = lines.last_newline(fd, end - 1) + 1
        yield from _decoded(lines.one(fd, start).lines)
        end = start


def _decoded(found: Sequence[tuple[int, bytes]]) -> Iterator[StoredActivity]:
    for _, line in found:
        try:
            read = record.decode(_Read, line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if read.kind == KIND and read.schema_version <= envelope.SCHEMA_VERSION:
            yield StoredActivity(read.data, read.position)
