from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from prloom.exchange import validation
from prloom.exchange.errors import StoreError
from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite import schema
from prloom.exchange.sqlite.store import SqliteStore


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_files_are_their_owners_alone(tmp_path: Path):
    mask = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "exchange.db")
        store.publish([validation.draft("work", "x")])
    finally:
        os.umask(mask)

    assert names(tmp_path) == ["exchange.db", "exchange.db-lock", "exchange.db-shm", "exchange.db-wal"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    store.close()


def test_what_is_acknowledged_is_on_disk_and_checked_as_such(tmp_path: Path):
    with_store = SqliteStore(tmp_path / "exchange.db")
    db = with_store._connection._db

    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)
    with_store.close()


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal", "-lock"])
def test_a_link_instead_of_a_file_is_refused_and_not_followed(tmp_path: Path, suffix: str):
    outside = tmp_path / "outside"
    (tmp_path / f"exchange.db{suffix}").symlink_to(outside)

    with pytest.raises(
        StoreError, match=rf"exchange\.db{suffix} is a link or not a regular file; remove it, or name another"
    ):
        SqliteStore(tmp_path / "exchange.db")

    assert not outside.exists()


def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes, which are long enough to be taken for something\n" * 40)
    before = path.read_bytes(), path.stat().st_mtime_ns

    with pytest.raises(
        StoreError,
        match=r"notes\.txt is not an exchange \(file is not a database\); name another file, or move this one away: "
        r"a new one is made then, without the messages that were in it",
    ):
        SqliteStore(path)

    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert names(tmp_path) == ["notes.txt"]


def test_another_programs_database_is_refused_untouched(tmp_path: Path):
    path = tmp_path / "music.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE songs (name)")
    db.close()
    before = path.read_bytes()

    with pytest.raises(StoreError, match=r"music\.db is another program's database, not an exchange; name"):
        SqliteStore(path)

    assert path.read_bytes() == before
    assert names(tmp_path) == ["music.db"]


def test_the_database_of_a_newer_prloom_is_refused_untouched(tmp_path: Path):
    path = tmp_path / "exchange.db"
    SqliteStore(path).close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    db.close()
    before = path.read_bytes()

    with pytest.raises(StoreError, match=r"was written by a newer prloom \(schema 3, this one knows 2\); update this"):
        SqliteStore(path)

    assert path.read_bytes() == before


def test_an_empty_file_becomes_an_exchange(tmp_path: Path):
    (tmp_path / "exchange.db").touch()

    store = SqliteStore(tmp_path / "exchange.db")

    assert store.stats() == ()
    store.close()


def test_no_program_can_change_a_message(tmp_path: Path):
    store = SqliteStore(tmp_path / "exchange.db")
    store.publish([validation.draft("work", "x")])
    db = sqlite3.connect(tmp_path / "exchange.db")

    with pytest.raises(sqlite3.IntegrityError, match="a message never changes"):
        db.execute("UPDATE messages SET body = 'y'")

    db.close()
    store.close()


def test_a_folder_that_is_not_there_is_said(tmp_path: Path):
    with pytest.raises(StoreError, match=r"nowhere/exchange\.db-lock cannot be made \(No such file or directory\)"):
        SqliteStore(tmp_path / "nowhere/exchange.db")


def test_a_store_is_not_used_after_a_fork(tmp_path: Path):
    store = SqliteStore(tmp_path / "exchange.db")
    store._connection._pid -= 1  # as the child would see it

    with pytest.raises(StoreError, match="was opened by the parent process; open it again after a fork"):
        store.publish([validation.draft("work", "x")])

    store._connection._pid += 1
    store.close()


def test_every_index_that_claiming_needs_contains_only_what_is_unfinished(tmp_path: Path):
    store = SqliteStore(tmp_path / "exchange.db")
    queries = (
        "SELECT seq FROM deliveries WHERE topic = 't' AND state = 'ready' AND available_at IS NULL ORDER BY seq",
        "SELECT min(available_at) FROM deliveries WHERE topic = 't' AND state = 'ready' AND available_at IS NOT NULL",
        "SELECT min(lease_until) FROM claims WHERE status = 'active'",
    )

    plans = [store._connection._db.execute(f"EXPLAIN QUERY PLAN {query}").fetchone()[3] for query in queries]

    assert [plan.split("INDEX ")[1].split()[0] for plan in plans] == [
        "deliveries_ready",
        "deliveries_delayed",
        "claims_lease",
    ]
    store.close()


def test_a_store_that_was_closed_says_so(tmp_path: Path):
    exchange = Exchange(SqliteStore(tmp_path / "exchange.db"))
    exchange.close()

    for use in (exchange.read, lambda: exchange.publish("work", "x")):
        with pytest.raises(StoreError, match=r"exchange\.db was closed; open it again$"):
            use()
    exchange.close()
