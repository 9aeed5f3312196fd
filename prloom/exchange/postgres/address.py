"""Where an exchange is on a PostgreSQL server, as a `postgresql://` URL names it.

The URL's password is kept out of everything that people see.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from prloom.exchange.errors import StoreError

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
