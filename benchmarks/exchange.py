"""What the exchange costs on SQLite: against bare statements on the same disk, as durable as its own."""

from __future__ import annotations

import functools
import sqlite3
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import exchange_work
from exchange_work import BODY, FORK, MANY
from harness import Figure, Row, Sizes, blank, span

from prloom.exchange.exchange import Exchange
from prloom.exchange.message import new_id
from prloom.exchange.sqlite.store import SqliteStore

_CROWD = 4


class Bare:
    """Transactions of one statement on a table with a primary key."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, topic TEXT, body TEXT, state TEXT)")

    def insert(self) -> int | None:
        """Insert a row."""
        return self._write("INSERT INTO rows (topic, body, state) VALUES ('t', ?, 'ready')", BODY)

    def work(self) -> None:
        """Insert a row and update it twice."""
        row = self.insert()
        for state in ("leased", "done"):
            self._write("UPDATE rows SET state = ? WHERE id = ?", state, row)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _write(self, statement: str, *values: object) -> int | None:
        self._db.execute("BEGIN IMMEDIATE")
        row = self._db.execute(statement, values).lastrowid
        self._db.execute("COMMIT")
        return row


def publish(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Publish; bare: insert."""
    bare = Bare(folder / "bare.db")
    with Exchange(SqliteStore(folder / "exchange.db")) as exchange:
        yield exchange_work.rated(
            blank("exchange-publish", "publish, SQLite", "bare INSERT transaction, as a rate", 0.6, sense="at least"),
            lambda: exchange.publish("t", BODY),
            bare.insert,
            sizes,
        )
    bare.close()


def work(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Claim, complete and reply; bare: insert and update twice."""
    bare = Bare(folder / "bare.db")
    with Exchange(SqliteStore(folder / "exchange.db")) as exchange:
        exchange_work.publish(exchange, (sizes.rounds + 1) * MANY)
        yield exchange_work.rated(
            blank(
                "exchange-work",
                "claim + complete + reply, SQLite",
                "bare INSERT + 2 UPDATE, a transaction each, as a rate",
                0.5,
                sense="at least",
            ),
            lambda: exchange_work.work(exchange),
            bare.work,
            sizes,
        )
    bare.close()


def history(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Claim, complete and reply, and publish, with a long history and with none."""
    with (
        Exchange(SqliteStore(folder / "full.db")) as full,
        Exchange(SqliteStore(folder / "empty.db")) as empty,
    ):
        _finished(folder / "full.db", sizes.old)
        for each in (full, empty):
            exchange_work.publish(each, (sizes.rounds + 1) * MANY)
        work = f"claim + complete + reply with {sizes.old:,} finished messages"
        figure = blank("exchange-history", work, "the same with none, as a rate", 0.9, sense="at least")
        yield exchange_work.rated(figure, lambda: exchange_work.work(full), lambda: exchange_work.work(empty), sizes)
        figure = replace(figure, work=f"publish with {sizes.old:,} finished messages")
        subject, yardstick = (functools.partial(each.publish, "t", BODY) for each in (full, empty))
        yield exchange_work.rated(figure, subject, yardstick, sizes)


def crowd(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Let four workers compete, and one work alone, in turn."""
    alone, late, fair = [], [], []
    for number in range(sizes.rounds):
        alone.append(statistics.median(_compete(folder / f"one{number}", 1)[0]))
        waits = _compete(folder / f"several{number}", _CROWD)
        fair.append(min(map(len, waits)) * _CROWD / sum(map(len, waits)))
        late.append(statistics.quantiles([each for some in waits for each in some], n=100)[98])
    share = blank("exchange-crowd", f"slowest of {_CROWD} workers", "its fair share", 0.5, sense="at least")
    yield replace(share, value=statistics.median(fair), subject_took=f"{min(fair):.2f} in the worst round")
    wait = blank("exchange-crowd", f"p99 of a claim, {_CROWD} workers", "one worker's p50", 60)
    ratio = statistics.median(one / other for one, other in zip(late, alone, strict=True))
    one, other = span(statistics.median(late)), span(statistics.median(alone))
    yield replace(wait, value=ratio, subject_took=one, yardstick_took=other)


def idle(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Count what twenty workers write, and what they cost, while there is nothing to do."""
    path = folder / "exchange.db"
    Exchange(SqliteStore(path)).close()
    watch = sqlite3.connect(path)
    yield from exchange_work.idle(
        sizes,
        "exchange-idle",
        "SQLite",
        lambda: Exchange(SqliteStore(path)),
        lambda: int(watch.execute("PRAGMA data_version").fetchone()[0]),
    )
    watch.close()


def _compete(folder: Path, count: int, seconds: float = 1.0) -> list[list[float]]:
    """Let so many workers claim and complete for some time; return each one's waits for a claim, in seconds."""
    folder.mkdir()
    path = folder / "exchange.db"
    with Exchange(SqliteStore(path)) as exchange:
        exchange_work.publish(exchange, 10_000)
    start = time.time() + 0.3
    with FORK.Pool(count) as pool:
        return pool.starmap(_competitor, [(path, start, start + seconds)] * count, chunksize=1)


def _competitor(path: Path, start: float, end: float) -> list[float]:
    waits = []
    with Exchange(SqliteStore(path)) as exchange:
        time.sleep(max(start - time.time(), 0))
        while time.time() < end:
            begun = time.perf_counter()
            claimed = exchange.claim("t")
            waits.append(time.perf_counter() - begun)
            if claimed is None:
                break
            claimed.complete("done")
    return waits


def _finished(path: Path, count: int) -> None:
    """Put finished messages into the database, each with its claim, as fast as can be."""
    now = int(datetime.now(UTC).timestamp() * 1_000_000)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO messages (id, topic, body, created_at, conversation_id, metadata) VALUES (?, 't', ?, ?, ?, '{}')",
        ((name, BODY, now, name) for name in (new_id() for _ in range(count))),
    )
    db.execute(
        "INSERT INTO deliveries (seq, topic, state, ending, attempts, ended_at, reply)"
        " SELECT seq, topic, 'done', 'completed', 1, created_at, 0 FROM messages"
    )
    db.executemany(
        "INSERT INTO claims"
        " (id, message, number, worker_group, worker_instance_id, claimed_at, lease_until, status, attempt)"
        " VALUES (?, ?, 1, 'g', 'i', 0, 0, 'completed', 1)",
        ((new_id(), number + 1) for number in range(count)),
    )
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


ROWS = (
    Row("exchange-publish", publish),
    Row("exchange-work", work),
    Row("exchange-history", history),
    Row("exchange-crowd", crowd),
    Row("exchange-idle", idle),
)
