"""Share the rows of a screen out among its parts: each shows something, and one that weighs more shows more."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Extent(Struct, frozen=True):
    """How high each entry of a part is, how many entries it has in all, and its weight; `heights` may be the first."""

    heights: Sequence[int]
    total: int
    weight: int = 1


def used(part: Extent, count: int | None) -> int:
    """Return the rows of a part that shows so many entries: its title, they, and a count of the rest.

    With none of them it is the title, which counts them all; None stands for nothing at all.
    """
    if count is None:
        return 0
    is_cut = 0 < count < part.total
    return 1 + sum(part.heights[:count]) + is_cut


def shares(parts: Sequence[Extent], rows: int) -> list[int | None]:
    """Return how many entries each part shows within so many rows; None where not even its title has room.

    All have a title before one has an entry, and an entry before another has its second. Then the next entry is one of
    the part that has the fewest rows for its weight, the first of several.
    """
    shown: list[int | None] = [None] * len(parts)
    taken = [0] * len(parts)
    growing = [place for place, part in enumerate(parts) if part.total]
    while growing:
        place = min(growing, key=lambda each: (min(taken[each], 2), taken[each] / parts[each].weight))
        part, before = parts[place], shown[place]
        count = 0
        if before is not None:
            count = before + 1
        height = used(part, count)
        if count > len(part.heights) or sum(taken) - taken[place] + height > rows:
            growing.remove(place)
        else:
            shown[place], taken[place] = count, height
    return shown
