"""Cut an open file into complete lines, in bounded memory and without trusting where it ends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE_LIMIT = 16 * 1024 * 1024  # bytes; a longer line is no event and no decision, and is never loaded whole
_CHUNK = 1024 * 1024
BLOCK = 64 * 1024
_PAGE = 4096
_GROWTH = 8


class Cut(NamedTuple):
    """Complete lines with their offsets; `end` is where to go on, `skipped` counts the lines that were too long."""

    lines: tuple[tuple[int, bytes], ...]
    end: int
    skipped: int


def cut(fd: int, start: int, *, limit_bytes: int = _CHUNK, limit_lines: int | None = None) -> Cut:
    """Read complete lines from an offset on; an unfinished last line is left alone, blank lines count for nothing.

    At least one line is taken, however small `limit_bytes` is. Nothing complete: `end` is `start`.
    """
    there = max(0, os.fstat(fd).st_size - start)  # to ask for more costs the memory of what is not there
    want = limit_bytes
    block = os.pread(fd, min(want, there), start)
    size = block.rfind(b"\n") + 1
    while not size and len(block) == want:
        if want > LINE_LIMIT:
            end = newline(fd, start + want) + 1
            return Cut((), end or start, 1 if end else 0)
        want = min(want * _GROWTH, LINE_LIMIT + 1)
        block = os.pread(fd, min(want, there), start)
        size = block.find(b"\n") + 1
    return _split(block[:size], start, limit_lines)


def one(fd: int, start: int) -> Cut:
    """Read the one line that begins at an offset."""
    block = os.pread(fd, _PAGE, start)
    size = block.find(b"\n")
    if size > 0 and not (line := block[:size]).isspace():
        return Cut(((start, line),), start + size + 1, 0)
    return cut(fd, start, limit_bytes=BLOCK, limit_lines=1)


def _split(block: bytes, start: int, limit_lines: int | None) -> Cut:
    lines: list[tuple[int, bytes]] = []
    skipped = 0
    offset = start
    for line in block.split(b"\n", -1 if limit_lines is None else limit_lines)[:-1]:
        if len(line) > LINE_LIMIT:
            skipped += 1
        elif line and not line.isspace():
            lines.append((offset, line))
        offset += len(line) + 1
    return Cut(tuple(lines), offset, skipped)


def newline(fd: int, start: int) -> int:
    """Return the offset of the first newline at or after `start`, or -1."""
    while chunk := os.pread(fd, _CHUNK, start):
        if (found := chunk.find(b"\n")) >= 0:
            return start + found
        start += len(chunk)
    return -1


def last_newline(fd: int, stop: int) -> int:
    """Return the offset of the last newline before `stop`, or -1."""
    while stop > 0:
        start = max(0, stop - BLOCK)
        if (found := os.pread(fd, stop - start, start).rfind(b"\n")) >= 0:
            return start + found
        stop = start
    return -1


def complete(fd: int, size: int) -> int:
    """Return where the complete lines of a file of `size` bytes end."""
    if size == 0 or os.pread(fd, 1, size - 1) == b"\n":
        return size
    return last_newline(fd, size) + 1


def each(fd: int, start: int = 0) -> Iterator[Cut]:
    """Cut a file from an offset to the end of its complete lines."""
    while (piece := cut(fd, start)).end > start:
        yield piece
        start = piece.end


def ending(fd: int, size: int, room: int) -> Iterator[Cut]:
    """Cut the complete lines that lie wholly in the last `room` of a file's `size` bytes."""
    start = max(0, size - room)
    if start:
        start = newline(fd, start - 1) + 1
        if not start:
            return
    yield from each(fd, start)


def containing(fd: int, needle: bytes, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield the complete lines that begin before `stop` and contain the needle, found at the speed of a raw read."""
    start = 0
    while chunk := os.pread(fd, _CHUNK + len(needle), start):
        hit = chunk.find(needle)
        if hit < 0:
            if len(chunk) <= len(needle):
                return
            start += len(chunk) - len(needle)
            continue
        first = last_newline(fd, start + hit) + 1
        if stop is not None and first >= stop:
            return
        piece = one(fd, first)
        yield from piece.lines
        if piece.end == first:
            return
        start = piece.end
