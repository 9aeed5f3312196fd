"""What the exchange costs on PostgreSQL: against bare statements on the same server, as durable as its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import exchange_work
import psycopg
from exchange_work import BODY, MANY
from harness import Figure, Row, Sizes, blank

from prloom.exchange.exchange import Exchange
from prloom.exchange.postgres import address, session
from prloom.exchange.postgres.store import PostgresStore

sys.path.append(str(Path(__file__).parents[1] / "tests" / "kit"))

import postgres_server


class Bare:
    """A table with a partial index on what is ready, and the statements that everybody writes for it."""

    def __init__(self, server: str) -> None:
        self._db = psycopg.connect(server, autocommit=True, prepare_threshold=0)
        self._db.execute(
            "CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, topic text, body text, state text)"
        )
        self._db.execute("CREATE INDEX ON bare (topic, id) WHERE state = 'ready'")

    def fill(self, count: int) -> None:
        """Insert rows to be worked on."""
        self._db.execute(
            "INSERT INTO bare (topic, body, state) SELECT 't', %s, 'ready' FROM generate_series(1, %s)", (BODY, count)
        )

    def work(self) -> None:
        """Claim a row; set it done and insert its reply, in one transaction."""
        row = self._db.execute(
            "UPDATE bare SET state = 'leased' WHERE id = (SELECT id FROM bare WHERE topic = %s AND state = 'ready'"
            " ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, body",
            ("t",),
        ).fetchone()
        assert row is not None  # noqa: S101 (there are enough)
        with self._db.transaction():
            self._db.execute("UPDATE bare SET state = 'done' WHERE id = %s", (row[0],))
            self._db.execute("INSERT INTO bare (topic, body, state) VALUES ('t.completed', %s, 'ready')", ("done",))

    def close(self) -> None:
        """Let go of the server."""
        self._db.close()


def work(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Claim, complete and reply; bare: the same with a SKIP LOCKED statement and a transaction of two more."""
    if not possible():
        return
    with running_server() as server, Exchange(PostgresStore(server)) as exchange:
        bare = Bare(server)
        bare.fill((sizes.rounds + 1) * MANY)
        exchange_work.publish(exchange, (sizes.rounds + 1) * MANY)
        figure = blank(
            "exchange-postgres",
            "claim + complete + reply, PostgreSQL",
            "bare UPDATE … SKIP LOCKED, then UPDATE + INSERT, as a rate",
            0.6,
            sense="at least",
        )
        yield exchange_work.rated(figure, lambda: exchange_work.work(exchange), bare.work, sizes)
        bare.close()


def history(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Claim, complete and reply with a long history and with none."""
    if not possible():
        return
    with running_server() as server:
        names = [f"{server}&schema={name}" for name in ("full", "empty")]
        full, empty = (Exchange(PostgresStore(name)) for name in names)
        _finished(names[0], sizes.saved)
        for each in (full, empty):
            exchange_work.publish(each, (sizes.rounds + 1) * MANY)
        figure = blank(
            "exchange-postgres-history",
            f"the same with {sizes.saved:,} finished messages",
            "with none, as a rate",
            0.9,
            sense="at least",
        )
        yield exchange_work.rated(figure, lambda: exchange_work.work(full), lambda: exchange_work.work(empty), sizes)
        full.close()
        empty.close()


def idle(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Count what twenty workers write, and what they cost, while there is nothing to do."""
    if not possible():
        return
    with running_server() as server:
        Exchange(PostgresStore(server)).close()
        with psycopg.connect(server, autocommit=True) as watch:
            yield from exchange_work.idle(
                sizes,
                "exchange-postgres-idle",
                "PostgreSQL",
                lambda: Exchange(PostgresStore(server)),
                lambda: _written(watch),
            )


def _written(watch: psycopg.Connection) -> int:
    """Return the number that the next transaction gets; one that writes nothing, and tells nobody, gets none."""
    row = watch.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").fetchone()
    assert row is not None  # noqa: S101 (a function of PostgreSQL's)
    return int(row[0])


def possible() -> bool:
    """Whether a server can be had here; if not, stderr says why."""
    try:
        postgres_server.programs()
    except postgres_server.NoServerError as error:
        print(error, file=sys.stderr)
        return False
    return True


@contextmanager
def running_server() -> Iterator[str]:
    """Run a server that keeps its word through a power cut, and give its URL."""
    server = postgres_server.Server(postgres_server.programs(), durable=True)
    try:
        yield server.url
    finally:
        server.remove()


def _finished(name: str, count: int) -> None:
    """Put finished messages into a schema, each with its claim."""
    where = address.read_url(name)
    with session.connect(where) as db:
        db.execute(f"SET search_path = {where.schema}".encode())
        db.execute(
            "INSERT INTO messages (id, topic, body, created_at, conversation_id, metadata)"
            " SELECT 'old' || n, 't', convert_to(%s, 'UTF8'), now(), 'old' || n, '{}' FROM generate_series(1, %s) AS n",
            (BODY, count),
        )
        db.execute(
            "INSERT INTO deliveries (seq, topic, created_at, state, ending, attempts, ended_at, reply)"
            " SELECT seq, topic, created_at, 'done', 'completed', 1, created_at, false FROM messages"
        )
        db.execute(
            "INSERT INTO claims"
            " (id, message, worker_group, worker_instance_id, claimed_at, lease_until, status, attempt)"
            " SELECT 'c' || id, seq, 'g', 'i', created_at, created_at, 'completed', 1 FROM messages"
        )
        db.execute("VACUUM ANALYZE messages, deliveries, claims")  # or the server does it while it is measured
        db.execute("CHECKPOINT")


ROWS = (Row("exchange-postgres", work), Row("exchange-postgres-history", history), Row("exchange-postgres-idle", idle))
