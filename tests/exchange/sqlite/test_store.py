from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from prloom.exchange.errors import StoreError
from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite.store import SqliteStore
from prloom.exchange.sqlite.writer_lock import WriterLock

NOTHING = timedelta(0)


def refusing(path: Path, what: str) -> None:
    """Have the database fail at one kind of write."""
    db = sqlite3.connect(path)
    db.execute(f"CREATE TRIGGER refuse BEFORE {what} BEGIN SELECT RAISE (ABORT, 'the disk broke'); END")
    db.close()


@pytest.mark.parametrize(
    "what",
    ["INSERT ON messages", "INSERT ON deliveries", "UPDATE ON claims", "UPDATE ON deliveries"],
)
def test_a_claim_that_cannot_be_settled_whole_is_not_settled_at_all(tmp_path: Path, what: str):
    with Exchange(SqliteStore(tmp_path / "exchange.db")) as exchange:
        published = exchange.publish("work", "x")
        claimed = exchange.claim("work")
        refusing(tmp_path / "exchange.db", what)

        with pytest.raises(StoreError, match=r"exchange\.db: the disk broke"):
            claimed.complete("y")

        entry = exchange.inspect(published.id)
        assert exchange.read() == (published,)
        assert (entry.delivery.state, entry.claims[0].status) == ("leased", "active")


@pytest.mark.parametrize("what", ["INSERT ON claims", "UPDATE ON deliveries"])
def test_a_message_that_cannot_be_claimed_whole_stays_ready(tmp_path: Path, what: str):
    with Exchange(SqliteStore(tmp_path / "exchange.db")) as exchange:
        published = exchange.publish("work", "x")
        refusing(tmp_path / "exchange.db", what)

        with pytest.raises(StoreError, match="the disk broke"):
            exchange.claim("work")

        entry = exchange.inspect(published.id)
        assert (entry.delivery.state, entry.claims) == ("ready", ())


def test_reading_does_not_wait_for_the_writers_lock(tmp_path: Path):
    path = tmp_path / "exchange.db"
    with Exchange(SqliteStore(path)) as exchange:
        exchange.publish("other", "x", track=True)
        exchange.claim("other")
        assert exchange.claim(["other", "work"]) is None
        lock = WriterLock(f"{path}-lock")

        with lock.locked(), Exchange(SqliteStore(path)) as another:
            for each in (exchange, another):
                assert list(each.claims("work", patience=NOTHING)) == []
                assert each.store.expire() == 0
                assert each.claim_notifications() == ()
                assert len(each.stats()) == len(each.read()) == 1

        lock.close()


def test_what_is_read_without_a_body_does_not_stand_behind_it(tmp_path: Path):
    path = tmp_path / "exchange.db"
    SqliteStore(path).close()
    db = sqlite3.connect(path)

    columns = [name for (name,) in db.execute("SELECT name FROM pragma_table_info('messages') ORDER BY cid")]

    db.close()
    assert columns[-1] == "body"
