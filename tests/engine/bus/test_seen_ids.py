"""Which ids a bus has had, and where, in bounded memory and beyond it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stage import NOON, said

from prloom.engine.bus import entries
from prloom.engine.bus import seen_ids as memory
from prloom.engine.bus.seen_ids import SeenIds
from prloom.model.position import START, Cursor
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with SafeDir.make(tmp_path, "bus") as folder:
        yield Journal(folder, "events.jsonl")


def put(journal: Journal, *ids: str, body: str = "hello") -> None:
    entries.append(journal, [said(event_id, body) for event_id in ids], NOON)


def read_on(known: SeenIds, journal: Journal, cursor: Cursor) -> Cursor:
    """Take in what stands behind the cursor, as the intake does."""
    while True:
        batch = journal.read(cursor)
        if batch.cursor == cursor:
            return cursor
        for entry in batch.entries:
            event = entries.event(entry.line)
            if event is not None and event.id not in known:
                known.add(event.id, entry.position)
        known.advance(batch.cursor)
        cursor = batch.cursor


def tables(tmp_path: Path) -> list[Path]:
    return sorted(tmp_path.glob("bus/state/*.index"))


def test_an_id_that_was_read_is_known_and_one_that_stands_behind_the_cursor_is_news(journal: Journal):
    put(journal, "a")
    cursor = journal.end()
    put(journal, "b")

    known = SeenIds(journal, cursor)

    assert "a" in known
    assert "b" not in known


def test_of_an_empty_journal_nothing_is_known(journal: Journal):
    known = SeenIds(journal, START)

    assert "a" not in known
    assert "" not in known
    assert 7 not in known


@pytest.mark.parametrize("first", ["b", "c", "d"])
def test_an_id_of_any_closed_segment_is_known_whichever_was_asked_for_first(journal: Journal, first: str):
    for event_id in "abc":
        put(journal, event_id)
        journal.rotate()
    put(journal, "d")
    known = SeenIds(journal, journal.end())

    assert first in known  # so that only the tables up to that one are in memory
    assert {each for each in "abcde" if each in known} == set("abcd")


def test_an_id_that_memory_has_let_go_is_known_and_where_it_stands(journal: Journal):
    ids = [f"e{number}" for number in range(memory.REMEMBERED + 10)]
    put(journal, *ids)
    known = SeenIds(journal, START)
    assert "e0" not in known
    read_on(known, journal, START)
    put(journal, *(f"f{number}" for number in range(memory.REMEMBERED)))
    read_on(known, journal, journal.end()._replace(offset=known._before.offset))

    assert len(known._ids) <= memory.REMEMBERED
    assert all(event_id in known for event_id in (*ids[:99], "f0", "f9"))
    place = known.position("e5")
    assert place is not None
    assert b'"e5"' in (journal.read_at(place) or b"")
    assert "e" not in known


def test_an_id_in_a_closed_segment_is_known_also_to_the_next_process(journal: Journal, tmp_path: Path):
    known = SeenIds(journal, START)
    put(journal, "old")
    cursor = read_on(known, journal, START)
    journal.rotate()
    put(journal, "new")
    cursor = read_on(known, journal, cursor)

    assert [file.name for file in tables(tmp_path)] == ["events-000001.index"]
    for each in (known, SeenIds(journal, cursor)):
        assert "old" in each
        assert "new" in each
        assert "none" not in each


def ruin(file: Path, content: bytes) -> None:
    file.write_bytes(content)


@pytest.mark.parametrize(
    "harm",
    [
        Path.unlink,
        lambda file: ruin(file, b""),
        lambda file: ruin(file, file.read_bytes()[:-1]),
        lambda file: ruin(file, file.read_bytes()[:-1] + b"\0"),
        lambda file: ruin(file, b"x" + file.read_bytes()[1:]),
    ],
)
def test_a_table_that_is_missing_or_damaged_is_made_anew(
    journal: Journal, tmp_path: Path, harm: Callable[[Path], object]
):
    put(journal, "old", "older")
    journal.rotate()
    put(journal, "new")
    assert "old" in SeenIds(journal, journal.end())
    (file,) = tables(tmp_path)
    before = file.read_bytes()
    harm(file)

    assert "old" in SeenIds(journal, journal.end())
    assert file.read_bytes() == before


def test_a_line_that_came_late_into_a_closed_segment_is_news_until_it_was_read(journal: Journal, tmp_path: Path):
    known = SeenIds(journal, START)
    put(journal, "old")
    cursor = read_on(known, journal, START)
    journal.rotate()
    put(journal, "new")
    cursor = read_on(known, journal, cursor)
    with (tmp_path / "bus/events-000001.jsonl").open("ab+") as file:
        file.seek(0)
        file.write(file.readline().replace(b'"old"', b'"late"'))

    assert "late" not in known
    assert "late" not in SeenIds(journal, cursor)
    cursor = read_on(known, journal, cursor)
    assert "late" in known
    assert "late" in SeenIds(journal, cursor)
    journal.rotate()
    put(journal, "newest")
    cursor = read_on(known, journal, cursor)
    assert "late" in known
    assert "late" in SeenIds(journal, cursor)


def test_an_id_that_another_events_text_names_is_not_known_by_that(journal: Journal):
    put(journal, "first")
    put(journal, "quoting", body='"id":"quoted"')

    assert "quoted" not in SeenIds(journal, journal.end())


def test_an_id_of_a_line_that_is_no_event_is_not_known(journal: Journal):
    journal.append([b'{"ts":"","kind":"event","schemaVersion":1,"data":{"id":"a"}}'])
    journal.append([b'{"ts":"","kind":"note","schemaVersion":1,"data":{"id":"b","source":"s","type":"t"}}'])
    journal.append([b"{"])

    known = SeenIds(journal, journal.end())

    assert "a" not in known
    assert "b" not in known


def test_ids_of_one_checksum_are_told_apart(journal: Journal):
    put(journal, "plumless")
    known = SeenIds(journal, journal.end())

    assert "plumless" in known
    assert "buckeroo" not in known  # the classic pair of one CRC-32


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.integers(0, 40), st.sampled_from(["rotate", "read", "restart"])), max_size=40), st.data())
def test_what_was_read_is_known_and_nothing_else_whatever_happens_between(
    tmp_path_factory: pytest.TempPathFactory, story: list[int | str], data: st.DataObject
):
    with SafeDir.make(tmp_path_factory.mktemp("story"), "bus") as folder:
        journal = Journal(folder, "events.jsonl")
        cursor, known = START, SeenIds(journal, START)
        written: set[str] = set()
        read: set[str] = set()
        for step in story:
            match step:
                case int():
                    put(journal, f"e{step}")
                    written.add(f"e{step}")
                case "rotate":
                    journal.rotate()
                case "read":
                    cursor = read_on(known, journal, cursor)
                    read = set(written)
                case _:
                    known = SeenIds(journal, cursor)

        assert {f"e{number}" for number in range(41) if f"e{number}" in known} == read
