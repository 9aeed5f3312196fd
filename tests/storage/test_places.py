from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.storage import index
from prloom.storage.index import FAR
from prloom.storage.places import Places

OFFSETS = st.one_of(st.integers(0, 3), st.integers(FAR - 3, FAR + 3))


def where(places: Places, key: str) -> list[int]:
    return places.find(index.checksum(key))


@pytest.mark.parametrize("count", [0, 1, 511, 512, 513, 40_000])
def test_each_key_is_found_where_it_stands_and_no_other(count: int):
    keys = [f"key {number}" for number in range(count)]
    places = Places()
    for start in range(0, count, 300):
        places.add((keys[at], 10 * at) for at in range(start, min(start + 300, count)))

    assert all(10 * at in where(places, key) for at, key in enumerate(keys))
    assert sum(len(where(places, f"other {number}")) for number in range(1000)) <= 1


def test_a_key_that_stands_in_several_places_is_found_in_all_of_them():
    assert sorted(where(Places([("a", 0), ("b", 7), ("a", 14)]), "a")) == [0, 14]


def test_two_keys_of_one_checksum_are_both_found():
    places = Places([("plumless", 1), ("buckeroo", 2)])  # the classic pair of one CRC-32

    assert sorted(where(places, "plumless")) == sorted(where(places, "buckeroo")) == [1, 2]


def test_an_offset_that_has_no_room_is_far():
    places = Places([("near", FAR - 2), ("far", FAR - 1), ("beyond", FAR + 7)])

    assert [where(places, key) for key in ("near", "far", "beyond")] == [[FAR - 2], [FAR], [FAR]]


@given(st.lists(st.tuples(st.text(max_size=3), OFFSETS), max_size=60))
def test_the_table_of_all_is_what_is_made_of_them_at_once(given: list[tuple[str, int]]):
    bounded = [(key, offset if offset < FAR - 1 else FAR) for key, offset in given]

    assert Places(given).table(5) == index.made(bounded, 5)
