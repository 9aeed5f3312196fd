"""The server over real connections: slow ones, a thousand at once, and changes that reach a page that is open."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
from stage import Stage, said

from prloom.errors import PrloomError
from prloom.web import access, app, server, stream
from prloom.web.server import ConnectionLimits
from prloom.web.sessions import BrowserSession, Sessions
from prloom.web.site import Site

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

PATIENCE = 60.0
PATIENT = ConnectionLimits(request_within=PATIENCE, read_within=PATIENCE)
"""What no test gets to, for this process is both ends, and may stand still between a connection and its request."""


@dataclass
class Serving:
    """A server, and a session that is let in."""

    port: int
    session: BrowserSession
    connections: Collection[Any]

    def head(self, path: str) -> bytes:
        return (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Cookie: prloom_{self.port}={self.session.id}\r\n\r\n"
        ).encode()

    async def open(self, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(self.head(path))
        await writer.drain()
        return reader, writer

    async def status(self, path: str) -> int:
        """Return the status of one answer; 0 where the connection was closed without one."""
        reader, writer = await self.open(path)
        line = await reader.readline()
        writer.close()
        return int(line.split()[1]) if line else 0


@asynccontextmanager
async def serving(site: Site, limits: ConnectionLimits = PATIENT) -> AsyncIterator[Serving]:
    listening = server.listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    sessions = Sessions(site.clock)
    session = sessions.redeem(sessions.link_token)
    assert session is not None
    made = server.server(app.build(site, sessions, access.names("127.0.0.1", port)), limits)
    task = asyncio.create_task(made.serve([listening]))
    try:
        yield Serving(port, session, made.server_state.connections)
    finally:
        made.should_exit = made.force_exit = True
        await task
        listening.close()


async def test_a_change_reaches_a_page_that_is_open(stage: Stage, site: Site):
    stage.adopt()
    stage.adopt("other", pr=8)
    async with serving(site) as served:
        reader, writer = await served.open("/live?part=pr-7")
        other, other_writer = await served.open("/live?part=other")
        for stream_of in (reader, other):  # what a page shows may be older than the watch
            await stream_of.readuntil(b"event: change\n")
        told = asyncio.create_task(reader.readuntil(b"event: change"))
        not_told = asyncio.create_task(other.readuntil(b"event: change"))
        stage.append(said("d"))
        async with asyncio.timeout(PATIENCE):
            await told
        assert not not_told.done()
        not_told.cancel()
        writer.close()
        other_writer.close()


async def test_a_thousand_streams_leave_the_pages_as_they_were(site: Site):
    async with serving(site) as served:
        opened = [await served.open("/live") for _ in range(150)]
        heads = [await reader.readline() for reader, _ in opened]

        streams = sum(b" 200 " in head for head in heads)
        assert streams == stream.MOST
        assert sum(b" 503 " in head for head in heads) == len(heads) - streams
        assert await served.status("/") == 200
        for _, writer in opened:
            writer.close()

        more = [asyncio.create_task(served.status("/live")) for _ in range(850)]
        found = await asyncio.gather(*more, return_exceptions=True)
        assert {each for each in found if isinstance(each, int)} <= {0, 200, 503}
        assert await served.status("/healthz") in {200, 503}


async def ended(reader: asyncio.StreamReader) -> None:
    """Read until the other end closes the connection."""
    async with asyncio.timeout(PATIENCE):
        with suppress(ConnectionError):
            while await reader.read(65536):
                pass


async def test_connections_that_are_too_many_say_nothing_in_the_operators_terminal(
    site: Site, caplog: pytest.LogCaptureFixture
):
    async with serving(site, PATIENT._replace(connections=1)) as served:
        _, first = await served.open("/live")
        assert [await served.status("/healthz") for _ in range(5)] == [503] * 5
        first.close()

    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"])
async def test_a_client_that_sends_slowly_is_given_up(site: Site, before: bytes):
    short = PATIENT._replace(request_within=0.1)
    async with serving(site, PATIENT if before else short) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        if before:
            writer.write(before)
            await reader.readuntil(b"</html>")
            (connection,) = served.connections
            connection.limits = short
        writer.write(b"GET / HTTP/1.1\r\nHost: 127")
        await ended(reader)
        writer.close()


@pytest.mark.parametrize("begin", ["GET /healthz", "GET /nothing", "POST /actions/pause", "POST /login"])
async def test_a_refused_body_is_not_read_on(site: Site, begin: str):
    async with serving(site) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        head = f"{begin} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nContent-Length: {1 << 30}\r\n\r\n"
        writer.write(head.encode())
        sent = 0
        with suppress(ConnectionError):
            while sent < 1 << 26:
                writer.write(b"x" * 65536)
                await writer.drain()
                sent += 65536
        assert sent < 1 << 26
        await ended(reader)


async def test_a_client_that_does_not_read_is_given_up(site: Site):
    async with serving(site, PATIENT._replace(read_within=0.1)) as served:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", served.port))
            client.setblocking(False)  # noqa: FBT003 - it takes no keyword
            with suppress(BlockingIOError):
                client.sendall(served.head("/static/prloom.css") * 2000)
            async with asyncio.timeout(PATIENCE):
                while not served.connections:  # noqa: ASYNC110 - uvicorn has no event for it
                    await asyncio.sleep(0.01)
                while served.connections:  # noqa: ASYNC110 - likewise
                    await asyncio.sleep(0.01)
        assert await served.status("/healthz") == 200


def test_a_port_that_is_taken_is_said_in_one_line():
    with server.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PrloomError, match=f"127.0.0.1:{port} cannot be listened on: .*; choose another one"):
            server.listen("127.0.0.1", port)
