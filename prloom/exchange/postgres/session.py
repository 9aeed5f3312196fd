"""One session on the server that a `postgresql://` URL names: open and prepare it, and turn its errors into ours.

The URL's password is kept out of everything that people see.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import InsufficientPrivilege, LockNotAvailable, ReadOnlySqlTransaction

from prloom.exchange.errors import StoreBusyError, StoreError
from prloom.exchange.postgres import schema

SCHEMA = "prloom_exchange"
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PORTS = re.compile(r"[0-9,]*")

# A vanished server is noticed in half a minute rather than in the two hours that TCP's defaults take.
_DEFAULTS = {
    "application_name": "prloom",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
}

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


@dataclass(frozen=True)
class Address:
    """Where an exchange is: libpq's parameters, with the password among them, and a schema; `shown` is for people."""

    parameters: Mapping[str, str] = field(repr=False)
    schema: str
    shown: str

    def key(self, what: str) -> int:
        """Return the number of an advisory lock, or of a channel, that is this schema's own in its database."""
        return _key(self.schema, what)

    @property
    def server(self) -> str:
        """Which server it is, whatever the database."""
        return "\n".join(self.parameters.get(name, "") for name in ("host", "hostaddr", "port", "service"))

    @property
    def channel(self) -> str:
        """The channel on which clients notify each other of changes."""
        return f"prloom_{self.key('channel') & 0xFFFFFFFFFFFFFFFF:016x}"

    def without_password(self, text: str) -> str:
        """Return what a library said without the password, should it be in there; the first line only."""
        line = text.strip().partition("\n")[0]
        password = self.parameters.get("password")
        if password:
            return line.replace(password, "***")
        return line


@functools.cache  # each claim needs it
def _key(schema: str, what: str) -> int:
    digest = sha256(f"prloom exchange\n{schema}\n{what}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def read_url(url: str) -> Address:
    """Read a URL as libpq does; `schema=NAME` among its parameters names another schema than `prloom_exchange`.

    Raises StoreError, which never repeats the URL: of a URL that is read wrong, any part may be the password.
    """
    head, _, query = url.partition("?")
    _, _, tail = head.partition("://")
    authority, _, database = tail.partition("/")
    if authority.count("@") > 1 or "@" in database or "@" in query:
        raise StoreError(
            "the PostgreSQL URL has an '@' where none may be; write '@' in a name, password or parameter as %40"
        )
    pairs = [pair for pair in query.split("&") if pair]
    schemas = [unquote(pair.partition("=")[2]) for pair in pairs if pair.startswith("schema=")]
    parameters = "&".join(pair for pair in pairs if not pair.startswith("schema="))
    if parameters:
        head = f"{head}?{parameters}"
    given = _parameters(head)
    schema = _checked([SCHEMA, *schemas][-1])
    return Address(
        parameters={**_DEFAULTS, **given, "client_encoding": "utf8"}, schema=schema, shown=_shown(given, schema)
    )


def _parameters(url: str) -> dict[str, str]:
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    except psycopg.Error:
        given = {"port": "?"}
    if not _PORTS.fullmatch(given.get("port", "")):
        raise StoreError(
            "the PostgreSQL URL cannot be read; it is postgresql://user:password@host:port/database?parameter=value, "
            "with : / ? # and % in a name or password written as %3A %2F %3F %23 and %25"
        ) from None
    return given


def _checked(schema: str) -> str:
    if not _SCHEMA_NAME.fullmatch(schema) or schema.startswith("pg_"):
        raise StoreError(
            f"{schema[:80]!a} is not a valid schema name; use lower-case letters, digits and '_', at most 63"
        )
    return schema


def _shown(given: Mapping[str, str], schema: str) -> str:
    port = ""
    if given.get("port"):
        port = f":{given['port']}"
    if schema == SCHEMA:
        suffix = ""
    else:
        suffix = f"?schema={schema}"
    host = given.get("host") or given.get("hostaddr") or ""
    return f"postgresql://{ascii(host)[1:-1]}{port}/{ascii(given.get('dbname', ''))[1:-1]}{suffix}"


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
