"""Listen on the dispatcher's socket: admit a connection by its token, and pass its requests to whom it belongs to."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import prloom
from prloom.core.text import naming
from prloom.engine.host_socket import paced_reader, peer_process, published_socket
from prloom.engine.host_socket.paced_reader import PacedReader
from prloom.engine.host_socket.peer_process import PeerProcess
from prloom.errors import StorageError
from prloom.extensions import jsonrpc
from prloom.extensions.background import runtime_folder
from prloom.extensions.jsonrpc import ErrorResponse, RpcError
from prloom.extensions.jsonrpc.asyncio_peer import AsyncioPeer
from prloom.model.record import Json
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

NAME: Final = "host.sock"
"""The socket's name in its folder."""

FOLDER: Final = "host"
"""The name of that folder among the runtime folders of a repository."""

HELLO: Final = "hello"
DENIED: Final = -32001
"""The code of an error by which a token, or a right, is refused."""
NOT_READY: Final = -32003
"""The code of an error that says that the dispatcher is starting or ending."""

_LAST_WORDS: Final = 2.0  # seconds for a client to read its last answers
_HELLO_LIMIT: Final = 10.0  # seconds in which a connection has to say who it is
_BACKLOG: Final = 128
_LONGEST_REASON: Final = 300

MOST_CONNECTIONS: Final = 500
"""Connections at a time; each run and each daemon has one, or a few."""


class ClientSession(Protocol):
    """What one admitted connection may ask; `greeting` is what it is told of itself."""

    @property
    def greeting(self) -> dict[str, Json]:
        """Return what the answer to hello says, beside the version."""

    async def answer(self, method: str, params: Json) -> Json:
        """Return the result of a method; raises RpcError."""

    def hear(self, method: str, params: Json) -> None:
        """Take note of a notification."""

    def close(self) -> None:
        """Note that the connection has ended."""


class Authority(Protocol):
    """Knows the tokens of one kind of clients."""

    async def admit(self, params: Json, peer: PeerProcess) -> ClientSession | None:
        """Return the session of a client that says hello with these params, or None where the token is none of ours.

        Raises RpcError where the token is known, and the client may not use it.
        """


class HostSocket:
    """The dispatcher's socket in a private folder, open from `start` to `close`; its path is published in `local`."""

    def __init__(self, folder: Path, authorities: Sequence[Authority], local: SafeDir | None = None) -> None:
        self.path = folder / NAME
        self._local = local
        self._authorities = tuple(authorities)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen; raises StorageError, and ExtensionError where something else is in the socket's place.

        The caller holds the repository's lock, so a socket that is there is dead.
        """
        runtime_folder.clear_socket(self.path)
        try:
            self._server = await asyncio.start_unix_server(
                self._connected, self.path, limit=paced_reader.LIMIT, backlog=_BACKLOG
            )
            self.path.chmod(0o600)
        except OSError as error:
            raise StorageError(f"prloom cannot listen at {self.path}: {error.strerror or error}") from error
        if self._local is not None:
            published_socket.publish(self._local, self.path)

    async def ready(self) -> None:
        """Return at once: it listens as soon as it is started."""

    async def close(self) -> None:
        """End all connections, and listen no more."""
        server, self._server = self._server, None
        if server is None:
            return
        if self._local is not None:
            published_socket.withdraw(self._local)
        server.close()
        for task in tuple(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio calls this in a task
        if len(self._connections) >= MOST_CONNECTIONS:
            log.warning("prloom's socket has %d connections already; another was refused", MOST_CONNECTIONS)
            writer.close()
            return
        self._connections.add(task)
        try:
            await _Connection(reader, writer, self._authorities).serve()
        except asyncio.CancelledError:  # by `close`
            pass
        except Exception:
            log.exception("a connection to prloom's socket failed")
        finally:
            self._connections.discard(task)
            _close(writer)


class _Connection:
    """One connection: its first request has to say who it is."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, authorities: Sequence[Authority]
    ) -> None:
        self._writer = writer
        self._authorities = authorities
        self._session: ClientSession | None = None
        self._peer = AsyncioPeer(PacedReader(reader, writer), writer, answer=self._answer, hear=self._hear)
        self._limit: asyncio.TimerHandle | None = None
        self._admission = asyncio.Lock()

    async def serve(self) -> None:
        """Answer requests until the other side goes."""
        self._limit = asyncio.get_running_loop().call_later(_HELLO_LIMIT, self._writer.close)
        try:
            problem = await self._peer.serve()
            if problem is not None:
                self._writer.write(jsonrpc.encode(ErrorResponse(None, jsonrpc.PARSE_ERROR, problem)))
        finally:
            self._limit.cancel()
            if self._session is not None:
                self._session.close()

    async def _answer(self, method: str, params: Json) -> Json:
        if self._session is None:
            async with self._admission:  # requests may overlap, and a connection has one session
                if self._session is None:
                    return await self._greet(method, params)
        return await self._session.answer(method, params)

    def _hear(self, method: str, params: Json) -> None:
        if self._session is not None:
            self._session.hear(method, params)

    async def _greet(self, method: str, params: Json) -> Json:
        try:
            self._session = await self._admitted(method, params)
        except RpcError as error:
            asyncio.get_running_loop().call_soon(self._writer.close)  # after the reply is written
            self._log_denial(error)
            raise
        if self._limit is not None:
            self._limit.cancel()
        return {"version": prloom.__version__, **self._session.greeting}

    async def _admitted(self, method: str, params: Json) -> ClientSession:
        if method != HELLO:
            raise RpcError(f"{method} came before hello; send hello with a token first", DENIED)
        peer = self._other_end()
        if peer.uid != os.getuid():
            raise RpcError("this socket belongs to another user", DENIED)
        if isinstance(params, dict):
            for authority in self._authorities:
                session = await authority.admit(params, peer)
                if session is not None:
                    return session
        raise RpcError("the token is not valid, or none was given", DENIED)

    def _log_denial(self, error: RpcError) -> None:
        """Log that somebody was not admitted: whose request it is, no other log tells."""
        process: int | str = "unknown"
        with contextlib.suppress(RpcError):
            process = self._other_end().pid or process
        text = naming.printable(str(error), _LONGEST_REASON)
        log.info("process %s at prloom's socket: not admitted (%d): %s", process, error.code, text)

    def _other_end(self) -> PeerProcess:
        connected: socket.socket = self._writer.get_extra_info("socket")
        try:
            return peer_process.of(connected)
        except OSError as error:
            raise RpcError(f"the system does not say who has connected: {error.strerror}", DENIED) from error


def _close(writer: asyncio.StreamWriter) -> None:
    """Close a connection; what its client has not read within a moment is dropped."""
    writer.close()
    if writer.transport.get_write_buffer_size():
        asyncio.get_running_loop().call_later(_LAST_WORDS, writer.transport.abort)


def folder(root: Path) -> Path:
    """Return the private folder of the socket of a repository's dispatcher, made; raises ExtensionError."""
    return runtime_folder.make(root, FOLDER)
