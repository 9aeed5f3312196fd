"""The texts of failed calls, each brought about at a real socket."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from prloom.extensions.background import connection
from prloom.extensions.background.call_error import CallError
from prloom.extensions.background.client import DaemonClient

LIMIT = timedelta(seconds=60)
NOBODY = 65534


async def failure(path: str, params: Any = None, limit: timedelta = LIMIT) -> CallError:
    """Return how a call fails that is the first over its connection."""
    client = DaemonClient("P", path)
    await client.probe()  # there is no connection yet, and nothing to find out
    with pytest.raises(CallError) as caught:
        await client.call("get_stats", params or {}, limit)
    await client.close()
    return caught.value


async def answered(
    path: str, answer: Callable[[bytes], bytes | None], limit: timedelta = LIMIT, params: Any = None
) -> CallError:
    """Return how a call fails at a daemon that answers its line so; None keeps the connection open."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said = answer(await reader.readline())
        if said is None:
            await reader.read()
        writer.write(said or b"")
        await writer.drain()
        writer.close()

    async with await asyncio.start_unix_server(serve, path):
        return await failure(path, params, limit)


def told(error: CallError) -> tuple[str, str, str]:
    return error.kind, error.error_type, str(error)


async def test_a_socket_that_is_missing(path: str) -> None:
    text = "The socket of background process 'P' is gone: s does not exist; run `prloom plugins restart P`"

    assert told(await failure(path)) == ("socket_missing", "plugin_error", text)


async def test_a_socket_at_which_nothing_listens(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path)
    text = "Background process 'P' refuses connections: nothing listens at its socket"

    assert told(await failure(path)) == ("refused", "plugin_error", text)


async def test_a_socket_that_prloom_may_not_open(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        os.chmod(path, 0)  # noqa: PTH101 - a path of the system's, in a coroutine
        with ordinary_user():
            error = await failure(path)
    text = "Permission denied for the socket of 'P'; check the permissions of s"

    assert told(error) == ("permission_denied", "system_error", text)


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Be no longer one to whom every file is open, if this is one."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_a_connection_that_is_closed_before_the_answer(path: str) -> None:
    error = await answered(path, lambda _: b"")

    text = "Background process 'P' error: connection closed before the answer"
    assert told(error) == ("other", "plugin_error", text)
    assert error.closed


async def test_no_answer_in_time(path: str) -> None:
    error = await answered(path, lambda _: None, timedelta(milliseconds=50))

    text = "Background process 'P' timed out: no answer to get_stats in 50 ms"
    assert told(error) == ("timed_out", "timeout_error", text)


@pytest.mark.parametrize("number", ["1", "null"])
async def test_an_error_of_the_daemon_with_its_code(path: str, number: str) -> None:
    answer = b'{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"window is missing"}}\n' % number.encode()
    error = await answered(path, lambda _: answer)

    assert told(error) == ("rpc_error", "plugin_error", "Plugin 'P' RPC error (-32602): window is missing")
    assert error.code == -32602


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"no JSON\n", "a line is not JSON"),
        (b'{"jsonrpc":"2.0","id":1,"result":"\xc3"}\n', "a line is not JSON"),
        (b'"' + b"x" * (connection.LIMIT + 1) + b'"\n', f"a message is longer than {connection.LIMIT} bytes"),
    ],
)
async def test_an_answer_that_is_none(path: str, answer: bytes, problem: str) -> None:
    error = await answered(path, lambda _: answer)

    assert (error.kind, error.error_type) == ("malformed", "plugin_error")
    assert str(error).startswith("Background process 'P' gave a malformed answer: ")
    assert problem in str(error)


@pytest.mark.parametrize(
    "parts",
    [
        b'"id":null,"result":"nobody\'s"',
        b'"id":[1],"result":"nobody\'s"',
        b'"id":[1],"error":{"code":-1,"message":"stray"}',
        b'"id":{},"error":{"code":-1,"message":"stray"}',
        b'"id":1.0,"error":{"code":-1,"message":"stray"}',
        b'"id":true,"error":{"code":-1,"message":"stray"}',
    ],
)
async def test_an_answer_with_an_id_that_no_request_has_is_ignored_and_logged_once(
    path: str, caplog: pytest.LogCaptureFixture, parts: bytes
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lost = b'{"jsonrpc":"2.0",%s}\n' % parts
        while line := await reader.readline():
            answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": "mine"}
            writer.write(lost + json.dumps(answer).encode() + b"\n" + lost)
        writer.close()

    async with await asyncio.start_unix_server(serve, path):
        client = DaemonClient("P", path)
        await client.probe()
        results = [await client.call("get_stats", {}, LIMIT) for _ in range(3)]
        await client.close()

    assert results == ["mine"] * 3
    assert caplog.messages == [
        "the daemon of plugin P sent an answer without the id of a request, which is ignored; give it one"
    ]


async def test_params_that_json_cannot_say(path: str) -> None:
    error = await answered(path, lambda _: b"", params={"at": object()})

    assert (error.kind, error.error_type) == ("other", "plugin_error")
    assert str(error).startswith("Background process 'P' error: ")
