"""Stores on a schema of the test's own, a raw session beside them, and a wire that can be cut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import postgres_server
import psycopg
import pytest

from prloom.exchange.exchange import Exchange
from prloom.exchange.postgres import address
from prloom.exchange.postgres.store import PostgresStore

Open = Callable[..., Exchange]


class Wire:
    """A socket before the server's: passes everything on, until it is to lose a commit."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.cuts = 0
        self._server = str(server / ".s.PGSQL.5432")
        self._lose: Literal["request", "answer"] | None = None
        self._word = b""
        self._closing = False
        self._refusing = False
        self.answered = 0
        self._instead: list[bytes] = []
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        self._begin(self._accept)

    def lose(self, what: Literal["request", "answer"], word: bytes = b"COMMIT") -> None:
        """Lose what has the word next, before the server hears it, or what the server answers to it."""
        self._word = word
        self._lose = what

    def refuse(self) -> None:
        """Let nobody in any more."""
        self._refusing = True

    def answer(self, times: int, *, code: str = "", text: str = "") -> None:
        """Answer the next clients in the server's place: refuse them with a code, or without one hang up."""
        self._instead = [_fatal(code, text) if code else b""] * times

    def close(self) -> None:
        self._closing = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for each in (self._listener, *self._sockets):
            _end(each)
        for thread in self._threads:
            thread.join()

    def _begin(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closing:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                _end(client)
                continue
            if self._instead:
                _received(client)
                self.answered += 1  # before the client hears it, and the test looks
                _sent(client, self._instead.pop(0))
                _end(client)
                continue
            server = socket.socket(socket.AF_UNIX)
            self._sockets += [client, server]
            server.connect(self._server)
            self._begin(self._requests, client, server)
            self._begin(self._answers, client, server)

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        while data := _received(client):
            if self._lose is not None and self._word in data:
                what, self._lose = self._lose, None
                self.cuts += 1
                _end(client)
                if what == "answer":
                    _sent(server, data)
                    continue  # the server is heard out: it commits, and answers nobody
                _end(server)
                return
            _sent(server, data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _answers(self, client: socket.socket, server: socket.socket) -> None:
        while data := _received(server):
            _sent(client, data)
        _end(client)


def _fatal(code: str, text: str) -> bytes:
    """Return how a server refuses a client."""
    fields = b"".join(
        kind + value.encode() + b"\0"
        for kind, value in zip((b"S", b"V", b"C", b"M"), ("FATAL", "FATAL", code, text), strict=True)
    )
    return b"E" + (len(fields) + 5).to_bytes(4) + fields + b"\0"


def _received(one: socket.socket) -> bytes:
    try:
        return one.recv(65536)
    except OSError:
        return b""


def _sent(one: socket.socket, data: bytes) -> None:
    with suppress(OSError):
        one.sendall(data)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return postgres_server.at(postgres_server.url(), tmp_path)


@pytest.fixture
def opened(url: str) -> Iterator[Open]:
    """Opens exchanges on the test's schema, and closes them at the end."""
    several: list[Exchange] = []

    def open_(name: str = url, **rest: Any) -> Exchange:
        several.append(Exchange(PostgresStore(name, **rest)))
        return several[-1]

    yield open_
    for each in several:
        each.close()


@pytest.fixture
def exchange(opened: Open) -> Exchange:
    return opened()


@pytest.fixture
def raw(url: str) -> Iterator[psycopg.Connection]:
    """A session that speaks SQL, in the test's schema."""
    where = address.read_url(url)
    with psycopg.connect(**where.parameters, autocommit=True) as db:  # type: ignore[arg-type]
        db.execute(f"SET search_path = {where.schema}".encode())
        yield db


@pytest.fixture
def server() -> Iterator[postgres_server.Server]:
    """A server that the test may stop."""
    own = postgres_server.own()
    yield own
    if not own.runs:
        own.start()


@pytest.fixture
def wire() -> Iterator[Wire]:
    with postgres_server.short_folder() as folder:
        made = Wire(folder, postgres_server.own().folder)
        yield made
        made.close()


@pytest.fixture
def through_the_wire(wire: Wire, tmp_path: Path) -> str:
    path = wire._listener.getsockname().rpartition("/")[0]
    return postgres_server.at(f"postgresql://postgres@/postgres?host={path}", tmp_path)
