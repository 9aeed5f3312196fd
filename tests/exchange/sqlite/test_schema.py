"""An older database is brought up, and what is asked often reads no history."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prloom.exchange.claim import TopicStats
from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite import reading, schema
from prloom.exchange.sqlite.store import SqliteStore

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
NEXT_DAY = NOW + timedelta(days=1)


@pytest.fixture
def first_version(tmp_path: Path) -> Path:
    """A database of the first version, with work of every kind in it."""
    path = tmp_path / "exchange.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(schema.SCRIPTS[0])
    db.execute(f"PRAGMA application_id = {schema.APPLICATION}")
    db.execute("PRAGMA user_version = 1")
    at = int(NOW.timestamp() * 1_000_000)
    states = [("ready", None), ("ready", None), ("done", "completed"), ("dead", "dead")]
    for seq, (state, ending) in enumerate(states, 1):
        name = f"m{seq}"
        db.execute(
            "INSERT INTO messages (seq, id, topic, created_at, conversation_id, metadata, body)"
            " VALUES (?, ?, 'work', ?, ?, '{}', 'x')",
            (seq, name, at, name),
        )
        db.execute(
            "INSERT INTO deliveries (seq, topic, state, ending, ended_at, reply) VALUES (?, 'work', ?, ?, ?, 0)",
            (seq, state, ending, at if ending else None),
        )
    db.close()
    return path


def version(path: Path) -> int:
    db = sqlite3.connect(path)
    (found,) = db.execute("PRAGMA user_version").fetchone()
    db.close()
    return int(found)


def work(exchange: Exchange) -> TopicStats:
    return next(stats for stats in exchange.stats() if stats.topic == "work")


def counts(stats: TopicStats) -> tuple[int, int, int, int, int]:
    return (stats.ready, stats.delayed, stats.leased, stats.done, stats.dead)


def test_a_database_of_the_first_version_goes_on(first_version: Path):
    with Exchange(SqliteStore(first_version, clock=lambda: NEXT_DAY)) as exchange:
        assert counts(work(exchange)) == (2, 0, 0, 1, 1)
        claimed = exchange.claim("work")
        claimed.complete("y")
        exchange.retry("m4")

        assert counts(work(exchange)) == (2, 0, 0, 2, 0)
        assert [message.id for message in exchange.read(topic="work")] == ["m1", "m2", "m3", "m4"]
    assert version(first_version) == schema.VERSION


def test_of_many_programs_that_open_an_older_database_at_once_one_upgrades_it(first_version: Path):
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(SqliteStore, [first_version] * 8))

    assert {counts(work(Exchange(store))) for store in stores} == {(2, 0, 0, 1, 1)}
    for store in stores:
        store.close()


def test_a_program_that_has_an_older_database_open_continues_beside_a_newer_one(first_version: Path):
    """A prloom of before has its own statements; what they change is counted."""
    older = sqlite3.connect(first_version, isolation_level=None)
    older.execute("SELECT count(*) FROM deliveries").fetchone()
    with Exchange(SqliteStore(first_version, clock=lambda: NEXT_DAY)) as exchange:
        older.execute("UPDATE deliveries SET state = 'done', ending = 'completed', ended_at = 1 WHERE seq = 1")
        older.execute("DELETE FROM deliveries WHERE seq = 3")

        assert counts(work(exchange)) == (1, 0, 0, 1, 1)
    older.close()


def test_a_script_that_fails_changes_nothing(first_version: Path):
    db = sqlite3.connect(first_version)
    db.execute("CREATE TABLE counts (theirs)")
    db.close()

    with pytest.raises(Exception, match="table counts already exists"):
        SqliteStore(first_version)

    assert version(first_version) == 1


def test_pages_are_as_small_as_a_claim_needs_them(tmp_path: Path):
    SqliteStore(tmp_path / "exchange.db").close()

    db = sqlite3.connect(tmp_path / "exchange.db")
    assert db.execute("PRAGMA page_size").fetchone() == (1024,)
    db.close()


def test_the_messages_of_a_topic_are_found_by_an_index(tmp_path: Path):
    SqliteStore(tmp_path / "exchange.db").close()
    db = sqlite3.connect(tmp_path / "exchange.db")
    query = "SELECT id FROM messages AS m WHERE m.topic = ? AND m.seq > ? ORDER BY m.seq LIMIT 9"

    (step,) = [step[3] for step in db.execute(f"EXPLAIN QUERY PLAN {query}", ("work", 1))]

    db.close()
    assert step.startswith("SEARCH m USING COVERING INDEX messages_topic") or "INDEX messages_topic" in step


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (reading._STATS, {"now": 0}),
        (reading._LEASED, {}),
        (reading._ENDED, (0,)),
        ("SELECT id FROM messages AS m WHERE m.topic = ? AND m.seq > ? ORDER BY m.seq LIMIT 9", ("work", 1)),
    ],
)
def test_topics_are_read_and_counted_without_their_history(tmp_path: Path, query: str, values: object):
    SqliteStore(tmp_path / "exchange.db").close()
    db = sqlite3.connect(tmp_path / "exchange.db")

    plan = [step[3] for step in db.execute(f"EXPLAIN QUERY PLAN {query}", values)]

    db.close()
    scans = {step for step in plan if step.startswith("SCAN")}
    assert scans <= {"SCAN c", "SCAN c USING INDEX claims_lease"}  # a row for each topic, one for each active claim
    assert not any("USE TEMP B-TREE FOR ORDER BY" in step for step in plan)
