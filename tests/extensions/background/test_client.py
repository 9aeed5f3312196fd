"""One connection to a daemon, or one for each request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from prloom.extensions.background.client import DaemonClient

LIMIT = timedelta(seconds=60)
AT_ONCE = timedelta(0)


class Server:
    """A daemon that answers each request, a health check but the first only once the gate is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.opened = 0
        self.heard: list[str] = []
        self._checks = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        while line := await reader.readline():
            message = json.loads(line)
            if message["method"] == "health_check":
                self._checks += 1
                if self._checks > 1:
                    await self.gate.wait()
            self.heard.append(message["method"])
            if "id" in message:
                writer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": 1}).encode() + b"\n")
        writer.close()


async def test_a_daemon_that_is_slow_to_answer_a_health_check_keeps_its_connection(path: str) -> None:
    server, client = Server(), DaemonClient("P", path)
    async with await asyncio.start_unix_server(server.serve, path):
        await client.first_answer(LIMIT)
        await client.probe(AT_ONCE)
        server.gate.set()
        for _ in range(3):
            await client.call("get_stats", {}, LIMIT)
            await client.send([b'{"jsonrpc":"2.0","method":"on_event"}\n'])
        await client.call("get_stats", {}, LIMIT)
        await client.close()

    assert server.opened == 1
    assert server.heard[-7:] == ["get_stats", "on_event"] * 3 + ["get_stats"]


class OneEach:
    """A daemon that takes one message from each connection, each the faster the later it comes.

    If it is told not to, it never closes the connection of an event.
    """

    def __init__(self, *, closes: bool = True) -> None:
        self.heard: list[int] = []
        self.kept: list[asyncio.StreamWriter] = []
        self._closes = closes

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        message = json.loads(await reader.readline())
        if "id" in message:
            writer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": 1}).encode() + b"\n")
        else:
            await self._take(message["params"])
            if not self._closes:
                self.kept.append(writer)
                return
        writer.close()

    async def _take(self, number: int) -> None:
        for _ in range(100 // (number + 1)):
            await asyncio.sleep(0)
        self.heard.append(number)


@asynccontextmanager
async def one_connection_a_request(path: str, server: OneEach, limit: timedelta = LIMIT) -> AsyncIterator[DaemonClient]:
    client = DaemonClient("P", path, limit)
    async with await asyncio.start_unix_server(server.serve, path):
        await client.first_answer(LIMIT)
        await client.probe(LIMIT)
        yield client
        await client.close()


async def test_a_daemon_that_wants_a_connection_for_each_event_has_taken_one_before_it_is_sent_the_next(
    path: str,
) -> None:
    server = OneEach()
    async with one_connection_a_request(path, server) as client:
        await client.send([b'{"jsonrpc":"2.0","method":"on_event","params":%d}\n' % each for each in range(20)])

    assert server.heard == list(range(20))


async def test_a_daemon_that_does_not_close_the_connection_of_an_event_is_sent_the_next_one_all_the_same(
    path: str,
) -> None:
    server = OneEach(closes=False)
    async with one_connection_a_request(path, server, timedelta(milliseconds=1)) as client:
        await client.send([b'{"jsonrpc":"2.0","method":"on_event","params":%d}\n' % each for each in (98, 99)])
        await client.call("get_stats", {}, LIMIT)
    for writer in server.kept:
        writer.close()

    assert server.heard == [98, 99]
