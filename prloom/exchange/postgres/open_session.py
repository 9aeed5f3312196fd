"""Open a session, and try again while the server restarts; what a retry cannot resolve fails at once."""

from __future__ import annotations

import logging
import random
import socket
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

import psycopg
from psycopg.errors import ConnectionTimeout

from prloom import backoff
from prloom.backoff import Backoff
from prloom.exchange.errors import StoreBusyError, StoreError
from prloom.exchange.postgres import session

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg.pq.abc import PGconn

    from prloom.exchange.postgres.address import Address

log = logging.getLogger(__name__)

ServerState: TypeAlias = Literal["ready", "busy", "silent", "absent"]
"""Whether it accepts connections, does not at the moment, took the question and hung up, or is not there."""

_BUSY = frozenset({"57P03", "53300"})  # it starts, stops or recovers; it has as many clients as it may have
_PROTOCOL = 3 << 16
_TIMEOUT = 5.0  # seconds
_LONGEST_ANSWER = 65536
_HEAD = 5  # a letter, and the length of all but that


ServerAddress: TypeAlias = str | tuple[str, int]
"""Where a server listens: a socket's path, or an address and a port."""

INSTANT = timedelta(seconds=1)
"""How long a server may be absent that this process has never reached: the gap between the old and the new process of
a quick restart. After that it is a wrong address."""

_PAUSES = Backoff(initial=timedelta(milliseconds=20), maximum=timedelta(seconds=1))
_reached: set[str] = set()  # servers on which this process, or the one that forked it, had a session

OpenFailureKind: TypeAlias = Literal["interrupted", "rejected", "unreachable", "answered", "impossible"]


_KINDS: dict[ServerState, OpenFailureKind] = {
    "ready": "answered",
    "busy": "rejected",
    "silent": "interrupted",
    "absent": "unreachable",
}


@dataclass(frozen=True)
class OpenFailure:
    """Why a session could not be opened.

    - `interrupted`: the connection was lost while it was set up, or the server did not answer in time;
    - `rejected`: the server says that it starts, stops or recovers, or has too many clients at the moment;
    - `unreachable`: nothing listens there: connection refused, or no socket file;
    - `answered`: the server accepts connections and refused this one: password, database, pg_hba.conf;
    - `impossible`: the host name is unknown, or the session was made and is of no use: no rights, a standby.
    """

    kind: OpenFailureKind
    text: str


def patience_for(
    failure: OpenFailure, previous: OpenFailure | None, *, reached: bool, patience: timedelta
) -> timedelta:
    """Return for how long after the first attempt to try again; `reached` says that a server was seen there.

    A server that restarts may have become ready between its refusal and our question whether it is. So what it
    answered counts when it says the same twice in a row.
    """
    match failure.kind:
        case "interrupted" | "rejected":
            return patience
        case "unreachable":
            if reached:
                return patience
            return min(INSTANT, patience)
        case "answered":
            if failure == previous:
                return timedelta(0)
            return patience
        case "impossible":
            return timedelta(0)
        case _:
            assert_never(failure.kind)


def open_session(
    address: Address, prepare: Callable[[psycopg.Connection], object], patience: timedelta
) -> psycopg.Connection:
    """Return a new session on which `prepare` was done; raises StoreError, and StoreBusyError after `patience`."""
    begun, tries = time.monotonic(), 0
    reached = address.server in _reached
    previous: OpenFailure | None = None
    announced = False
    while True:
        try:
            db = _attempt(address, prepare)
        except _FailedError as failed:
            failure, cause = failed.failure, failed.cause
        else:
            _reached.add(address.server)
            return db
        reached = reached or failure.kind not in {"unreachable", "impossible"}
        limit = patience_for(failure, previous, reached=reached, patience=patience)
        if timedelta(seconds=time.monotonic() - begun) >= limit:
            tried = None
            if reached and limit:
                tried = limit
            raise _error(address, cause, tried=tried) from cause
        if failure.kind != "answered" and limit > INSTANT and not announced:
            announced = True
            log.warning("%s; trying for %g s to connect", session.store_error(address, cause), limit.total_seconds())
        previous = failure
        tries += 1
        pause_after(tries)


