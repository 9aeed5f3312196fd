from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prloom.storage import index, tablefile
from prloom.storage.index import FAR, Table
from prloom.storage.safe_dir import SafeDir
from prloom.storage.tablefile import BLOCK, DamagedError, TableFile

NAME = "events-000001.index"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[SafeDir]:
    with SafeDir.make(tmp_path, "state") as made:
        yield made


def of(keys: Sequence[str], covered: int) -> Table:
    return index.made(((key, 10 * number) for number, key in enumerate(keys)), covered)


def saved(folder: SafeDir, *tables: Table) -> TableFile:
    moved = [(table.pairs, sum(each.covered for each in tables[:at])) for at, table in enumerate(tables)]
    folder.replace(NAME, tablefile.content(7, moved, [table.covered for table in tables]), lasting=False)
    found = tablefile.load(folder, NAME)
    assert found is not None
    return found


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 50_000])
def test_each_key_is_found_where_it_stands_and_no_other(folder: SafeDir, count: int):
    keys = [f"key {number}" for number in range(count)]

    table = saved(folder, of(keys, 10 * count))

    assert (table.first, table.covered) == (7, (10 * count,))
    step = max(1, count // 1000)
    assert all((0, 10 * at) in table.find(index.checksum(keys[at])) for at in range(0, count, step))
    assert sum(len(table.find(index.checksum(f"other {number}"))) for number in range(1000)) <= 1


def test_of_several_files_it_tells_in_which_one_a_key_stands(folder: SafeDir):
    tables = of(["a", "b"], 20), of([], 0), of(["c"], 10), of(["b", "d"], 20)

    table = saved(folder, *tables)

    assert table.covered == (20, 0, 10, 20)
    assert [list(table.find(index.checksum(key))) for key in "acd"] == [[(0, 0)], [(2, 0)], [(3, 10)]]
    assert sorted(table.find(index.checksum("b"))) == [(0, 10), (3, 0)]


def test_a_key_that_stands_at_more_places_than_a_block_has_pairs_is_found_at_all_of_them(folder: SafeDir):
    places = [("many", 10 * number) for number in range(3 * BLOCK)]
    more = [(f"key {number}", 5) for number in range(BLOCK)]

    table = saved(folder, index.made([*places, *more], 10 * len(places)))

    assert [offset for _, offset in table.find(index.checksum("many"))] == [offset for _, offset in places]


def test_a_place_behind_four_gibibytes_is_told_as_far(folder: SafeDir):
    table = saved(folder, index.made([("near", FAR - 1), ("far", FAR + 7)], FAR + 100))

    assert table.find(index.checksum("near")) == ((0, FAR - 1),)
    assert table.find(index.checksum("far")) == ((0, FAR),)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 99)), max_size=40), max_size=5))
def test_merged_tables_have_the_pairs_of_all_in_their_order(all_places: list[list[tuple[str, int]]]):
    tables = [index.made(places, 100) for places in all_places]

    merged = [pair for piece in index.merge([(table.pairs, 0) for table in tables]) for pair in piece]

    assert merged == sorted(pair for table in tables for pair in table.pairs)


def test_many_places_make_the_same_table_as_few_do_bit_by_bit():
    places = [(f"key {number}", number) for number in range(100_000)]
    parts = [index.made(places[at : at + 1000], 0) for at in range(0, len(places), 1000)]

    whole = index.made(places, 0)

    assert whole.pairs == array("Q", sorted(pair for part in parts for pair in part.pairs))


def test_a_damaged_table_is_never_believed(folder: SafeDir, tmp_path: Path):
    keys = [f"key {number}" for number in range(2 * BLOCK + 100)]
    saved(folder, of(keys, 99_999))
    file = tmp_path / "state" / NAME
    whole = file.read_bytes()

    for at in (*range(60), *range(60, len(whole), 331), *range(len(whole) - 60, len(whole))):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        found = tablefile.load(folder, NAME)
        if found is None:
            continue
        with pytest.raises(DamagedError):
            found.pairs()
        with pytest.raises(DamagedError):
            assert all((0, 10 * number) in found.find(index.checksum(key)) for number, key in enumerate(keys))


def test_a_table_that_was_cut_is_none(folder: SafeDir, tmp_path: Path):
    saved(folder, of(["a", "b", "c"], 30))
    file = tmp_path / "state" / NAME
    whole = file.read_bytes()

    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        assert tablefile.load(folder, NAME) is None
    file.write_bytes(whole + b"\0")
    assert tablefile.load(folder, NAME) is None


def test_there_is_no_table_where_there_is_no_file_or_one_of_another_form(folder: SafeDir, tmp_path: Path):
    assert tablefile.load(folder, NAME) is None
    (tmp_path / "state" / NAME).write_bytes(b"prloom\x01i" + bytes(100))
    assert tablefile.load(folder, NAME) is None
