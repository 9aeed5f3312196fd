"""The tables of an exchange in PostgreSQL, by version, and how a database comes to have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from prloom.exchange.errors import StoreError

if TYPE_CHECKING:
    from prloom.exchange.postgres.address import Address

# What changes is in other tables than the bodies, which never change. Every index that claiming needs is partial, so
# that none of them grows with history. What may contain NUL characters, which PostgreSQL's text refuses, is bytea.
_FIRST = """
CREATE TABLE messages (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    topic text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL,
    parent_id text COLLATE "C",
    conversation_id text COLLATE "C" NOT NULL,
    producer text,
    metadata text NOT NULL
);
CREATE INDEX messages_topic ON messages (topic, seq);
CREATE INDEX messages_conversation ON messages (conversation_id, seq);
CREATE INDEX messages_parent ON messages (parent_id, seq) WHERE parent_id IS NOT NULL;

CREATE TABLE deliveries (
    seq bigint PRIMARY KEY,
    topic text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    state text NOT NULL CHECK (state IN ('ready', 'leased', 'done', 'dead')),
    ending text,
    available_at timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer,
    key text COLLATE "C",
    concurrency_key text COLLATE "C",
    ended_at timestamptz,
    reply boolean NOT NULL,
    CHECK ((state IN ('done', 'dead')) = (ending IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX deliveries_ready ON deliveries (topic, seq) WHERE state = 'ready' AND available_at IS NULL;
CREATE INDEX deliveries_delayed ON deliveries (topic, available_at) WHERE state = 'ready' AND available_at IS NOT NULL;
CREATE UNIQUE INDEX deliveries_key ON deliveries (topic, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX deliveries_concurrent ON deliveries (concurrency_key)
    WHERE state = 'leased' AND concurrency_key IS NOT NULL;

CREATE TABLE claims (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    message bigint NOT NULL,
    worker_group text NOT NULL,
    worker_instance_id text NOT NULL,
    claimed_at timestamptz NOT NULL,
    lease_until timestamptz NOT NULL,
    status text NOT NULL CHECK (status IN ('active', 'completed', 'failed', 'timed_out', 'expired', 'cancelled')),
    completed_at timestamptz,
    attempt integer NOT NULL,
    error bytea,
    reply_id text COLLATE "C"
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX claims_message ON claims (message, seq);
CREATE UNIQUE INDEX claims_active ON claims (message) WHERE status = 'active';
CREATE INDEX claims_lease ON claims (lease_until) WHERE status = 'active';

CREATE TABLE worked (topic text COLLATE "C" PRIMARY KEY);

CREATE TABLE tracked (
    conversation_id text COLLATE "C" PRIMARY KEY,
    token text COLLATE "C",
    taken_until timestamptz,
    told boolean NOT NULL DEFAULT false
);
CREATE INDEX tracked_open ON tracked (conversation_id) WHERE NOT told;
"""

# PostgreSQL reads a check's text anew for each statement that writes to its table: a fifth of what a claim and its
# settlement cost the server. What states there are is said by the types here, and kept by the suite for all stores.
# And a claim has one name, by which it is found; that it had a number's index beside was an entry more for each change.
_LEANER = """
ALTER TABLE deliveries DROP CONSTRAINT deliveries_state_check, DROP CONSTRAINT deliveries_check;
ALTER TABLE claims DROP CONSTRAINT claims_status_check, DROP CONSTRAINT claims_pkey,
    DROP CONSTRAINT claims_id_key, ADD PRIMARY KEY (id);
"""

# What comes and ends is noted beside, so that history need not be read to be counted: rows that are only added, for
# two that changed one count would wait for one another. Each thousandth message has them added up, unless another
# transaction does it, and their sums put in their place: a reader sees the ones or the others. Sums keep the time,
# to five seconds, for as long as a rate may ask for it; what is older is one row for each topic. Triggers do it, so
# that what an older prloom writes, which had the database open before, is counted too.
_COUNTED = """
CREATE TABLE counted (
    topic text COLLATE "C" NOT NULL,
    at timestamptz,
    summed boolean NOT NULL DEFAULT false,
    messages bigint NOT NULL DEFAULT 0,
    done bigint NOT NULL DEFAULT 0,
    dead bigint NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE FUNCTION sum_counted() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended(current_schema() || '.counted', 0)) THEN
        RETURN;
    END IF;
    WITH clock AS MATERIALIZED (SELECT clock_timestamp() - interval '6 minutes' AS past), taken AS (
        DELETE FROM counted AS c USING clock WHERE NOT c.summed OR c.at IS NULL OR c.at <= clock.past
        RETURNING c.topic, c.at, c.messages, c.done, c.dead
    ), sums AS (
        SELECT topic, CASE WHEN at > clock.past THEN to_timestamp(floor(extract(epoch FROM at) / 5) * 5) END AS at,
            sum(messages) AS messages, sum(done) AS done, sum(dead) AS dead FROM taken, clock GROUP BY 1, 2
    )
    INSERT INTO counted (topic, at, summed, messages, done, dead)
    SELECT topic, at, true, messages, done, dead FROM sums WHERE messages <> 0 OR done <> 0 OR dead <> 0;
END $$;

CREATE FUNCTION count_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO counted (topic, at, messages) VALUES (new.topic, new.created_at, 1);
    IF new.ending IS NOT NULL OR new.seq % 1000 = 0 THEN
        INSERT INTO counted (topic, at, done, dead)
        VALUES (new.topic, new.ended_at, (new.state = 'done')::int, (new.state = 'dead')::int);
        IF new.seq % 1000 = 0 THEN
            PERFORM sum_counted();
        END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION count_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO counted (topic, at, done, dead)
    VALUES (new.topic, new.ended_at, (new.state = 'done')::int, (new.state = 'dead')::int);
    IF old.ending IS NOT NULL OR new.seq % 1000 = 0 THEN
        INSERT INTO counted (topic, at, done, dead)
        VALUES (old.topic, old.ended_at, -(old.state = 'done')::int, -(old.state = 'dead')::int);
        IF new.seq % 1000 = 0 THEN
            PERFORM sum_counted();
        END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION count_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO counted (topic, at, messages) VALUES (old.topic, old.created_at, -1);
    INSERT INTO counted (topic, at, done, dead)
    VALUES (old.topic, old.ended_at, -(old.state = 'done')::int, -(old.state = 'dead')::int);
    IF old.seq % 1000 = 0 THEN
        PERFORM sum_counted();
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER deliveries_count_new AFTER INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION count_new();
CREATE TRIGGER deliveries_count_ended AFTER UPDATE OF ending ON deliveries FOR EACH ROW EXECUTE FUNCTION count_ended();
CREATE TRIGGER deliveries_count_removed AFTER DELETE ON deliveries FOR EACH ROW EXECUTE FUNCTION count_removed();

INSERT INTO counted (topic, at, messages, done, dead)
    SELECT topic, CASE WHEN created_at > now() - interval '6 minutes' THEN date_trunc('second', created_at) END,
        count(*), 0, 0 FROM deliveries GROUP BY 1, 2
    UNION ALL
    SELECT topic, CASE WHEN ended_at > now() - interval '6 minutes' THEN date_trunc('second', ended_at) END,
        0, count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'dead')
        FROM deliveries WHERE ending IS NOT NULL GROUP BY 1, 2;
"""

SCRIPTS = (_FIRST, _LEANER, _COUNTED)
"""What leads from each version to the next; a script that was ever released does not change."""

_TABLE_OF_VERSIONS = """
CREATE TABLE exchange_versions (version integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT clock_timestamp())
"""
# Read from the catalogue's tables, because `to_regclass` may use what the session cached before it waited.
_RELATIONS = "SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = %s"
_HAS_VERSIONS = f"SELECT EXISTS ({_RELATIONS} AND c.relname = 'exchange_versions')"
_HAS_ANYTHING = f"SELECT EXISTS ({_RELATIONS})"
_HAS_SCHEMA = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = %s)"


def upgrade(db: psycopg.Connection, address: Address, scripts: tuple[str, ...] = SCRIPTS) -> None:
    """Create or upgrade the tables to this version; raises StoreError, having changed nothing.

    Programs that open it at the same time do this one after the other, and only one finds something to do.
    """
    if _version(db, address, len(scripts)) == len(scripts):
        return
    try:
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s)", (address.key("schema"),))
            _migrate(db, address, scripts)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{address.shown}: {address.without_password(str(error))}; ask an owner of the database to run "
            f'`CREATE SCHEMA {address.schema} AUTHORIZATION "{db.info.user}"`'
        ) from error


def _migrate(db: psycopg.Connection, address: Address, scripts: tuple[str, ...]) -> None:
    version = _version(db, address, len(scripts))
    if version == 0:
        if _exists(db, _HAS_ANYTHING, address.schema):
            raise StoreError(
                f"{address.shown}: schema {address.schema} belongs to another program; "
                "name another one with ?schema=NAME"
            )
        if not _exists(db, _HAS_SCHEMA, address.schema):
            db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(address.schema)))
        db.execute(_TABLE_OF_VERSIONS)
    for number in range(version, len(scripts)):
        db.execute(scripts[number].encode())
        db.execute("INSERT INTO exchange_versions (version) VALUES (%s)", (number + 1,))


def _version(db: psycopg.Connection, address: Address, known: int) -> int:
    if not _exists(db, _HAS_VERSIONS, address.schema):
        return 0
    row = db.execute("SELECT coalesce(max(version), 0) FROM exchange_versions").fetchone()
    if row is None:
        version = 0
    else:
        version = int(row[0])
    if version > known:
        raise StoreError(
            f"{address.shown} was written by a newer prloom (schema {version}, this one knows {known}); "
            "update this prloom"
        )
    return version


def _exists(db: psycopg.Connection, query: str, name: str) -> bool:
    row = db.execute(query.encode(), (name,)).fetchone()
    return row is not None and bool(row[0])
