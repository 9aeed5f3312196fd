"""The tables of an exchange, and what makes a file one."""

from __future__ import annotations

import sqlite3

from prloom.exchange.errors import StoreError

APPLICATION = 0x70724C78  # "prLx", in the database's header: marks an exchange among SQLite databases

# What changes is in other tables than the bodies, because SQLite rewrites a row when any of it changes. Bodies are the
# last column, because SQLite reads through a long text to reach the columns after it. Every index that claiming needs
# is partial, so that none of them grows with history.
_FIRST = """
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    topic TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    parent_id TEXT,
    conversation_id TEXT NOT NULL,
    producer TEXT,
    metadata TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX messages_conversation ON messages (conversation_id, parent_id);

CREATE TRIGGER messages_never_change BEFORE UPDATE ON messages
BEGIN SELECT RAISE (ABORT, 'a message never changes'); END;

CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY,
    topic TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('ready', 'leased', 'done', 'dead')),
    ending TEXT,
    available_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER,
    key TEXT,
    concurrency_key TEXT,
    ended_at INTEGER,
    reply INTEGER NOT NULL,
    CHECK ((state IN ('done', 'dead')) = (ending IS NOT NULL))
) STRICT;
CREATE INDEX deliveries_ready ON deliveries (topic, seq) WHERE state = 'ready' AND available_at IS NULL;
CREATE INDEX deliveries_delayed ON deliveries (topic, available_at) WHERE state = 'ready' AND available_at IS NOT NULL;
CREATE UNIQUE INDEX deliveries_key ON deliveries (topic, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX deliveries_concurrent ON deliveries (concurrency_key)
    WHERE state = 'leased' AND concurrency_key IS NOT NULL;

CREATE TABLE claims (
    message INTEGER NOT NULL,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    worker_group TEXT NOT NULL,
    worker_instance_id TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'completed', 'failed', 'timed_out', 'expired', 'cancelled')),
    completed_at INTEGER,
    attempt INTEGER NOT NULL,
    error TEXT,
    reply_id TEXT,
    PRIMARY KEY (message, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX claims_lease ON claims (lease_until) WHERE status = 'active';

CREATE TABLE clock (boot TEXT NOT NULL, started INTEGER NOT NULL) STRICT;

CREATE TABLE worked (topic TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE TABLE tracked (
    seq INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL UNIQUE,
    token TEXT,
    taken_until INTEGER,
    told INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tracked_open ON tracked (seq) WHERE told = 0;
"""


# A topic's messages are found without reading the others. What has ended is counted as it ends: nearly all is history,
# and it need not be read to be counted. Claiming changes none of these counts.
_COUNTED = """
CREATE INDEX messages_topic ON messages (topic);
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE counts (
    topic TEXT PRIMARY KEY,
    messages INTEGER NOT NULL,
    done INTEGER NOT NULL,
    dead INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counts (topic, messages, done, dead)
    SELECT topic, count(*), sum(state = 'done'), sum(state = 'dead') FROM deliveries GROUP BY topic;

CREATE TRIGGER deliveries_count_new AFTER INSERT ON deliveries
BEGIN
    INSERT INTO counts (topic, messages, done, dead) VALUES (new.topic, 1, new.state = 'done', new.state = 'dead')
        ON CONFLICT DO UPDATE SET
            messages = messages + 1, done = done + excluded.done, dead = dead + excluded.dead;
END;
CREATE TRIGGER deliveries_count_ended AFTER UPDATE OF ending ON deliveries WHEN new.ending IS NOT old.ending
BEGIN
    UPDATE counts SET done = done + (new.state = 'done') - (old.state = 'done'),
        dead = dead + (new.state = 'dead') - (old.state = 'dead') WHERE topic = new.topic;
END;
CREATE TRIGGER deliveries_count_removed AFTER DELETE ON deliveries
BEGIN
    UPDATE counts SET messages = messages - 1, done = done - (old.state = 'done'), dead = dead - (old.state = 'dead')
        WHERE topic = old.topic;
    DELETE FROM counts WHERE topic = old.topic AND messages = 0;
END;
"""

SCRIPTS = (_FIRST, _COUNTED)
"""What leads from each version to the next; a script that was ever released does not change."""
VERSION = len(SCRIPTS)


def upgrade(db: sqlite3.Connection, version: int) -> None:
    """Upgrade a database of that version (0: an empty one) in one transaction; the writers' lock is held."""
    scripts = "\n".join(SCRIPTS[version:])
    marks = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
    db.executescript(f"BEGIN IMMEDIATE; {scripts} {marks} COMMIT;")


def version_of(db: sqlite3.Connection, path: str) -> int:
    """Return the version of the database's tables, 0 where it is empty.

    Raises StoreError where the database is another program's, or of a newer prloom.
    """
    application, version, objects = db.execute(
        "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)"
        " FROM pragma_application_id AS a, pragma_user_version AS v"
    ).fetchone()
    if application == 0 and objects == 0:
        return 0
    if application != APPLICATION:
        raise StoreError(f"{path} is another program's database, not an exchange; name another file")
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer prloom (schema {version}, this one knows {VERSION}); update this prloom"
        )
    return int(version)
