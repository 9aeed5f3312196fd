from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from prloom import installed
from prloom.exchange import store_url
from prloom.exchange.errors import StoreError
from prloom.exchange.exchange import Exchange
from prloom.exchange.postgres import address, schema
from prloom.exchange.postgres.store import PostgresStore


def versions(raw: psycopg.Connection) -> list[int]:
    return [row[0] for row in raw.execute("SELECT version FROM exchange_versions ORDER BY version")]


def tables(raw: psycopg.Connection, name: str) -> set[str]:
    return {row[0] for row in raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (name,))}


def test_a_postgresql_url_opens_an_exchange_that_others_find(url: str, raw: psycopg.Connection):
    with Exchange(store_url.open_store(url)) as one, Exchange(store_url.open_store(url)) as other:
        published = one.publish("work", "x")

        assert other.message(published.id) == published
    assert versions(raw) == [1, 2, 3]


def test_all_is_in_a_schema_of_its_own(url: str, raw: psycopg.Connection, exchange: Exchange):
    before = tables(raw, "public")
    exchange.publish("work", "x")

    assert tables(raw, "public") == before
    assert "messages" in tables(raw, address.read_url(url).schema)


def test_the_messages_of_a_topic_are_found_by_an_index(raw: psycopg.Connection, exchange: Exchange):
    exchange.publish("work", "x")
    raw.execute("SET enable_seqscan = off")  # of one message, all are read

    plan = raw.execute("EXPLAIN SELECT * FROM messages WHERE topic = 'work' AND seq > 1 ORDER BY seq").fetchall()

    assert any("messages_topic" in line for (line,) in plan)


def test_of_many_programs_that_open_at_once_one_makes_the_tables(url: str, raw: psycopg.Connection):
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(PostgresStore, [url] * 8))
    for store in stores:
        store.close()

    assert versions(raw) == [1, 2, 3]


def test_an_older_schema_is_upgraded_script_by_script(url: str, raw: psycopg.Connection, exchange: Exchange):
    published = exchange.publish("work", "x")
    further = (*schema.SCRIPTS, "ALTER TABLE messages ADD note text", "ALTER TABLE messages ADD other text")

    schema.upgrade(raw, address.read_url(url), further)
    schema.upgrade(raw, address.read_url(url), further)

    assert versions(raw) == [1, 2, 3, 4, 5]
    assert exchange.message(published.id) == published


def test_an_exchange_of_the_first_version_goes_on(url: str, raw: psycopg.Connection):
    schema.upgrade(raw, address.read_url(url), schema.SCRIPTS[:1])
    raw.execute(
        "INSERT INTO messages (id, topic, body, created_at, conversation_id, metadata)"
        " VALUES ('m', 'work', 'x', now(), 'm', '{}')"
    )
    raw.execute(
        "INSERT INTO deliveries (seq, topic, created_at, state, reply) VALUES (1, 'work', now(), 'ready', false)"
    )

    with Exchange(PostgresStore(url)) as exchange:
        claimed = exchange.claim("work")
        claimed.complete("y")

        assert [message.body for message in exchange.read()] == ["x", "y"]
    assert versions(raw) == [1, 2, 3]


def test_a_script_that_fails_changes_nothing(url: str, raw: psycopg.Connection, exchange: Exchange):
    scripts = (*schema.SCRIPTS, "ALTER TABLE messages ADD note text", "ALTER TABLE nothing ADD other text")

    with pytest.raises(psycopg.errors.UndefinedTable):
        schema.upgrade(raw, address.read_url(url), scripts)

    assert versions(raw) == [1, 2, 3]
    exchange.publish("work", "x")


def test_a_newer_schema_is_refused_and_not_touched(url: str, raw: psycopg.Connection, exchange: Exchange):
    raw.execute("INSERT INTO exchange_versions (version) VALUES (99)")
    raw.execute("DROP TABLE tracked")

    with pytest.raises(
        StoreError, match=r"was written by a newer prloom \(schema 99, this one knows 3\); update this prloom$"
    ):
        PostgresStore(url)

    assert "tracked" not in tables(raw, address.read_url(url).schema)


def test_another_programs_schema_is_refused_and_not_touched(url: str, raw: psycopg.Connection):
    name = address.read_url(url).schema
    raw.execute(f"CREATE SCHEMA {name}".encode())
    raw.execute("CREATE TABLE messages (theirs int)")

    with pytest.raises(StoreError, match=rf"schema {name} belongs to another program; name another one"):
        PostgresStore(url)

    assert tables(raw, name) == {"messages"}


def test_an_empty_schema_of_ones_own_is_enough(url: str, raw: psycopg.Connection):
    name = address.read_url(url).schema
    raw.execute(f"CREATE ROLE {name} LOGIN".encode())
    restricted = url.replace("postgres@", f"{name}@", 1)
    with pytest.raises(StoreError, match=f"ask an owner of the database to run `CREATE SCHEMA {name} AUTHORIZATION"):
        PostgresStore(restricted)
    raw.execute(f"CREATE SCHEMA {name} AUTHORIZATION {name}".encode())

    with Exchange(PostgresStore(restricted)) as exchange:
        exchange.publish("work", "x")


def test_a_database_that_cannot_hold_every_text_is_refused(url: str, raw: psycopg.Connection):
    name = address.read_url(url).schema
    raw.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0".encode())

    with pytest.raises(StoreError, match="is a database in LATIN1; create a UTF8 database for the exchange"):
        PostgresStore(url.replace("/postgres?", f"/{name}?"))


def test_without_the_library_it_is_said_how_to_get_it():
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from prloom.exchange import store_url\n"
        "store_url.open_store('postgresql://me:s3cret@db.example/work')"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith(f"get it with `{installed.how_to_add('psycopg[binary]')}`")
    assert "s3cret" not in last


def test_a_store_that_was_closed_says_so(exchange: Exchange):
    exchange.close()

    with pytest.raises(StoreError, match="was closed; open it again"):
        exchange.read()
    exchange.close()


def test_an_error_and_a_reason_may_hold_nul_characters(exchange: Exchange, opened: Any):
    first, second = exchange.publish("work", "a\0b"), exchange.publish("work", "x", metadata={"k": "a\0b"})
    claimed = exchange.claim("work")

    claimed.fail("broke\0here")
    exchange.cancel(second.id, "not\0wanted")

    assert opened().inspect(first.id).claims[0].error == "broke\0here"
    assert [message.body for message in opened().read(topic="work.cancelled")] == ["not\0wanted"]
    assert opened().message(second.id).metadata == {"k": "a\0b"}