def pause_after(tries: int) -> None:
    """Pause after so many tries to reach a server, longer each time.

    All its clients lose a server at the same moment, and it takes only so many at once. So each waits for a random
    part, between half and all of the time, where the usual jitter of a tenth would bring them back together.
    """
    time.sleep(backoff.doubled(_PAUSES, tries).total_seconds() * random.uniform(0.5, 1))  # noqa: S311 (no secret)


class _FailedError(Exception):
    def __init__(self, failure: OpenFailure, cause: psycopg.Error) -> None:
        super().__init__(failure.text)
        self.failure = failure
        self.cause = cause


def _attempt(address: Address, prepare: Callable[[psycopg.Connection], object]) -> psycopg.Connection:
    try:
        db = session.connect(address)
    except psycopg.Error as error:
        raise _FailedError(OpenFailure(_kind(error), str(error)), error) from error
    try:
        prepare(db)
    except psycopg.Error as error:
        kind: OpenFailureKind = "impossible"
        if session.lost(db, error):
            kind = "interrupted"
        db.close()
        raise _FailedError(OpenFailure(kind, str(error)), error) from error
    except BaseException:
        db.close()
        raise
    return db


def _kind(error: psycopg.Error) -> OpenFailureKind:
    """Return what kind of failure to connect it is, by the server's state just after it."""
    if isinstance(error, ConnectionTimeout):
        return "interrupted"
    if error.pgconn is None:
        return "impossible"  # psycopg found no address for the host name, and did not try to connect
    if error.pgconn.used_password or error.pgconn.needs_password:
        return "answered"  # it requested a password, which a server that starts or stops does not
    return _KINDS[server_state(target(error.pgconn))]


def _error(address: Address, cause: psycopg.Error, *, tried: timedelta | None) -> StoreError:
    why = session.store_error(address, cause)
    if tried is not None:
        return StoreBusyError(f"{why}; it was tried for {tried.total_seconds():g} s; check the server, and try again")
    if cause.sqlstate is not None:  # there was a session
        return why
    return StoreError(f"{why}; check that the server runs and accepts this login, or correct the URL")


# libpq does not reveal the code with which a connection was refused: the text may be in any language, and PQping, which
# looks at the code, blocks all threads. So this sends the first message of the protocol and reads the first answer,
# without a login. A server that starts or stops says so before it asks for a login
# (https://www.postgresql.org/docs/current/protocol-message-formats.html).


def target(failed: PGconn) -> ServerAddress:
    """Return where an attempt to connect that failed was directed."""
    host, address = failed.host.decode(), failed.hostaddr.decode()
    port = failed.port.decode() or "5432"
    if host.startswith("/") and not address:
        return f"{host}/.s.PGSQL.{port}"
    return (address or host or "localhost", int(port))


def server_state(where: ServerAddress) -> ServerState:
    """Return the state of the server there; waits for two seconds at most for each step."""
    try:
        connection = _connected(where)
    except OSError:
        return "absent"
    with connection:
        try:
            connection.sendall(startup())
            return parse_answer(_answer(connection))
        except OSError:
            return "silent"


def startup() -> bytes:
    """Return the first message of a client, for a user and a database that need not exist."""
    body = _PROTOCOL.to_bytes(4) + b"user\0prloom\0database\0prloom\0\0"
    return (len(body) + 4).to_bytes(4) + body


def parse_answer(answer: bytes) -> ServerState:
    """Return what a server's first answer says of its state."""
    if not answer:
        return "silent"
    kind, fields = answer[:1], answer[5:].split(b"\0")
    codes = {field[1:].decode("ascii", "replace") for field in fields if field[:1] == b"C"}
    if kind == b"E" and codes & _BUSY:
        return "busy"
    return "ready"


def _connected(where: ServerAddress) -> socket.socket:
    if isinstance(where, tuple):
        return socket.create_connection(where, timeout=_TIMEOUT)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(_TIMEOUT)
    try:
        connection.connect(where)
    except BaseException:
        connection.close()
        raise
    return connection


def _answer(connection: socket.socket) -> bytes:
    """Return the first message of the server, or what there was of it when it hung up."""
    received = b""
    while chunk := connection.recv(_LONGEST_ANSWER - len(received)):
        received += chunk
        if len(received) > _HEAD and len(received) > int.from_bytes(received[1:_HEAD]):
            break
    return received
