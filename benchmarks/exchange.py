"""Measure the exchange's SQLite store against bare statements on the same disk, alternating in one run.

`python benchmarks/exchange.py [NAME…]` prints a line for each of: publish, work, history, workers, idle. Figures of one
run are medians of rounds in which the subject and the yardstick take turns; only the ratios mean anything.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prloom.exchange import drafting, ids
from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite.store import SqliteStore

ROUNDS = 11
IDLE = timedelta(seconds=10)
BODY = "x" * 200
FORK = multiprocessing.get_context("fork")


class Yardstick:
    """Bare transactions on a table with a primary key, durable as the exchange's are."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, topic TEXT, body TEXT, state TEXT)")

    def insert(self) -> int | None:
        """Insert one row in one transaction."""
        return self._write("INSERT INTO rows (topic, body, state) VALUES ('t', ?, 'ready')", BODY).lastrowid

    def update(self, row: int | None, state: str) -> None:
        """Update one row in one transaction."""
        self._write("UPDATE rows SET state = ? WHERE id = ?", state, row)

    def _write(self, statement: str, *values: object) -> sqlite3.Cursor:
        self.db.execute("BEGIN IMMEDIATE")
        cursor = self.db.execute(statement, values)
        self.db.execute("COMMIT")
        return cursor


def timed(work: Callable[[], None], count: int) -> float:
    """Return how often a second the work is done."""
    begun = time.perf_counter()
    for _ in range(count):
        work()
    return count / (time.perf_counter() - begun)


