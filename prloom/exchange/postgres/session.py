"""One session on a PostgreSQL server: open and prepare it, and turn its errors into ours."""

from __future__ import annotations

import logging

import psycopg
from psycopg.errors import InsufficientPrivilege, LockNotAvailable, ReadOnlySqlTransaction

from prloom.exchange.errors import StoreBusyError, StoreError
from prloom.exchange.postgres import schema
from prloom.exchange.postgres.address import Address

OLDEST = 13  # the oldest version that may still be in use

# Plans are made while tables are small, and kept; an index is right for every statement that must be fast. A client
# that is stopped inside a transaction keeps others waiting no longer than ten seconds. What was acknowledged survives
# a power cut, unless the server's owner chose more than that already.
_SETTINGS = """
SELECT set_config('search_path', %s, false), set_config('timezone', 'UTC', false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('idle_in_transaction_session_timeout', '10s', false), set_config('lock_timeout', '30s', false),
    set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),
    set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('synchronous_commit',
        CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END,
        false)
"""
_SERVER = "SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding')"

_GONE = frozenset({"57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04"})
"""The server's words before it hangs up: it stops, crashed, starts, or the session was idle for too long."""


def connect(address: Address) -> psycopg.Connection:
    """Reach the server; raises psycopg.OperationalError."""
    log = logging.getLogger("psycopg")
    if log.level == logging.WARNING:  # its own default
        log.setLevel(logging.ERROR)  # we report a lost connection once, ourselves
    return psycopg.connect(**address.parameters, autocommit=True, prepare_threshold=2)  # type: ignore[arg-type]


def prepare(db: psycopg.Connection, address: Address) -> None:
    """Set a new session as an exchange needs it, and make the tables where there are none; raises StoreError."""
    db.execute(_SETTINGS, (f"{address.schema}, pg_temp",))
    _check_server(db, address)
    schema.upgrade(db, address)


def lost(db: psycopg.Connection, error: BaseException) -> bool:
    """Whether an error ended the session, so that what was not committed did not happen."""
    if not isinstance(error, psycopg.Error):
        return False
    return db.closed or error.sqlstate in _GONE or db.pgconn.status == psycopg.pq.ConnStatus.BAD


def store_error(address: Address, error: psycopg.Error) -> StoreError:
    """Return what to say about a server's error."""
    text = f"{address.shown}: {address.without_password(str(error))}"
    match error:
        case LockNotAvailable():
            return StoreBusyError(f"{text}; another program holds the lock; find out which one, and try again")
        case ReadOnlySqlTransaction():
            return StoreError(f"{text}; this is a standby; name the primary server")
        case InsufficientPrivilege():
            return StoreError(f"{text}; ask the schema's owner to grant it")
        case _:
            return StoreError(text)


def _check_server(db: psycopg.Connection, address: Address) -> None:
    version, encoding = db.execute(_SERVER).fetchone() or (0, "")
    if version < OLDEST:
        raise StoreError(f"{address.shown} is PostgreSQL {version}; an exchange needs {OLDEST} or later")
    if encoding != "UTF8":
        raise StoreError(f"{address.shown} is a database in {encoding}; create a UTF8 database for the exchange")
