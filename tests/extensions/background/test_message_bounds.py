"""What a daemon sends that nobody asked for, at a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from prloom.core.plugins.unsolicited_messages import A_MINUTE
from prloom.extensions.background.call_error import CallError
from prloom.extensions.background.client import DaemonClient
from prloom.extensions.background.message_bounds import MessageBounds

LIMIT = timedelta(seconds=60)
NOTIFICATION = b'{"jsonrpc":"2.0","method":"x"}\n'
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"x"}\n'
LONG_REQUEST = b'{"jsonrpc":"2.0","id":"%s","method":"x"}\n' % (b"x" * 1000)
LATE = b'{"jsonrpc":"2.0","id":99,"result":"late"}\n'
STRAY = b'{"jsonrpc":"2.0","id":null,"result":1}\n'
TOO_MANY = (
    "Background process 'P' gave a malformed answer: it sends more than 1000 messages a minute that nobody asked for"
)


@asynccontextmanager
async def daemon(path: str, before: bytes, *, each: bytes = b"", reads: bool = True) -> AsyncIterator[DaemonClient]:
    """Run a daemon that sends something before its answers, and for each notification."""
    connections = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                message = json.loads(line)
                writer.write(each)
                if "id" in message and "method" in message:
                    writer.write(
                        before + json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": 1}).encode() + b"\n"
                    )
                if not reads:
                    writer.transport.pause_reading()
        writer.close()

    async with await asyncio.start_unix_server(serve, path):
        client = DaemonClient("P", path)
        await client.probe()
        yield client
        await client.close()
        for writer in connections:
            writer.transport.abort()


@pytest.mark.parametrize(
    "line", [NOTIFICATION, REQUEST, LATE, STRAY, b"\n"], ids=["notification", "request", "late", "stray", "blank"]
)
async def test_a_daemon_that_sends_too_much_that_nobody_asked_for_is_cut_off_for_good_and_the_reason_is_known(
    path: str, line: bytes
) -> None:
    async with daemon(path, line * (2 * A_MINUTE)) as client:
        assert await client.breach(0) is None
        for _ in range(2):
            with pytest.raises(CallError) as caught:
                await client.call("get_stats", {}, LIMIT)
            assert (caught.value.kind, str(caught.value)) == ("malformed", TOO_MANY)

        assert str(await client.breach(10)) == TOO_MANY


async def test_a_daemon_that_sends_some_messages_that_nobody_asked_for_is_called_all_the_same(path: str) -> None:
    async with daemon(path, NOTIFICATION * 100 + REQUEST * 100 + LATE * 100) as client:
        assert [await client.call("get_stats", {}, LIMIT) for _ in range(3)] == [1, 1, 1]


async def test_a_daemon_may_answer_each_event_that_it_is_sent(path: str) -> None:
    async with daemon(path, b"", each=STRAY) as client:
        for _ in range(3):
            await client.send([NOTIFICATION] * A_MINUTE)
        assert await client.call("get_stats", {}, LIMIT) == 1
        assert await client.breach(0) is None


async def test_a_daemon_that_does_not_read_the_answers_to_its_requests_is_cut_off(path: str) -> None:
    async with daemon(path, LONG_REQUEST * (A_MINUTE - 10), reads=False) as client:
        with pytest.raises(CallError, match="malformed answer: it does not read the answers to its requests"):
            await client.call("get_stats", {}, LIMIT)


async def test_everything_else_goes_on_while_a_daemon_floods_its_connection(path: str) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with daemon(path, NOTIFICATION * 800) as client:
        meanwhile = asyncio.create_task(others())
        await client.call("get_stats", {}, LIMIT)
        meanwhile.cancel()

    assert turns >= 800 // 16


async def test_long_messages_that_nobody_asked_for_are_read_slowly() -> None:
    bounds = MessageBounds(lambda: 0.0)
    bounds.count_unsolicited(1024)
    assert bounds.pause == 0
    for _ in range(2):
        bounds.count_unsolicited(10 * 1024 * 1024)
    assert bounds.pause > 1