def alternating(subject: Callable[[], None], yardstick: Callable[[], None], count: int) -> tuple[float, float, float]:
    """Return the medians of subject and yardstick a second, and of their ratio round by round."""
    timed(subject, count // 4)
    timed(yardstick, count // 4)
    pairs = []
    for number in range(ROUNDS):
        if number % 2:
            two = timed(yardstick, count)
            pairs.append((timed(subject, count), two))
        else:
            pairs.append((timed(subject, count), timed(yardstick, count)))
    ratio = statistics.median(one / two for one, two in pairs)
    return statistics.median(one for one, _ in pairs), statistics.median(two for _, two in pairs), ratio


def publish(folder: Path) -> None:
    """Measure publishing against a bare insert."""
    exchange, bare = Exchange(SqliteStore(folder / "exchange.db")), Yardstick(folder / "bare.db")
    one, two, ratio = alternating(lambda: void(exchange.publish("t", BODY)), lambda: void(bare.insert()), 400)
    print(f"publish: {one:.0f}/s, bare insert {two:.0f}/s, ratio {ratio:.2f} (target 0.6)")


def work(folder: Path) -> None:
    """Measure claiming, completing and replying against an insert and two updates."""
    exchange, bare = Exchange(SqliteStore(folder / "exchange.db")), Yardstick(folder / "bare.db")
    for _ in range(ROUNDS + 1):
        for _ in range(200):
            exchange.publish("t", BODY)

    def yardstick() -> None:
        row = bare.insert()
        bare.update(row, "leased")
        bare.update(row, "done")

    one, two, ratio = alternating(lambda: claim_and_complete(exchange), yardstick, 200)
    print(f"claim + complete + reply: {one:.0f}/s, insert + 2 updates {two:.0f}/s, ratio {ratio:.2f} (target 0.5)")


def history(folder: Path) -> None:
    """Measure the same on a million finished messages against none."""
    full, empty = (Exchange(SqliteStore(folder / name)) for name in ("full.db", "empty.db"))
    finished(folder / "full.db", 1_000_000)
    for exchange in (full, empty):
        for _ in range((ROUNDS + 1) * 200):
            exchange.publish("t", BODY)
    one, two, ratio = alternating(lambda: claim_and_complete(full), lambda: claim_and_complete(empty), 200)
    print(
        f"claim + complete + reply with 1M finished: {one:.0f}/s, with none {two:.0f}/s, ratio {ratio:.2f} (target 0.9)"
    )
    one, two, ratio = alternating(lambda: void(full.publish("t", BODY)), lambda: void(empty.publish("t", BODY)), 200)
    print(f"publish with 1M finished: {one:.0f}/s, with none {two:.0f}/s, ratio {ratio:.2f}")
    begun = time.perf_counter()
    full.stats()
    print(f"stats with 1M finished: {time.perf_counter() - begun:.2f} s")


def workers(folder: Path) -> None:
    """Measure how fairly four workers share the work, and how long one waits for a claim."""
    alone = [statistics.median(compete(folder / f"alone{number}", 1)[0]) for number in range(3)]
    fair, late = [], []
    for number in range(ROUNDS):
        waits = compete(folder / f"four{number}", 4)
        fair.append(min(map(len, waits)) / (sum(map(len, waits)) / 4))
        late.append(statistics.quantiles([each for some in waits for each in some], n=100)[98])
    p50, p99 = statistics.median(alone), statistics.median(late)
    print(f"4 workers: slowest share {statistics.median(fair):.2f} of fair (worst round {min(fair):.2f}; target 0.5)")
    print(
        f"4 workers: claim p99 {1000 * p99:.1f} ms, one worker's p50 {1000 * p50:.2f} ms, {p99 / p50:.0f} x (target 60)"
    )


def compete(folder: Path, count: int, seconds: float = 1.5) -> list[list[float]]:
    """Let so many workers claim and complete for some time; return each one's waits for a claim, in seconds."""
    folder.mkdir()
    path = folder / "exchange.db"
    with Exchange(SqliteStore(path)) as exchange:
        for _ in range(40):
            exchange.publish_all([drafting.draft("t", BODY) for _ in range(250)])
    start = time.time() + 0.3
    with FORK.Pool(count) as pool:
        return pool.starmap(_compete, [(path, start, start + seconds)] * count)


def _compete(path: Path, start: float, end: float) -> list[float]:
    waits = []
    with Exchange(SqliteStore(path)) as exchange:
        time.sleep(start - time.time())
        while time.time() < end:
            begun = time.perf_counter()
            held = exchange.claim("t")
            waits.append(time.perf_counter() - begun)
            if held is None:
                break
            held.complete("done")
    return waits


def idle(folder: Path) -> None:
    """Count what twenty workers write, and what they cost, while there is nothing to do for ten seconds."""
    path = folder / "exchange.db"
    store = SqliteStore(path)
    watch = sqlite3.connect(path)
    written = watch.execute("PRAGMA data_version").fetchone()
    with FORK.Pool(20) as pool:
        used = pool.map(_idle, [path] * 20, chunksize=1)
    changed = watch.execute("PRAGMA data_version").fetchone() != written
    store.close()
    share = 100 * sum(used) / IDLE.total_seconds()
    print(f"20 idle workers: {'something' if changed else 'nothing'} written; {share:.2f} % of a core (target 1)")


def _idle(path: Path) -> float:
    """Wait for work, and return the processor's time that it took, in seconds, less that of beginning to."""
    with Exchange(SqliteStore(path)) as exchange:
        assert list(exchange.claims("t", patience=timedelta(0))) == []  # noqa: S101 (there is nothing to claim)
        begun = time.process_time()
        assert list(exchange.claims("t", patience=IDLE)) == []  # noqa: S101 (likewise)
        return time.process_time() - begun


def claim_and_complete(exchange: Exchange) -> None:
    """Do a worker's part for one message."""
    held = exchange.claim("t")
    assert held is not None  # noqa: S101 (enough was published)
    held.complete("done")


def finished(path: Path, count: int) -> None:
    """Put finished messages into the database, each with its claim, as fast as can be."""
    now = int(datetime.now(UTC).timestamp() * 1_000_000)
    names = [(ids.new(), ids.new()) for _ in range(count)]
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO messages (id, topic, body, created_at, conversation_id, metadata) VALUES (?, 't', ?, ?, ?, '{}')",
        ((name, BODY, now, name) for name, _ in names),
    )
    db.execute(
        "INSERT INTO deliveries (seq, topic, state, ending, attempts, ended_at, reply)"
        " SELECT seq, topic, 'done', 'completed', 1, created_at, 0 FROM messages"
    )
    db.executemany(
        "INSERT INTO claims (id, message, worker_group, worker_instance_id, claimed_at, lease_until, status, attempt)"
        " VALUES (?, ?, 'g', 'i', 0, 0, 'completed', 1)",
        ((claim, number + 1) for number, (_, claim) in enumerate(names)),
    )
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def void(_: object) -> None:
    """Drop a result."""


ALL: dict[str, Callable[[Path], None]] = {each.__name__: each for each in (publish, work, history, workers, idle)}


def main() -> None:
    """Measure what is named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*ALL, []], metavar="NAME")
    for name in parser.parse_args().names or ALL:
        with tempfile.TemporaryDirectory() as folder:
            ALL[name](Path(folder))


if __name__ == "__main__":
    main()
