from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stage import NOON, said

from prloom.engine.bus import closed, entries
from prloom.engine.bus.closed import Closed
from prloom.engine.bus.known import Known
from prloom.storage import index
from prloom.storage.disk import Disk
from prloom.storage.folder import Folder
from prloom.storage.index import FAR
from prloom.storage.journal import Journal

SEGMENTS = 14  # so that 8, 4, 1 and the newest have a table each


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Folder.make(tmp_path, "bus") as folder:
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
    known = Known(journal, journal.end())
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
    known = Known(journal, journal.end())
    assert "none" not in known
    cursor = journal.end()
    for number in range(2):
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
        lambda file: flip(file, 32 + 8 * file.read_bytes()[16] + 3),  # in a pair, which is seen when it is asked for
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
    scan = Known(journal, cursor)._scanned
    tables = Closed(journal, scan)
    tables.look_round(cursor.segment, cursor.late)
    segment = tmp_path / f"bus/events-{SEGMENTS:06}.jsonl"
    late = segment.read_bytes().splitlines(keepends=True)[0].replace(b'"e14"', b'"late"')
    with segment.open("ab") as file:
        file.write(late)

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
    with Folder.make(tmp_path, "bus", disk=NoRoom()) as folder:
        assert found(Journal(folder, "events.jsonl")) == IDS
    assert names(tmp_path) == []


def test_a_table_that_cannot_be_written_takes_none_of_those_away_that_it_would_be_made_of(
    journal: Journal, tmp_path: Path
):
    found(journal)
    journal.rotate()
    entries.append(journal, [said("later")], NOON)
    with Folder.make(tmp_path, "bus", disk=NoRoom()) as folder:
        assert found(Journal(folder, "events.jsonl")) == IDS

    assert names(tmp_path) == TABLES


def test_segments_that_were_taken_away_are_no_matter(journal: Journal, tmp_path: Path):
    for number in (1, 2, 10):
        (tmp_path / f"bus/events-{number:06}.jsonl").unlink()

    assert found(journal) == {each for each in IDS if each[1:] not in {"1", "2", "10"}}


# ---- which share


@given(st.integers(1, 400))
def test_segments_share_tables_of_which_there_are_never_more_than_digits(count: int):
    tables = closed.shared(dict.fromkeys(range(1, count + 1), 1), count)

    assert [number for table in tables for number in table] == list(range(1, count + 1))
    assert tables[-1] == range(count, count + 1)
    assert len(tables) <= count // 64 + 6 + 1


@given(st.integers(1, 200), st.integers(1, 50))
def test_tables_are_made_of_whole_tables_as_segments_are_closed(count: int, more: int):
    before = closed.shared(dict.fromkeys(range(1, count + 1), 1), count)[:-1]
    after = closed.shared(dict.fromkeys(range(1, count + more + 1), 1), count + more)

    assert all(any(set(table) <= set(each) for each in after) for table in before)


@given(st.dictionaries(st.integers(1, 300), st.integers(0, FAR // 2), max_size=60))
def test_offsets_in_a_shared_table_have_room_whatever_segments_there_are(sizes: dict[int, int]):
    newest = max(sizes, default=0)
    tables = closed.shared(sizes, newest)

    assert {number for table in tables for number in table} >= sizes.keys()
    assert all(len(table) == 1 or sum(sizes.get(number, 0) for number in table) < FAR for table in tables)
    numbers = [number for table in tables for number in table]
    assert numbers == sorted(set(numbers))


def test_a_segment_of_an_absurd_number_costs_nothing():
    assert closed.shared({1: 5, 10**12: 5}, 10**12) == (range(1, 65), range(10**12, 10**12 + 1))
