from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stage import NOON, said

from prloom.engine.bus import entries
from prloom.engine.bus import tables as tables_of
from prloom.engine.bus.seen_ids import SeenIds
from prloom.engine.bus.tables import SegmentTables
from prloom.model.position import START
from prloom.storage import index
from prloom.storage.disk import Disk
from prloom.storage.index import FAR, Table
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir

SEGMENTS = 14  # so that 8, 4, 1 and the newest have a table each


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with SafeDir.make(tmp_path, "bus") as folder:
        journal = Journal(folder, "events.jsonl")
        for number in range(1, SEGMENTS + 1):
            entries.append(journal, [said(f"e{number}"), said(f"f{number}")], NOON)
            journal.rotate()
        entries.append(journal, [said("e0")], NOON)
        yield journal


IDS = {*(f"{letter}{number}" for letter in "ef" for number in range(1, SEGMENTS + 1)), "e0"}


def names(tmp_path: Path) -> list[str]:
    return sorted(file.name for file in tmp_path.glob("bus/state/*.index"))


def found(journal: Journal) -> set[str]:
    known = SeenIds(journal, journal.end())
    assert "none" not in known
    return {each for each in IDS if each in known}


TABLES = [
    "events-000001-000008.index",
    "events-000009-000012.index",
    "events-000013.index",
    "events-000014.index",
]


def test_closed_segments_share_tables_so_that_there_are_few_and_what_they_were_made_of_is_gone(
    journal: Journal, tmp_path: Path
):
    assert found(journal) == IDS
    assert names(tmp_path) == TABLES


def test_tables_become_one_as_segments_are_closed(journal: Journal, tmp_path: Path):
    known = SeenIds(journal, journal.end())
    assert "none" not in known
    cursor = journal.end()
    for number in range(2):
        entries.append(journal, [said(f"last{number}")], NOON)
        journal.rotate()
        entries.append(journal, [said(f"later{number}")], NOON)
        batch = journal.read(cursor)
        for entry in batch.entries:
            event = entries.event(entry.line)
            assert event is not None
            known.add(event.id, entry.position)
        known.advance(batch.cursor)
        cursor = batch.cursor
        assert {each for each in (*IDS, "later0", "later1", "none") if each in known} == {
            *IDS,
            *(f"later{each}" for each in range(number + 1)),
        }

    assert names(tmp_path) == [*TABLES[:2], "events-000013-000014.index", "events-000015.index", "events-000016.index"]


def test_what_a_crash_left_of_the_tables_that_became_one_is_swept(journal: Journal, tmp_path: Path):
    found(journal)
    state = tmp_path / "bus/state"
    for half in ("events-000001-000004.index", "events-000005-000008.index"):
        (state / half).write_bytes(b"what it was made of")

    assert found(journal) == IDS
    assert names(tmp_path) == TABLES


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 0x10
    file.write_bytes(content)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "harm",
    [
        Path.unlink,
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:-1]),
        lambda file: flip(file, 10),
        lambda file: flip(file, 60),
        lambda file: flip(file, 40 + 8 * file.read_bytes()[16] + 3),  # in a pair, which is seen when it is asked for
        lambda file: file.write_bytes((file.parent / TABLES[TABLES.index(file.name) - 1]).read_bytes()),
    ],
)
def test_a_table_of_many_segments_that_is_missing_or_damaged_is_made_anew(
    journal: Journal, tmp_path: Path, name: str, harm: Callable[[Path], object]
):
    assert found(journal) == IDS
    before = {each: (tmp_path / "bus/state" / each).read_bytes() for each in TABLES}
    harm(tmp_path / "bus/state" / name)

    assert found(journal) == IDS
    assert {each: (tmp_path / "bus/state" / each).read_bytes() for each in TABLES} == before


def test_a_damaged_part_does_not_get_into_the_table_that_is_made_of_it(journal: Journal, tmp_path: Path):
    found(journal)
    state = tmp_path / "bus/state"
    part = state / "events-000013.index"
    flip(part, 43)
    journal.rotate()
    entries.append(journal, [said("later")], NOON)

    assert found(journal) == IDS
    assert names(tmp_path) == [*TABLES[:2], "events-000013-000014.index", "events-000015.index"]


def test_what_came_late_into_the_newest_segment_is_known_though_its_table_was_damaged_since(
    journal: Journal, tmp_path: Path
):
    cursor = journal.end()
    scan = SeenIds(journal, cursor)._scanned
    tables = SegmentTables(journal, scan)
    tables.look_round(cursor)
    assert [*tables.places(index.checksum("none"))] == []
    segment = tmp_path / f"bus/events-{SEGMENTS:06}.jsonl"
    late = segment.read_bytes().splitlines(keepends=True)[0].replace(b'"e14"', b'"late"')
    with segment.open("ab") as file:
        file.write(late)

    tables.look_round(cursor._replace(late=cursor.late + len(late)))
    tables.add(SEGMENTS, scan(SEGMENTS, cursor.late, cursor.late + len(late)))
    flip(tmp_path / "bus/state/events-000014.index", 43)

    for each in ("e14", "late"):
        places = list(tables.places(index.checksum(each)))
        assert [each.encode() in (journal.read_at(place) or b"") for place in places] == [True]


