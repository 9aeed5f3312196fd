"""Find at which offsets of a growing file a key stands: by its checksum, in one array of at most 32 bytes a key."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from prloom.storage import index
from prloom.storage.index import FAR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prloom.storage.index import Table

_LEAST = 1024
_BITS = 32


class Places:
    """Pairs as a table has them, not sorted but each where its checksum says, or behind it where that is taken.

    At most half of the array is taken, so that to look for a key that is not there is a look at one number or two. The
    offsets in it are one higher, for a 0 is a free place.
    """

    __slots__ = ("_slots", "_taken")

    def __init__(self, places: Iterable[tuple[str, int]] = ()) -> None:
        self._slots = array("Q", bytes(8 * _LEAST))
        self._taken = 0
        self.add(places)

    def add(self, places: Iterable[tuple[str, int]]) -> None:
        """Note keys and their offsets."""
        fresh = array("Q", (index.checksum(key) | min(offset, FAR - 1) + 1 for key, offset in places))
        self._taken += len(fresh)
        if 2 * self._taken > len(self._slots):
            before, self._slots = self._slots, array("Q", bytes(8 * (1 << (2 * self._taken).bit_length())))
            self._put(filter(None, before))
        self._put(fresh)

    def find(self, low: int) -> list[int]:
        """Return the offsets where a key of this checksum may stand, FAR for anywhere behind that."""
        slots, last = self._slots, len(self._slots) - 1
        found = []
        at = low >> _BITS & last
        while pair := slots[at]:
            if pair & ~FAR == low:
                found.append((pair & FAR) - (pair & FAR != FAR))
            at = at + 1 & last
        return found

    def table(self, covered: int) -> Table:
        """Return the table of all that was noted; `covered` is how far the file was read."""
        return index.table(array("Q", (pair - (pair & FAR != FAR) for pair in self._slots if pair)), covered)

    def _put(self, pairs: Iterable[int]) -> None:
        slots, last = self._slots, len(self._slots) - 1
        for pair in pairs:
            at = pair >> _BITS & last
            while slots[at]:
                at = at + 1 & last
            slots[at] = pair
