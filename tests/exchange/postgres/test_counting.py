"""What `stats` says is counted as it happens: right for everybody at once, and at no cost of the history's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from prloom.exchange.claim import TopicStats
from prloom.exchange.exchange import Exchange
from prloom.exchange.memory import MemoryStore
from prloom.exchange.postgres import address, reading, schema
from prloom.exchange.postgres.store import PostgresStore
from prloom.exchange.validation import draft

Open = Callable[..., Exchange]

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
STATES = [("ready", None), ("ready", None), ("leased", None), ("done", "completed"), ("dead", "dead")]


@pytest.fixture
def older(url: str, raw: psycopg.Connection) -> str:
    """An exchange as the second version left it: a message in each state, and one more."""
    schema.upgrade(raw, address.read_url(url), schema.SCRIPTS[:2])
    for seq, (state, ending) in enumerate(STATES, 1):
        raw.execute(
            "INSERT INTO messages (id, topic, body, created_at, conversation_id, metadata)"
            " VALUES (%s, 'work', 'x', now(), %s, '{}')",
            (f"m{seq}", f"m{seq}"),
        )
        raw.execute(
            "INSERT INTO deliveries (seq, topic, created_at, state, ending, ended_at, reply)"
            " VALUES (%s, 'work', now(), %s, %s, %s, false)",
            (seq, state, ending, datetime.now(UTC) - timedelta(hours=1) if ending else None),
        )
    raw.execute(
        "INSERT INTO claims (id, message, worker_group, worker_instance_id, claimed_at, lease_until, status, attempt)"
        " VALUES ('c', 3, 'g', 'i', now(), now() + interval '1 hour', 'active', 1)"
    )
    return url


def work(exchange: Exchange) -> TopicStats:
    return next(stats for stats in exchange.stats() if stats.topic == "work")


def counts(stats: TopicStats) -> tuple[int, int, int, int, int]:
    return (stats.ready, stats.delayed, stats.leased, stats.done, stats.dead)


def noted(raw: psycopg.Connection) -> int:
    (count,) = raw.execute("SELECT count(*) FROM counted").fetchone() or (0,)
    return int(count)


def test_what_an_older_version_left_is_counted(older: str, opened: Open):
    exchange = opened(older)

    assert counts(work(exchange)) == (2, 0, 1, 1, 1)
    assert (work(exchange).published_per_minute, work(exchange).ended_per_minute) == (1.0, 0.0)
    claimed = exchange.claim("work")
    claimed.complete("y")
    exchange.retry("m5")
    assert counts(work(exchange)) == (2, 0, 1, 2, 0)
    assert work(exchange).ended_per_minute == 0.2


def test_of_many_programs_that_open_an_older_exchange_at_once_one_counts(older: str):
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(PostgresStore, [older] * 8))

    assert {counts(work(Exchange(store))) for store in stores} == {(2, 0, 1, 1, 1)}
    for store in stores:
        store.close()


def test_what_a_program_wrote_during_the_upgrade_is_counted(older: str, raw: psycopg.Connection, opened: Open):
    """An older prloom has its own statements, and a transaction that is open when a newer one comes."""
    where = address.read_url(older)
    with psycopg.connect(**where.parameters) as program, ThreadPoolExecutor(1) as pool:  # type: ignore[arg-type]
        program.execute(f"SET search_path = {where.schema}".encode())
        program.execute("UPDATE deliveries SET state = 'done', ending = 'completed', ended_at = now() WHERE seq = 1")
        opening = pool.submit(opened, older)
        while not raw.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
            assert not opening.done()
        program.commit()
        exchange = opening.result(60)
        assert counts(work(exchange)) == (1, 0, 1, 2, 1)

        program.execute("UPDATE deliveries SET state = 'done', ending = 'completed', ended_at = now() WHERE seq = 2")
        program.execute("DELETE FROM deliveries WHERE seq = 4")
        program.commit()

    assert counts(work(exchange)) == (0, 0, 1, 2, 1)


def test_what_was_rolled_back_is_not_counted(older: str, opened: Open, raw: psycopg.Connection):
    exchange = opened(older)
    before = exchange.stats()

    with raw.transaction(force_rollback=True):
        raw.execute("DELETE FROM deliveries")
        raw.execute("SELECT sum_counted()")

    after = exchange.stats()
    assert [counts(stats) for stats in after] == [counts(stats) for stats in before]


def test_counts_are_those_of_a_store_that_reads_all(url: str):
    """Whatever happens to a message: its retry and its removal take back what was counted, and when."""
    time = [NOW]
    exchanges = [
        Exchange(PostgresStore(url, clock=lambda: time[0])),
        Exchange(MemoryStore(clock=lambda: time[0])),
    ]
    seen: list[list[tuple[TopicStats, ...]]] = []
    for exchange in exchanges:
        time[0] = NOW
        seen.append([])
        published = [exchange.publish("work", str(number), max_attempts=1).id for number in range(6)]
        exchange.publish("work", "later", delay=timedelta(minutes=1))
        seen[-1].append(exchange.stats())
        for end in ("complete", "fail", "release", "dead"):
            claimed = exchange.claim("work")
            if end == "dead":
                claimed.fail("broken", retry=True)
            else:
                getattr(claimed, end)("x")
            seen[-1].append(exchange.stats())
        exchange.cancel(published[5])
        exchange.retry(published[1])
        time[0] += timedelta(minutes=4)
        seen[-1].append(exchange.stats())
        exchange.prune(timedelta(minutes=3))
        seen[-1].append(exchange.stats())
        time[0] += timedelta(minutes=4)
        seen[-1].append(exchange.stats())
        exchange.close()

    assert seen[0] == seen[1]


def test_what_was_noted_is_added_up_and_nothing_else_changes(exchange: Exchange, raw: psycopg.Connection):
    for _ in range(3):
        exchange.publish_all([draft("work", "x") for _ in range(1000)])
        claimed = exchange.claim("work")
        claimed.complete("y", topic="answers")

    (answers, done) = exchange.stats()

    assert noted(raw) < 100
    assert (counts(answers), counts(done)) == ((3, 0, 0, 0, 0), (2997, 0, 0, 3, 0))
    assert (done.published_per_minute, done.ended_per_minute) == (600.0, 0.6)


def test_sums_that_are_old_become_one_for_each_topic(exchange: Exchange, raw: psycopg.Connection):
    raw.execute(
        "INSERT INTO counted (topic, at, summed, messages, done)"
        " SELECT 'work', now() - n * interval '1 minute', true, 2, 1 FROM generate_series(7, 100) AS n"
    )

    raw.execute("SELECT sum_counted()")

    assert raw.execute("SELECT topic, at, summed, messages, done, dead FROM counted").fetchall() == [
        ("work", None, True, 188, 94, 0)
    ]


def test_transactions_that_add_up_do_not_wait_for_each_other_and_count_nothing_twice(
    older: str, opened: Open, raw: psycopg.Connection
):
    exchange = opened(older)
    where = address.read_url(older)
    with psycopg.connect(**where.parameters) as other:  # type: ignore[arg-type]
        other.execute(f"SET search_path = {where.schema}".encode())
        other.execute("SELECT sum_counted()")  # and is not committed yet
        raw.execute("SET lock_timeout = 1")
        raw.execute("SELECT sum_counted()")

        assert counts(work(exchange)) == (2, 0, 1, 1, 1)
        other.commit()

    assert counts(work(exchange)) == (2, 0, 1, 1, 1)
    raw.execute("SELECT sum_counted()")
    assert counts(work(exchange)) == (2, 0, 1, 1, 1)


def test_nothing_is_lost_or_counted_twice_by_many_at_once(url: str, raw: psycopg.Connection, exchange: Exchange):
    exchange.publish_all([draft(f"t{number % 2}", "x") for number in range(900)])
    names = {"t0", "t1"}

    def worker(number: int) -> None:
        with Exchange(PostgresStore(url)) as own:
            for round_ in range(60):
                claimed = own.claim(names)
                if round_ % 3:
                    claimed.complete("y", topic="answers")
                else:
                    claimed.fail("broken", topic=f"t{number % 2}")
                if round_ % 10 == 0:
                    own.store._connection.once("SELECT sum_counted()")  # type: ignore[attr-defined]
                own.stats()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(worker, range(4)))

    reported: Counter[tuple[str, str]] = Counter()
    for stats in exchange.stats():
        reported.update({(stats.topic, state): getattr(stats, state) for state in ("ready", "leased", "done", "dead")})
    rows = raw.execute("SELECT topic, state, count(*) FROM deliveries GROUP BY topic, state").fetchall()
    assert +reported == Counter({(topic, state): count for topic, state, count in rows})


def test_stats_read_no_history(exchange: Exchange, raw: psycopg.Connection):
    """Only what is open is read from `deliveries` and `claims`, by the indexes that hold nothing else."""
    exchange.publish("work", "x")
    raw.execute("SET enable_seqscan = off")

    statement = reading.STATS.replace("%s", "now()")
    plan = [line for (line,) in raw.execute(f"EXPLAIN {statement}".encode())]

    assert not any("Seq Scan on" in line and " on counted" not in line for line in plan), plan
    assert any("deliveries_ready" in line for line in plan), plan
    assert any("deliveries_delayed" in line for line in plan), plan
    assert any("claims_lease" in line or "claims_active" in line for line in plan), plan
