"""The tables of an exchange, and what makes a file one."""

from __future__ import annotations

import sqlite3

from prloom.exchange.errors import StoreError

VERSION = 1
APPLICATION = 0x70724C78  # "prLx", in the database's header: tells an exchange from any other SQLite database

# What changes stands apart from the bodies, which do not: SQLite writes a row anew when any of it changes. Bodies stand
# last: to what stands behind a long text it reads through all of that. Every index that claiming needs is partial, so
# that none of them grows with history.
_TABLES = """
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


def make(db: sqlite3.Connection) -> None:
    """Make the tables in an empty database, in one transaction."""
    marks = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
    db.executescript(f"BEGIN IMMEDIATE; {_TABLES} {marks} COMMIT;")


def check(db: sqlite3.Connection, path: str) -> bool:
    """Return whether the database has its tables; raises StoreError where it is another one's, or of a newer prloom."""
    application, version, objects = db.execute(
        "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)"
        " FROM pragma_application_id AS a, pragma_user_version AS v"
    ).fetchone()
    if application == 0 and objects == 0:
        return False
    if application != APPLICATION:
        raise StoreError(f"{path} is another program's database, and no exchange; name another file")
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer prloom (schema {version}, this one knows {VERSION}); update this prloom"
        )
    return True
