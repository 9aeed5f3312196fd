"""The fake on a socket: a thin HTTP/1.1 server for clients that are not ours and for processes that get killed."""

from __future__ import annotations

import asyncio
import http
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from .contract import ContractBroken
from .exchange import Breakage, Host, Outcome, Request, Response
from .hub import Hub

HOST = "127.0.0.1"
CHUNK = 65_536


@dataclass(frozen=True)
class Served:
    """Where the API of the fake listens."""

    api_url: str


async def read_request(reader: asyncio.StreamReader, origin: str) -> Request | None:
    """Read one request; None: the client has gone."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): text.strip() for name, _, text in (line.partition(":") for line in lines)}
    try:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Request(method, target if "://" in target else origin + target, headers, body)


def head_of(response: Response, length: int) -> bytes:
    phrase = http.HTTPStatus(response.status).phrase
    headers = {"connection": "keep-alive", **response.headers}
    if response.status not in {204, 304}:
        headers["content-length"] = str(length)
    lines = [f"HTTP/1.1 {response.status} {phrase}", *(f"{name}: {text}" for name, text in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def send(writer: asyncio.StreamWriter, outcome: Outcome) -> bool:
    """Send what the client is to see; return whether the connection goes on."""
    if isinstance(outcome, Response):
        writer.write(head_of(outcome, len(outcome.body)) + outcome.body)
        await writer.drain()
        return True
    whole = outcome.response or Response(200)
    if outcome.kind == "truncated":
        writer.write(head_of(whole, len(whole.body)) + whole.body[: len(whole.body) // 2])
        await writer.drain()
    if outcome.kind == "flood":
        writer.write(head_of(whole, len(whole.body) + outcome.size) + whole.body)
        for sent in range(0, outcome.size, CHUNK):
            writer.write(b" " * min(CHUNK, outcome.size - sent))
            await writer.drain()
        return True
    if outcome.kind == "timeout":
        await asyncio.Event().wait()  # until the client gives up, or the server ends
    return False


def reset(writer: asyncio.StreamWriter) -> None:
    """End the connection so that the client is told of a reset, not of an end."""
    linger_not = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_not)
    writer.transport.abort()


class Connections:
    """The open connections of one listener."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.origin = ""
        self.tasks: set[asyncio.Task[None]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task:
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        with suppress(ConnectionError, asyncio.CancelledError):
            await self.converse(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await read_request(reader, self.origin):
            self.host.enter(request)
            try:
                outcome = self.host.handle(request)
            except ContractBroken as error:  # the test reads it from `broken`
                outcome = Response(500, {"content-type": "text/plain"}, str(error).encode())
            finally:
                self.host.leave(request)
            if not await send(writer, outcome):
                if isinstance(outcome, Breakage) and outcome.kind == "reset":
                    reset(writer)
                return

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@asynccontextmanager
async def listening(host: Host) -> AsyncIterator[str]:
    """Listen on a free port of the loopback, and yield the origin."""
    connections = Connections(host)
    server = await asyncio.start_server(connections.accept, HOST, 0)
    connections.origin = f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
    try:
        yield connections.origin
    finally:
        server.close()
        await connections.end()
        await server.wait_closed()


@asynccontextmanager
async def serve(hub: Hub) -> AsyncIterator[Served]:
    """Serve the fake on two ports, the API and the storage of logs, and have its URLs say so."""
    urls = hub.world.urls
    async with listening(hub) as api, listening(hub) as storage:
        urls.api, urls.storage = api + urls.base_path, storage
        hub.world.changed()
        yield Served(urls.api)
