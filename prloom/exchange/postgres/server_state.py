"""Ask a server whether it accepts connections: libpq does not give away the code with which one was refused.

The text may be in any language, and PQping, which looks at the code, keeps all threads waiting. So this sends the first
message of the protocol and reads the first answer, without a login. A server that starts or stops says so before it
asks who is there (https://www.postgresql.org/docs/current/protocol-message-formats.html).
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn

State: TypeAlias = Literal["ready", "busy", "silent", "absent"]
"""Whether it accepts connections, does not at the moment, took the question and hung up, or is not there."""

_BUSY = frozenset({"57P03", "53300"})  # it starts, stops or recovers; it has as many clients as it may have
_PROTOCOL = 3 << 16
_TIMEOUT = 2.0  # seconds
_LONGEST_ANSWER = 65536
_HEAD = 5  # a letter, and the length of all but that


Target: TypeAlias = str | tuple[str, int]
"""Where a server listens: a socket's path, or an address and a port."""


def target(failed: PGconn) -> Target:
    """Return where an attempt to connect that failed was directed."""
    host, address = failed.host.decode(), failed.hostaddr.decode()
    port = failed.port.decode() or "5432"
    if host.startswith("/") and not address:
        return f"{host}/.s.PGSQL.{port}"
    return (address or host or "localhost", int(port))


def query(where: Target) -> State:
    """Return the state of the server there; waits for two seconds at most for each step."""
    try:
        connection = _connected(where)
    except OSError:
        return "absent"
    with connection:
        try:
            connection.sendall(startup())
            return state(_answer(connection))
        except OSError:
            return "silent"


def startup() -> bytes:
    """Return the first message of a client, for a user and a database that need not exist."""
    body = _PROTOCOL.to_bytes(4) + b"user\0prloom\0database\0prloom\0\0"
    return (len(body) + 4).to_bytes(4) + body


def state(answer: bytes) -> State:
    """Return what a server's first answer says of its state."""
    if not answer:
        return "silent"
    kind, fields = answer[:1], answer[5:].split(b"\0")
    codes = {field[1:].decode("ascii", "replace") for field in fields if field[:1] == b"C"}
    if kind == b"E" and codes & _BUSY:
        return "busy"
    return "ready"


def _connected(where: Target) -> socket.socket:
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