class NoRoom(Disk):
    """A disk that has no room for tables."""

    def create(self, name: str, folder: int, flags: int, mode: int) -> int:
        if ".index" in name:
            raise OSError(errno.ENOSPC, "no room")
        return super().create(name, folder, flags, mode)


def test_where_no_table_can_be_written_all_ids_are_known_all_the_same(journal: Journal, tmp_path: Path):
    with SafeDir.make(tmp_path, "bus", disk=NoRoom()) as folder:
        assert found(Journal(folder, "events.jsonl")) == IDS
    assert names(tmp_path) == []


def test_a_table_that_cannot_be_written_takes_none_of_those_away_that_it_would_be_made_of(
    journal: Journal, tmp_path: Path
):
    found(journal)
    journal.rotate()
    entries.append(journal, [said("later")], NOON)
    with SafeDir.make(tmp_path, "bus", disk=NoRoom()) as folder:
        assert found(Journal(folder, "events.jsonl")) == IDS

    assert names(tmp_path) == TABLES


def test_segments_that_were_taken_away_are_no_matter(journal: Journal, tmp_path: Path):
    for number in (1, 2, 10):
        (tmp_path / f"bus/events-{number:06}.jsonl").unlink()

    assert found(journal) == {each for each in IDS if each[1:] not in {"1", "2", "10"}}


# ---- of a segment that grows

LONG = "x" * (tables_of.WORTH_KEEPING // 10)


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Journal]:
    with SafeDir.make(tmp_path, "bus") as folder:
        yield Journal(folder, "events.jsonl")


def look(journal: Journal) -> tuple[list[tuple[int, int, int]], set[str]]:
    """Look for ids as a process does that has just begun: what it reads for that, and which it finds."""
    scan, scanned = SeenIds(journal, journal.end())._scanned, []

    def seen(number: int, start: int, stop: int) -> Table:
        scanned.append((number, start, stop))
        return scan(number, start, stop)

    tables = SegmentTables(journal, seen)
    tables.look_round(journal.end())
    ids = [f"{letter}{number}" for letter in "abc" for number in range(12)]
    return scanned, {each for each in ids if [*tables.places(index.checksum(each))]}


def test_a_start_reads_of_the_live_segment_what_came_since_its_table_was_kept(growing: Journal):
    a, b = ({f"{letter}{number}" for number in range(12)} for letter in "ab")
    entries.append(growing, [said(each, LONG) for each in sorted(a)], NOON)
    before = growing.end().offset
    assert look(growing) == ([(1, 0, before)], a)
    assert look(growing) == ([], a)
    entries.append(growing, [said(each) for each in sorted(b)], NOON)

    assert look(growing) == ([(1, before, growing.end().offset)], a | b)


def test_of_a_segment_that_has_just_begun_no_table_is_kept(growing: Journal, tmp_path: Path):
    entries.append(growing, [said("a1")], NOON)

    assert look(growing)[1] == {"a1"}
    assert names(tmp_path) == []


@pytest.mark.parametrize("noticed", [True, False])
def test_a_table_of_a_segment_that_another_one_has_taken_the_place_of_is_not_used(
    growing: Journal, tmp_path: Path, *, noticed: bool
):
    entries.append(growing, [said(f"a{number}", LONG) for number in range(12)], NOON)
    look(growing)
    (tmp_path / "bus/events.jsonl").unlink()
    entries.append(growing, [said(f"b{number}", LONG) for number in range(12)], NOON)
    if noticed:
        assert "b0" not in SeenIds(growing, START)
    entries.append(growing, [said("c1")], NOON)

    assert look(growing)[1] == {"c1", *(f"b{number}" for number in range(12))}


# ---- which share


@given(st.integers(1, 400))
def test_segments_share_tables_of_which_there_are_never_more_than_digits(count: int):
    tables = tables_of.shared(dict.fromkeys(range(1, count + 1), 1), count)

    assert [number for table in tables for number in table] == list(range(1, count + 1))
    assert tables[-1] == range(count, count + 1)
    assert len(tables) <= count // 64 + 6 + 1


@given(st.integers(1, 200), st.integers(1, 50))
def test_tables_are_made_of_whole_tables_as_segments_are_closed(count: int, more: int):
    before = tables_of.shared(dict.fromkeys(range(1, count + 1), 1), count)[:-1]
    after = tables_of.shared(dict.fromkeys(range(1, count + more + 1), 1), count + more)

    assert all(any(set(table) <= set(each) for each in after) for table in before)


@given(st.dictionaries(st.integers(1, 300), st.integers(0, FAR // 2), max_size=60))
def test_offsets_in_a_shared_table_have_room_whatever_segments_there_are(sizes: dict[int, int]):
    newest = max(sizes, default=0)
    tables = tables_of.shared(sizes, newest)

    assert {number for table in tables for number in table} >= sizes.keys()
    assert all(len(table) == 1 or sum(sizes.get(number, 0) for number in table) < FAR for table in tables)
    numbers = [number for table in tables for number in table]
    assert numbers == sorted(set(numbers))


def test_a_segment_of_an_absurd_number_costs_nothing():
    assert tables_of.shared({1: 5, 10**12: 5}, 10**12) == (range(1, 65), range(10**12, 10**12 + 1))
