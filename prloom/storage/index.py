"""Sort pairs of a key's checksum and the offset where it stands, so that a key is found without reading the file."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FAR = 0xFFFF_FFFF
"""Stands for an offset that has no room in a table: from 4 GiB on, a key has to be searched for."""

_BITS = 32
_PIECE = 1 << 15
"""Pairs that are sorted in one go: as Python's numbers they take five times the memory that they take in a table."""


Pairs: TypeAlias = "array[int] | memoryview[int]"
"""Sorted pairs of a key's checksum and an offset, in one number each."""


class Table(NamedTuple):
    """Pairs in memory; `covered` is how far the file was read.

    Two keys may have one checksum, so what a table finds is to be looked at. It costs 8 bytes a key.
    """

    pairs: array[int] = array("Q")
    covered: int = 0


def checksum(key: str) -> int:
    """Return the first number that a pair of the key can be; `low | FAR` is the last."""
    return crc32(key.encode("utf-8", "surrogatepass")) << _BITS


def made(places: Iterable[tuple[str, int]], covered: int) -> Table:
    """Return the table of keys and their offsets."""
    pairs = array("Q", (checksum(key) | min(offset, FAR) for key, offset in places))
    if len(pairs) <= _PIECE:
        return Table(array("Q", sorted(pairs)), covered)
    heaps = [array("Q") for _ in range(len(pairs) // _PIECE + 1)]
    for pair in pairs:
        heaps[pair * len(heaps) >> 2 * _BITS].append(pair)
    del pairs[:]
    for heap in heaps:
        pairs.extend(sorted(heap))
    return Table(pairs, covered)


def merge(tables: Sequence[tuple[Pairs, int]]) -> Iterator[list[int]]:
    """Yield the pairs of several tables in their order, piece by piece; each table's offsets are moved by a number."""
    pieces = sum(len(pairs) for pairs, _ in tables) // _PIECE + 1
    done = [0] * len(tables)
    for piece in range(1, pieces + 1):
        bound = (piece << 2 * _BITS) // pieces
        found: list[int] = []
        for number, (pairs, by) in enumerate(tables):
            end = bisect_left(pairs, bound, done[number])
            part = pairs[done[number] : end]
            if by:
                found += [pair + by for pair in part]
            else:
                found += part
            done[number] = end
        found.sort()
        yield found
