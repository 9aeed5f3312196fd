"""What the exchange costs on SQLite: against bare statements on the same disk, as durable as its own."""

from __future__ import annotations

import multiprocessing
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness import Figure, Row, Sizes, alternate, blank, compared, span, timed

from prloom.exchange import drafting, ids
from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite.store import SqliteStore

_MANY = 100
"""Messages in one measure: one alone is as long as the disk's mood."""
_BODY = "x" * 200
_CROWD = 4
_IDLE = 20
_FORK = multiprocessing.get_context("fork")


class Bare:
    """Transactions of one statement on a table with a primary key."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, topic TEXT, body TEXT, state TEXT)")

    def insert(self) -> int | None:
        """Insert a row."""
        return self._write("INSERT INTO rows (topic, body, state) VALUES ('t', ?, 'ready')", _BODY)

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
        yield _rated(
            blank("exchange-publish", "publish, SQLite", "bare INSERT transaction, as a rate", 0.6, sense="at least"),
            _often(lambda: exchange.publish("t", _BODY)),
            _often(bare.insert),
            sizes,
        )
    bare.close()


def work(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Claim, complete and reply; bare: insert and update twice."""
    bare = Bare(folder / "bare.db")
    with Exchange(SqliteStore(folder / "exchange.db")) as exchange:
        _publish(exchange, (sizes.rounds + 1) * _MANY)
        yield _rated(
            blank(
                "exchange-work",
                "claim + complete + reply, SQLite",
                "bare INSERT + 2 UPDATE, a transaction each, as a rate",
                0.5,
                sense="at least",
            ),
            _often(lambda: _work(exchange)),
            _often(bare.work),
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
            _publish(each, (sizes.rounds + 1) * _MANY)
        work = f"claim + complete + reply with {sizes.old:,} finished messages"
        figure = blank("exchange-history", work, "the same with none, as a rate", 0.9, sense="at least")
        yield _rated(figure, _often(lambda: _work(full)), _often(lambda: _work(empty)), sizes)
        figure = replace(figure, work=f"publish with {sizes.old:,} finished messages")
        subject, yardstick = (_often(lambda each=each: each.publish("t", _BODY)) for each in (full, empty))
        yield _rated(figure, subject, yardstick, sizes)


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
    seconds = 1 if sizes.rounds == 1 else 10
    store = SqliteStore(path)
    store.claim(drafting.asked("t"))  # that somebody works on it is noted once in an exchange's life
    watch = sqlite3.connect(path)
    before = watch.execute("PRAGMA data_version").fetchone()[0]
    with _FORK.Pool(_IDLE) as pool:
        used = pool.starmap(_idle, [(path, seconds)] * _IDLE, chunksize=1)
    written = watch.execute("PRAGMA data_version").fetchone()[0] - before
    watch.close()
    store.close()
    work = f"{_IDLE} idle workers for {seconds} s"
    yield Figure("exchange-idle", work, "write transactions", 0, written, unit="")
    yield Figure("exchange-idle", work, "a core", 1, 100 * sum(used) / seconds, unit="%")


def _rated(figure: Figure, subject: Callable[[], object], yardstick: Callable[[], object], sizes: Sizes) -> Figure:
    paired = alternate(timed(yardstick), timed(subject), sizes.rounds)  # a rate is the inverse of a time
    each = replace(compared(figure, paired))
    return replace(each, subject_took=span(paired.yardstick / _MANY), yardstick_took=span(paired.subject / _MANY))


def _often(work: Callable[[], object]) -> Callable[[], object]:
    def several() -> None:
        for _ in range(_MANY):
            work()

    return several


def _publish(exchange: Exchange, count: int) -> None:
    for _ in range(0, count, _MANY):
        exchange.publish_all([drafting.draft("t", _BODY) for _ in range(_MANY)])


def _work(exchange: Exchange) -> None:
    held = exchange.claim("t")
    assert held is not None  # noqa: S101 (enough was published)
    held.complete("done")


def _compete(folder: Path, count: int, seconds: float = 1.0) -> list[list[float]]:
    """Let so many workers claim and complete for some time; return each one's waits for a claim, in seconds."""
    folder.mkdir()
    path = folder / "exchange.db"
    with Exchange(SqliteStore(path)) as exchange:
        _publish(exchange, 10_000)
    start = time.time() + 0.3
    with _FORK.Pool(count) as pool:
        return pool.starmap(_competitor, [(path, start, start + seconds)] * count, chunksize=1)


def _competitor(path: Path, start: float, end: float) -> list[float]:
    waits = []
    with Exchange(SqliteStore(path)) as exchange:
        time.sleep(max(start - time.time(), 0))
        while time.time() < end:
            begun = time.perf_counter()
            held = exchange.claim("t")
            waits.append(time.perf_counter() - begun)
            if held is None:
                break
            held.complete("done")
    return waits


def _idle(path: Path, seconds: int) -> float:
    """Wait for work, and return the processor's time that it took, in seconds, less that of beginning to."""
    with Exchange(SqliteStore(path)) as exchange:
        assert list(exchange.claims("t", patience=timedelta(0))) == []  # noqa: S101 (there is nothing to claim)
        begun = time.process_time()
        assert list(exchange.claims("t", patience=timedelta(seconds=seconds))) == []  # noqa: S101 (likewise)
        return time.process_time() - begun


def _finished(path: Path, count: int) -> None:
    """Put finished messages into the database, each with its claim, as fast as can be."""
    now = int(datetime.now(UTC).timestamp() * 1_000_000)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO messages (id, topic, body, created_at, conversation_id, metadata) VALUES (?, 't', ?, ?, ?, '{}')",
        ((name, _BODY, now, name) for name in (ids.new() for _ in range(count))),
    )
    db.execute(
        "INSERT INTO deliveries (seq, topic, state, ending, attempts, ended_at, reply)"
        " SELECT seq, topic, 'done', 'completed', 1, created_at, 0 FROM messages"
    )
    db.executemany(
        "INSERT INTO claims"
        " (id, message, number, worker_group, worker_instance_id, claimed_at, lease_until, status, attempt)"
        " VALUES (?, ?, 1, 'g', 'i', 0, 0, 'completed', 1)",
        ((ids.new(), number + 1) for number in range(count)),
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
