"""Which ids a bus has had, and where, in memory and in the cache."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fake_clock import NOON
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stage import said

from prloom.engine.bus import entries
from prloom.engine.bus import seen_ids as memory
from prloom.engine.bus.seen_ids import SeenIds
from prloom.model.record import START, Cursor
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


def cached(journal: Journal, cursor: Cursor) -> SeenIds:
    """Return the ids of a journal that is taken to be long enough for the cache."""
    return SeenIds(journal, cursor, worth_caching=0)


def cache_file(tmp_path: Path) -> Path:
    return tmp_path / "bus/state/seen-ids.sqlite"


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


@pytest.mark.parametrize("make", [SeenIds, cached])
def test_an_id_that_memory_has_let_go_is_known_and_where_it_is(
    journal: Journal, tmp_path: Path, make: Callable[[Journal, Cursor], SeenIds]
):
    ids = [f"e{number}" for number in range(memory.REMEMBERED + 10)]
    known = make(journal, START)
    assert "e0" not in known
    put(journal, *ids)
    cursor = read_on(known, journal, START)
    put(journal, *(f"f{number}" for number in range(memory.REMEMBERED + 10)))
    cursor = read_on(known, journal, cursor)

    assert cache_file(tmp_path).exists()
    assert len(known._recent) <= memory.REMEMBERED
    for each in (known, SeenIds(journal, cursor)):
        assert all(event_id in each for event_id in (*ids[:99], "f0", "f9"))
        place = each.position("e5")
        assert place is not None
        assert b'"e5"' in (journal.read_at(place) or b"")
        assert "e" not in each


def test_an_id_in_a_closed_segment_is_known_also_to_the_next_process(journal: Journal, tmp_path: Path):
    known = cached(journal, START)
    put(journal, "old")
    cursor = read_on(known, journal, START)
    journal.rotate()
    put(journal, "new")
    cursor = read_on(known, journal, cursor)

    assert cache_file(tmp_path).stat().st_mode & 0o777 == 0o600
    for each in (known, cached(journal, cursor)):
        assert "old" in each
        assert "new" in each
        assert "none" not in each


def test_of_a_short_journal_no_cache_is_kept(journal: Journal, tmp_path: Path):
    put(journal, "a")

    assert "a" in SeenIds(journal, journal.end())
    assert not cache_file(tmp_path).exists()


def ruin(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def another_database(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE ids (something TEXT)")


def a_newer_format(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA user_version = 99")


HARMS: list[Callable[[Path], object]] = [
    Path.unlink,
    lambda file: ruin(file, b""),
    lambda file: ruin(file, file.read_bytes()[:1000]),
    lambda file: ruin(file, file.read_bytes()[: len(file.read_bytes()) // 2]),
    lambda file: ruin(file, b"x" * len(file.read_bytes())),
    lambda file: ruin(file, file.read_bytes()[:100] + b"\xee" * (len(file.read_bytes()) - 100)),
    lambda file: ruin(file.with_name(file.name + "-journal"), b"garbage"),
    another_database,
    a_newer_format,
]


@pytest.mark.parametrize("harm", HARMS)
def test_a_cache_that_is_missing_or_damaged_is_made_again(
    journal: Journal, tmp_path: Path, harm: Callable[[Path], object]
):
    put(journal, *(f"e{number}" for number in range(300)))
    journal.rotate()
    put(journal, "new")
    known = cached(journal, journal.end())
    assert "e0" in known
    known.advance(journal.end())
    harm(cache_file(tmp_path))

    for each in (known, cached(journal, journal.end())):
        assert {"e0", "e7", "e299", "new"} == {name for name in ("e0", "e7", "e299", "new", "none") if name in each}


@pytest.mark.parametrize("harm", HARMS[1:6])
def test_a_cache_that_is_damaged_while_it_is_open_does_not_end_the_process(
    journal: Journal, tmp_path: Path, harm: Callable[[Path], object]
):
    ids = [f"e{number}" for number in range(3000)]
    put(journal, *ids)
    known = cached(journal, journal.end())
    assert "e0" in known
    harm(cache_file(tmp_path))

    assert all(event_id in known for event_id in ids)
    assert "none" not in known


def as_a_link(state: Path) -> None:
    (state.parent / "elsewhere").write_bytes(b"not ours")
    (state / "seen-ids.sqlite").symlink_to(state.parent / "elsewhere")


def as_a_folder(state: Path) -> None:
    (state / "seen-ids.sqlite").mkdir()


@pytest.mark.parametrize("harm", [as_a_link, as_a_folder])
def test_where_no_cache_can_be_written_all_ids_are_known_and_nothing_else_is_touched(
    journal: Journal, tmp_path: Path, harm: Callable[[Path], object]
):
    put(journal, *(f"e{number}" for number in range(300)))
    (tmp_path / "bus/state").mkdir()
    harm(tmp_path / "bus/state")
    known = cached(journal, START)
    cursor = read_on(known, journal, START)
    put(journal, "later")
    read_on(known, journal, cursor)

    assert all(event_id in known for event_id in ("e0", "e299", "later"))
    assert "none" not in known
    assert all(file.read_bytes() == b"not ours" for file in tmp_path.glob("bus/elsewhere"))


def test_the_tables_of_an_earlier_version_are_removed(journal: Journal, tmp_path: Path):
    put(journal, "a")
    state = tmp_path / "bus/state"
    state.mkdir()
    for name in ("events-000001.index", "events-000001-000064.index", "events-notes.index"):
        (state / name).write_bytes(b"old")

    assert "a" in cached(journal, journal.end())
    assert [file.name for file in sorted(state.iterdir())] == ["events-notes.index", "seen-ids.sqlite"]


def test_what_was_read_of_a_file_that_was_replaced_is_not_known(journal: Journal, tmp_path: Path):
    put(journal, "a", "b")
    assert "b" in cached(journal, journal.end())
    (tmp_path / "bus/events.jsonl").unlink()
    put(journal, "c", "d")

    known = cached(journal, journal.end())

    assert {name for name in "abcd" if name in known} == {"c", "d"}


def test_segments_that_were_taken_away_are_not_looked_into(journal: Journal, tmp_path: Path):
    for event_id in "abc":
        put(journal, event_id)
        journal.rotate()
    assert "a" in cached(journal, journal.end())
    (tmp_path / "bus/events-000001.jsonl").unlink()

    known = cached(journal, journal.end())

    assert {name for name in "abc" if name in known} == {"b", "c"}


def test_a_line_that_came_late_into_a_closed_segment_is_news_until_it_was_read(journal: Journal, tmp_path: Path):
    known = cached(journal, START)
    put(journal, "old")
    cursor = read_on(known, journal, START)
    journal.rotate()
    put(journal, "new")
    cursor = read_on(known, journal, cursor)
    with (tmp_path / "bus/events-000001.jsonl").open("ab+") as file:
        file.seek(0)
        file.write(file.readline().replace(b'"old"', b'"late"'))

    assert "late" not in known
    assert "late" not in cached(journal, cursor)
    cursor = read_on(known, journal, cursor)
    assert "late" in known
    assert "late" in cached(journal, cursor)
    journal.rotate()
    put(journal, "newest")
    cursor = read_on(known, journal, cursor)
    assert "late" in known
    assert "late" in cached(journal, cursor)


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


@pytest.mark.parametrize("make", [SeenIds, cached])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=st.lists(st.one_of(st.integers(0, 40), st.sampled_from(["rotate", "read", "restart"])), max_size=40))
def test_what_was_read_is_known_and_nothing_else_whatever_happens_between(
    tmp_path_factory: pytest.TempPathFactory, make: Callable[[Journal, Cursor], SeenIds], story: list[int | str]
):
    with SafeDir.make(tmp_path_factory.mktemp("story"), "bus") as folder:
        journal = Journal(folder, "events.jsonl")
        cursor, known = START, make(journal, START)
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
                    known = make(journal, cursor)

        assert {f"e{number}" for number in range(41) if f"e{number}" in known} == read
