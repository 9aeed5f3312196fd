"""Keep a table of what stands where in a file, of which only what is looked at is ever in memory."""

from __future__ import annotations

import mmap
import os
import struct
from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING
from zlib import crc32

from prloom.storage import index
from prloom.storage.index import FAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prloom.storage.index import Pairs
    from prloom.storage.safe_dir import SafeDir

BLOCK = 512
"""Pairs whose checksum is looked at together, when one of them is first asked for."""

_PAIR = 8
_HEAD = struct.Struct("=QQQQQ")
_CHECK = struct.Struct("=I")
_MAGIC = 0x7072_6C6F_6F6D_0202  # as a number, so that the tables of a machine of the other byte order are none here


class DamagedError(Exception):
    """A table that is not what was written; it has to be made again."""


class TableFile:
    """Sorted pairs of a key's checksum and a place in one or more files, which count as if they stood in one row.

    `first` is the number of the first file, `covered` how far each of them was read. `fingerprint` is that of what was
    read of a single file, by which it is known again; of several it is 0.

    On the disk that is: a head (what it is, the first file's number, how many files and pairs, the fingerprint), how
    far each file was read, the pairs, the first pair and the CRC-32 of each block of pairs, and the CRC-32 of all but
    the pairs themselves. So a start reads a three-hundredth of it, and damage is noticed where it is asked for.
    """

    __slots__ = ("_checks", "_firsts", "_pairs", "_sound", "_starts", "covered", "fingerprint", "first")

    def __init__(self, content: memoryview) -> None:
        if len(content) < _HEAD.size:
            raise DamagedError
        magic, self.first, files, count, self.fingerprint = _HEAD.unpack_from(content)
        blocks = -(-count // BLOCK)
        body = _HEAD.size + files * _PAIR
        rest = body + count * _PAIR
        end = rest + blocks * (_PAIR + 4)
        if magic != _MAGIC or len(content) != end + _CHECK.size:
            raise DamagedError
        if _CHECK.unpack_from(content, end)[0] != crc32(content[rest:end], crc32(content[:body])):
            raise DamagedError
        self.covered: tuple[int, ...] = tuple(content[_HEAD.size : body].cast("Q"))
        self._starts = (0, *accumulate(self.covered))
        self._pairs = content[body:rest].cast("Q")
        self._firsts = array("Q", content[rest : rest + blocks * _PAIR].tobytes())
        self._checks = array("I", content[rest + blocks * _PAIR : end].tobytes())
        self._sound = bytearray(blocks)

    def find(self, low: int) -> Sequence[tuple[int, int]]:
        """Return where a key may stand, by its checksum: in which file, from 0, and an offset, or FAR."""
        block = bisect_left(self._firsts, low)
        if block:
            block -= 1
        elif not self._sound:
            return ()
        if not self._sound[block]:
            self._verify(block)
        start = block * BLOCK
        at = bisect_left(self._pairs, low, start, min(start + BLOCK, len(self._pairs)))
        if at - start < BLOCK and at < len(self._pairs) and self._pairs[at] > low | FAR:  # as a rule: it is in no table
            return ()
        return tuple(self._from(at, low | FAR))

    def _from(self, at: int, high: int) -> Iterator[tuple[int, int]]:
        while at < len(self._pairs):
            if not self._sound[at // BLOCK]:
                self._verify(at // BLOCK)
            if self._pairs[at] > high:
                return
            yield self._place(self._pairs[at] & FAR)
            at += 1

    def pairs(self) -> Pairs:
        """Return all pairs, each looked at whether it is what was written."""
        for block in range(len(self._sound)):
            self._verify(block)
        return self._pairs

    def _place(self, place: int) -> tuple[int, int]:
        if place == FAR:
            return len(self.covered) - 1, FAR
        file = min(bisect_right(self._starts, place), len(self.covered)) - 1
        return file, place - self._starts[file]

    def _verify(self, block: int) -> None:
        if crc32(self._pairs[block * BLOCK : (block + 1) * BLOCK]) != self._checks[block]:
            raise DamagedError
        self._sound[block] = 1


def content(
    first: int, tables: Sequence[tuple[Pairs, int]], covered: Sequence[int], fingerprint: int = 0
) -> Iterator[bytes]:
    """Yield the content of a file, piece by piece: of several tables one, each with its offsets moved by a number.

    `first`, `covered` and `fingerprint` are those of the class.
    """
    count = sum(len(pairs) for pairs, _ in tables)
    head = _HEAD.pack(_MAGIC, first, len(covered), count, fingerprint) + array("Q", covered).tobytes()
    yield head
    firsts, checks = array("Q"), array("I")
    for whole in _in_blocks(index.merge(tables)):
        firsts.extend(whole[::BLOCK])
        block = memoryview(whole)
        checks.extend(crc32(block[at : at + BLOCK]) for at in range(0, len(whole), BLOCK))
        yield whole.tobytes()
    tail = firsts.tobytes() + checks.tobytes()
    yield tail + _CHECK.pack(crc32(tail, crc32(head)))


def _in_blocks(pieces: Iterable[list[int]]) -> Iterator[array[int]]:
    """Yield the pairs in arrays of whole blocks, and what is left."""
    rest = array("Q")
    for piece in pieces:
        rest.extend(piece)
        whole = len(rest) // BLOCK * BLOCK
        yield rest[:whole]
        del rest[:whole]
    yield rest


def load(folder: SafeDir, name: str) -> TableFile | None:
    """Return the table that a file holds; None where there is none, or it is not what was written."""
    fd = folder.open_to_read(name)
    if fd is None:
        return None
    try:
        size = os.fstat(fd).st_size
        return TableFile(memoryview(mmap.mmap(fd, size, prot=mmap.PROT_READ))) if size else None
    except (DamagedError, OSError, ValueError):  # the last where it is shorter now than it was a moment ago
        return None
    finally:
        os.close(fd)
