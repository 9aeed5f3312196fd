from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from prloom.model.record import START, Cursor
from prloom.storage import file_stamp
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir

NAME = "events.jsonl"
LONG = 100_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def of(file: Path, content: bytes, size: int | None = None) -> int:
    file.write_bytes(content)
    fd = os.open(file, os.O_RDONLY)
    try:
        return file_stamp.checksum(fd, len(content) if size is None else size)
    finally:
        os.close(fd)


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 4104, 5000, 2**15 + 4096, LONG])
def test_the_same_bytes_have_the_same_fingerprint_whatever_stands_behind_them(file: Path, size: int):
    content = os.urandom(LONG)

    assert of(file, content[:size]) == of(file, content, size) == of(file, content[:size] + b"more", size)


@pytest.mark.parametrize("size", [1, 300, 4096, 4097, 8192])
def test_no_byte_of_a_short_file_can_change_unseen(file: Path, size: int):
    content = bytes(size)
    before = of(file, content)

    assert all(of(file, content[:at] + b"x" + content[at + 1 :]) != before for at in range(0, size, 5))


def test_of_a_long_file_the_end_is_looked_at_whole_and_the_rest_in_places(file: Path):
    content = bytes(LONG)
    before = of(file, content)

    seen = [of(file, content[:at] + b"x" + content[at + 1 :]) != before for at in range(0, LONG, 500)]
    assert all(seen[-8:])
    assert len({at * 8 // len(seen) for at, noticed in enumerate(seen) if noticed}) == 8


def test_a_file_that_is_shorter_has_another_one(file: Path):
    content = os.urandom(LONG)

    assert of(file, content[:-1], LONG) != of(file, content)
    assert of(file, b"", LONG) != of(file, content)


# ---- and how a reader uses it


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with SafeDir.make(tmp_path, "bus") as folder:
        yield Journal(folder, NAME)


def rewritten(file: Path, old: bytes, new: bytes) -> None:
    """Exchange a few bytes; the file stays the same, and as long."""
    content, written_ns = file.read_bytes(), file.stat().st_mtime_ns
    assert old in content
    file.write_bytes(content.replace(old, new))
    os.utime(file, ns=(0, written_ns + 1))  # so that it is another time, however quick the test


def test_a_place_stands_until_what_is_before_it_changes(journal: Journal, tmp_path: Path):
    journal.append([b'{"id":"a"}', b'{"id":"b"}'])
    batch = journal.read(START)
    journal.append([b'{"id":"c"}'])

    assert journal.is_unchanged(batch.cursor, batch.fingerprint)
    rewritten(tmp_path / "bus" / NAME, b'"c"', b'"z"')
    assert journal.is_unchanged(batch.cursor, batch.fingerprint)
    rewritten(tmp_path / "bus" / NAME, b'"b"', b'"y"')
    assert not journal.is_unchanged(batch.cursor, batch.fingerprint)
    assert not Journal(journal.folder, NAME).is_unchanged(batch.cursor, batch.fingerprint)


def test_a_read_tells_the_fingerprint_of_the_place_that_it_came_to(journal: Journal):
    journal.append([b'{"id":"a"}', b'{"id":"b"}'])
    first = journal.read(START, limit_lines=1)
    rest = journal.read(first.cursor)

    assert first.fingerprint not in {None, rest.fingerprint}
    for batch in (first, rest):
        assert journal.is_unchanged(batch.cursor, batch.fingerprint)
    assert not journal.is_unchanged(first.cursor, rest.fingerprint)
    assert journal.read(rest.cursor).fingerprint is None


def test_a_place_stands_also_once_its_segment_was_closed(journal: Journal):
    journal.append([b'{"id":"a"}'])
    batch = journal.read(START)
    journal.rotate([b'{"id":"b"}'])

    assert journal.is_unchanged(batch.cursor, batch.fingerprint)
    following = journal.read(batch.cursor)
    assert following.cursor.segment == 2
    assert journal.is_unchanged(following.cursor, following.fingerprint)
    assert not journal.is_unchanged(following.cursor, batch.fingerprint)


@pytest.mark.parametrize("limit", [1, 10])
def test_lines_that_came_late_do_not_change_the_fingerprint_of_the_place_itself(
    journal: Journal, tmp_path: Path, limit: int
):
    journal.append([b'{"id":"a"}'])
    journal.rotate([b'{"id":"b"}'])
    cursor = journal.read(START).cursor
    with (tmp_path / "bus/events-000001.jsonl").open("ab") as file:
        file.write(b'{"id":"late"}\n')

    batch = journal.read(cursor, limit_lines=limit)

    assert [entry.line for entry in batch.entries] == [b'{"id":"late"}']
    assert batch.cursor == Cursor(2, cursor.offset, batch.cursor.late)
    assert batch.fingerprint is None
