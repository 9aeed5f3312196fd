"""Listen for browsers, and give up on those that send or read too slowly."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Final, NamedTuple

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from prloom.errors import PrloomError


class ConnectionLimits(NamedTuple):
    """How many connections there may be, and how long, in seconds, one may take.

    The head of a request has to come within `request_within`. Once so much waits to be read that no more is sent, a
    browser has to read within `read_within`.
    """

    connections: int = 200
    request_within: float = 10.0
    read_within: float = 20.0


_KEPT: Final = 30
_MOST_HEAD: Final = 16 * 1024


class PatientProtocol(H11Protocol):
    """A connection that is ended where its other end takes too long: uvicorn itself waits for ever."""

    limits = ConnectionLimits()
    _giving_up: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - uvicorn's
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Read what came; wait on where that is not a whole head of a request yet."""
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
        elif self._giving_up is None:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to wait for the browser to read."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self.limits.read_within, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the browser has read."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect(self) -> None:
        self._giving_up = self.loop.call_later(self.limits.request_within, self._give_up)

    def _give_up(self) -> None:
        self._giving_up = None
        if not self._is_answering():
            self.transport.abort()

    def _stop_waiting(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None


def listen(address: str, port: int) -> socket.socket:
    """Return a socket that listens; raises PrloomError where it cannot, because the port is taken, for example."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address, port))
    except OSError as error:
        made.close()
        raise PrloomError(
            f"{address}:{port} cannot be listened on: {error.strerror}; choose another one with --port"
        ) from error
    made.listen(128)
    return made


def server(app: ASGIApp, given: ConnectionLimits = PatientProtocol.limits) -> uvicorn.Server:
    """Return the server of an application; `serve` runs it on the socket that it is given."""

    class Protocol(PatientProtocol):
        limits = given

    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",  # a warning for each connection too many would flood the operator's terminal
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=given.connections,
        timeout_keep_alive=_KEPT,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=_MOST_HEAD,
    )
    return uvicorn.Server(config)


def run(app: ASGIApp, listening: socket.socket) -> None:
    """Serve an application until Ctrl-C, or SIGTERM."""
    with listening:
        server(app).run(sockets=[listening])


def machine_names() -> tuple[str, ...]:
    """Return the names that this machine has for itself."""
    name = socket.gethostname()
    return (name, f"{name}.local", socket.getfqdn())
