"""Find at which offsets of a file a key stands, without reading the file: a sorted table that is kept beside it."""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prloom.storage.folder import Folder

FAR = 0xFFFF_FFFF
"""Stands for an offset that has no room in a table: from 4 GiB on, a key has to be searched for."""

_BITS = 32
_HEAD = struct.Struct("<8sQQI")
_MAGIC = b"prloom\x01i"


class Table(NamedTuple):
    """Sorted pairs of a key's checksum and an offset, in one number each; `covered` is how far the file was read.

    Two keys may have one checksum, so what a table finds is to be looked at. It costs 8 bytes a key.
    """

    pairs: array[int] = array("Q")
    covered: int = 0


def find(key: str, tables: Iterable[tuple[int, Table]]) -> Iterator[tuple[int, int]]:
    """Yield where a key may stand: the number that its table has here, and an offset, FAR for anywhere behind that.

    There may be a table for each of many files, and as a rule the key is in none: so each costs one bisection.
    """
    low = _checksum(key) << _BITS
    high = low | FAR
    for number, (pairs, _) in tables:
        at = bisect_left(pairs, low)
        while at < len(pairs) and pairs[at] <= high:
            yield number, pairs[at] & FAR
            at += 1


def made(places: Iterable[tuple[str, int]], covered: int) -> Table:
    """Return the table of keys and their offsets."""
    return Table(array("Q", sorted(_checksum(key) << _BITS | min(offset, FAR) for key, offset in places)), covered)


def merged(first: Table, second: Table) -> Table:
    """Return both tables as one."""
    return Table(array("Q", sorted(first.pairs + second.pairs)), max(first.covered, second.covered))


def save(folder: Folder, name: str, table: Table) -> None:
    """Write a table whole. It can be made again at any time, so it is not waited for until it is on the disk."""
    body = _little(table.pairs).tobytes()
    head = _HEAD.pack(_MAGIC, table.covered, len(table.pairs), crc32(body))
    folder.replace(name, head + body, lasting=False)


def load(folder: Folder, name: str) -> Table | None:
    """Return the table of a file; None where there is none, or it is not what was written."""
    content = folder.read_bytes(name)
    if content is None or len(content) < _HEAD.size:
        return None
    magic, covered, count, checksum = _HEAD.unpack_from(content)
    body = memoryview(content)[_HEAD.size :]
    if magic != _MAGIC or len(body) != count * 8 or crc32(body) != checksum:
        return None
    pairs = array("Q")
    pairs.frombytes(body)
    return Table(_little(pairs), covered)


def _checksum(key: str) -> int:
    return crc32(key.encode("utf-8", "surrogatepass"))


def _little(pairs: array[int]) -> array[int]:
    if sys.byteorder == "little":
        return pairs
    swapped = pairs[:]
    swapped.byteswap()
    return swapped
