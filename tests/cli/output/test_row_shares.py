"""How many entries each part of a screen shows: the table of what comes out, and what holds for every screen."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.cli.output.row_shares import Extent, shares, used

NONE = Extent((), 0)


def alike(count: int, height: int = 1, *, weight: int = 1) -> Extent:
    return Extent((height,) * count, count, weight)


def needs(count: int, height: int = 2) -> Extent:
    return alike(count, height, weight=3)


@pytest.mark.parametrize(
    ("parts", "rows", "shown"),
    [
        pytest.param([needs(2), alike(3), alike(2), alike(4)], 40, [2, 3, 2, 4], id="all of it fits"),
        pytest.param([needs(21), NONE, alike(18), alike(18)], 19, [4, None, 3, 2], id="80x24, no run goes on"),
        pytest.param([needs(21), alike(3), alike(18), alike(18)], 19, [4, 1, 1, 1], id="80x24, runs go on"),
        pytest.param([needs(21, 1), alike(3), alike(18), alike(18)], 46, [21, 3, 8, 8], id="wide and high"),
        pytest.param([needs(1), NONE, alike(18), alike(18)], 19, [1, None, 6, 6], id="few needs leave their rows"),
        pytest.param([NONE, NONE, alike(18), alike(18)], 19, [None, None, 8, 7], id="nothing needs a person"),
        pytest.param([needs(21, 9), NONE, alike(18), alike(18)], 19, [1, None, 2, 2], id="high entries"),
        pytest.param([needs(21, 50), NONE, alike(18), alike(18)], 19, [0, None, 7, 7], id="one higher than the screen"),
        pytest.param([needs(21), alike(3), alike(18), alike(18)], 12, [1, 3, 1, 0], id="a low screen"),
        pytest.param([needs(21, 1), NONE, alike(18), alike(18)], 9, [1, None, 1, 1], id="one of each comes first"),
        pytest.param([needs(21), alike(3), alike(18), alike(18)], 3, [0, 0, 0, None], id="room for titles only"),
        pytest.param([needs(21), alike(3), alike(18), alike(18)], 0, [None] * 4, id="no room"),
        pytest.param([alike(2), alike(2)], 6, [2, 2], id="a last entry takes the row of the count"),
        pytest.param([Extent((1, 1), 9), NONE], 40, [2, None], id="only some are laid out"),
    ],
)
def test_each_part_shows_something_and_needs_get_half(
    parts: Sequence[Extent], rows: int, shown: Sequence[int | None]
) -> None:
    assert shares(parts, rows) == shown


EXTENTS = st.builds(
    lambda heights, rest, weight: Extent(tuple(heights), len(heights) + rest * bool(heights), weight),
    st.lists(st.integers(1, 4), max_size=20),
    st.integers(0, 5),
    st.integers(1, 3),
)


@given(st.lists(EXTENTS, max_size=5), st.integers(-5, 80))
def test_it_always_fits_and_no_entry_that_fits_is_left_out(parts: Sequence[Extent], rows: int) -> None:
    shown = shares(parts, rows)
    taken = [used(part, count) for part, count in zip(parts, shown, strict=True)]

    assert sum(taken) <= max(rows, 0)
    if sum(used(part, 1) for part in parts if part.total) <= rows:
        assert all(shown[place] for place, part in enumerate(parts) if part.total)
    for part, count, before in zip(parts, shown, taken, strict=True):
        if count is not None and count < len(part.heights):
            assert sum(taken) - before + used(part, count + 1) > rows
