"""Which ids a bus has had, in bounded memory and beyond it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stage import NOON, said

from prloom.engine.bus import entries
from prloom.engine.bus import known as memory
from prloom.engine.bus.known import Known
from prloom.model.position import START
from prloom.storage.folder import Folder
from prloom.storage.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Folder.make(tmp_path, "bus") as folder:
        yield Journal(folder, "events.jsonl")


def put(journal: Journal, *ids: str, body: str = "hello") -> None:
    entries.append(journal, [said(event_id, body) for event_id in ids], NOON)


def test_an_id_that_was_read_is_known_and_one_that_stands_behind_the_cursor_is_news(journal: Journal):
    put(journal, "a")
    cursor = journal.end()
    put(journal, "b")

    known = Known(journal, cursor)

    assert "a" in known
    assert "b" not in known


def test_of_an_empty_journal_nothing_is_known(journal: Journal):
    known = Known(journal, START)

    assert "a" not in known
    assert not known._forgetful


def test_an_id_that_memory_has_let_go_is_looked_up_in_the_journal(journal: Journal):
    ids = [f"e{number}" for number in range(memory.REMEMBERED + 10)]
    put(journal, *ids)
    known = Known(journal, journal.end())

    for event_id in ids:
        known.add(event_id)

    assert len(known._ids) == memory.REMEMBERED
    assert "e0" in known
    assert "e" not in known


def test_an_id_from_before_the_window_is_looked_up_in_the_journal(journal: Journal):
    put(journal, "old")
    put(journal, "long", body="x" * (memory.WINDOW // 2))
    put(journal, "longer", body="x" * (memory.WINDOW // 2))

    known = Known(journal, journal.end())

    assert "old" in known
    assert "new" not in known


def test_an_id_is_known_where_the_last_line_alone_fills_the_window(journal: Journal):
    put(journal, "old")
    put(journal, "huge", body="x" * (2 * memory.WINDOW))

    known = Known(journal, journal.end())

    assert "old" in known
    assert "huge" in known


def test_an_id_in_a_closed_segment_is_known(journal: Journal):
    put(journal, "old", body="x" * memory.WINDOW)
    journal.rotate()
    put(journal, "new")

    known = Known(journal, journal.end())

    assert "old" in known
    assert "new" in known


def test_an_id_that_another_events_text_names_is_not_known_by_that(journal: Journal):
    put(journal, "first", body="x" * memory.WINDOW)
    put(journal, "quoting", body='"id":"quoted"')

    assert "quoted" not in Known(journal, journal.end())
