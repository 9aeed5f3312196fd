"""The dispatcher's socket, and daemons that are careless or hostile there."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest
from request_bench import Client, RequestBench, a_message, client
from stage import until

from prloom.engine.host_socket.server import HostSocket
from prloom.extensions.jsonrpc.pace import BURST, SHARE, Pace

MEGABYTE = 1024 * 1024


@pytest.fixture
async def socket(bench: RequestBench, tmp_path: Path) -> AsyncIterator[HostSocket]:
    folder = tmp_path / "s"
    folder.mkdir()
    opened = HostSocket(folder, (bench.authority,))
    await opened.start()
    yield opened
    async with asyncio.timeout(60):
        await opened.close()


async def hello(bench: RequestBench, connection: Client, plugin: str = "ci") -> None:
    answer = await connection.ask("hello", {"token": bench.tokens[plugin]}, 0)
    assert answer["result"]["plugin"] == plugin


async def test_the_token_says_which_plugin_it_is_and_no_param_does(bench: RequestBench, socket: HostSocket):
    async with client(socket) as connection, client(socket) as of_ci:
        await hello(bench, of_ci)
        answer = await connection.ask("hello", {"token": bench.tokens["other"], "plugin": "ci"})
        named = await connection.ask("get_global_state", {"key": "a", "plugin": "ci"})
        await connection.ask("set_global_state", {"key": "a", "value": 1})

    assert (answer["result"]["plugin"], sorted(answer["result"])) == ("other", ["plugin", "version"])
    assert named["error"]["code"] == -32602
    assert bench.plan.shared_stores.get("other").values == {"a": 1}
    assert bench.plan.shared_stores.get("ci").values == {}


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("hello", {"token": "wrong"}, "the token is not valid, or none was given"),
        ("hello", {}, "the token is not valid, or none was given"),
        ("hello", None, "the token is not valid, or none was given"),
        ("add_message", a_message(), "add_message came before hello; send hello with a token first"),
    ],
)
async def test_who_says_no_valid_hello_first_is_denied_cut_off_and_logged(
    socket: HostSocket, caplog: pytest.LogCaptureFixture, method: str, params: object, text: str
):
    caplog.set_level(logging.INFO)
    async with client(socket) as connection:
        answer = await connection.ask(method, params)

        assert (answer["error"]["code"], answer["error"]["message"]) == (-32001, text)
        assert await connection.read() is None
    assert f"process {os.getpid()} at prloom's socket: not admitted (-32001): {text}" in caplog.messages


async def test_a_token_is_void_once_its_daemon_has_ended_also_on_an_open_connection(
    bench: RequestBench, socket: HostSocket
):
    async with client(socket) as before, client(socket) as after:
        await hello(bench, before)
        bench.grants.begin("ci")
        late = await before.ask("get_global_state", {"key": "a"})
        again = await after.ask("hello", {"token": bench.tokens["ci"]})

    assert (late["error"]["code"], again["error"]["code"]) == (-32001, -32001)


async def test_a_token_serves_only_the_processes_of_its_own_daemon(bench: RequestBench, socket: HostSocket):
    asked: list[tuple[str, int]] = []
    bench.authority._owns = lambda plugin, pid: bool(asked.append((plugin, pid)))  # another's
    async with client(socket) as connection:
        answer = await connection.ask("hello", {"token": bench.tokens["ci"]})

        assert answer["error"]["message"] == f"process {os.getpid()} does not belong to the daemon of plugin ci"
        assert await connection.read() is None
    assert asked == [("ci", os.getpid())]
    assert bench.log.of("ci") == {"hello": {"ok": 0, "denied": 1, "limited": 0, "failed": 0}}


async def test_requests_are_counted_by_how_they_end(bench: RequestBench, socket: HostSocket):
    async with client(socket) as connection:
        await hello(bench, connection)
        for number in range(12):
            await connection.ask("add_message", a_message(f"m-{number}"))
        await connection.ask("add_message", a_message(plan_id="pr-8"))
        await connection.ask("run_agent", {"plan_id": "pr-7", "prompt": "x", "stage": "worker"})
        for method in ("x", "y", "hello"):
            await connection.ask(method, {})

    assert bench.log.of("ci") == {
        "add_message": {"ok": 10, "denied": 0, "limited": 2, "failed": 1},
        "hello": {"ok": 1, "denied": 0, "limited": 0, "failed": 0},
        "other": {"ok": 0, "denied": 0, "limited": 0, "failed": 3},
        "run_agent": {"ok": 0, "denied": 1, "limited": 0, "failed": 0},
    }


async def test_a_daemon_has_eight_connections_at_most(bench: RequestBench, socket: HostSocket):
    async with AsyncExitStack() as opened:
        several = [await opened.enter_async_context(client(socket)) for _ in range(9)]
        for each in several[:8]:
            await hello(bench, each)
        refused = await several[8].ask("hello", {"token": bench.tokens["ci"]})
        assert await several[8].read() is None
        several[0].writer.close()
        await until(lambda: bench.authority._open["ci"] == 7)
        await hello(bench, await opened.enter_async_context(client(socket)))

    assert refused["error"]["code"] == -32002


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud83d"}\n', "a line is not JSON: "),
        (b"{\n", "a line is not JSON: "),
        (b'{"jsonrpc":"2.0","id":{},"method":"x"}\n', "the id of a message is neither a number nor text"),
    ],
)
async def test_what_is_no_message_is_answered_with_an_error_and_ends_that_connection_only(
    bench: RequestBench, socket: HostSocket, line: bytes, text: str
):
    async with client(socket) as bad, client(socket) as good:
        await hello(bench, bad)
        await hello(bench, good)
        await bad.send(line)
        answer = await bad.read()

        assert (answer["id"], answer["error"]["message"][: len(text)]) == (None, text)
        assert await bad.read() is None
        assert (await good.ask("get_global_state", {"key": "a"}))["result"] == {"value": None}


async def test_a_line_of_eleven_megabytes_ends_its_connection_and_no_other(bench: RequestBench, socket: HostSocket):
    async with client(socket) as bad, client(socket) as good:
        await hello(bench, bad)
        await hello(bench, good)
        with suppress(ConnectionError):  # it is cut off before it has sent all
            await bad.send(b'{"jsonrpc":"2.0","id":1,"method":"x' + b"y" * 11 * MEGABYTE + b'"}\n')
        with suppress(ConnectionError):  # what it is told may be lost then
            while await bad.read() is not None:
                pass

        assert (await good.ask("get_global_state", {"key": "a"}))["result"] == {"value": None}


async def test_requests_under_one_id_are_each_answered(bench: RequestBench, socket: HostSocket):
    async with client(socket) as connection:
        await hello(bench, connection)
        request = b'{"jsonrpc":"2.0","id":7,"method":"add_message","params":{"message_id":"m","plan_id":"pr-7",'
        await connection.send((request + b'"role":"user","content":"x"}}\n') * 3)
        answers = [await connection.read() for _ in range(3)]

    assert [each["id"] for each in answers] == [7, 7, 7]
    assert [each["result"]["duplicate"] for each in answers] == [False, True, True]


async def test_a_client_that_never_reads_and_one_that_floods_delay_nobody(bench: RequestBench, socket: HostSocket):
    """The flood is of the plugin `ci`; `other` asks all the while, and the loop is never held up."""
    ask = b'{"jsonrpc":"2.0","id":1,"method":"get_context","params":{"plan_id":"pr-7"}}\n'
    note = b'{"jsonrpc":"2.0","method":"add_message","params":{}}\n'
    async with client(socket) as deaf, client(socket) as flood, client(socket) as other:
        await hello(bench, deaf)
        await hello(bench, flood)
        await hello(bench, other, "other")
        for connection, block in ((deaf, ask * 2000), (flood, note * 200_000)):
            connection.writer.write(block)
        longest, took = 0.0, []
        for _ in range(50):
            begun = time.thread_time()  # what the loop does meanwhile, whatever else the machine does
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - begun)
            begun = time.thread_time()
            assert (await other.ask("get_global_state", {"key": "a"}))["result"] == {"value": None}
            took.append(time.thread_time() - begun)

    assert longest < 0.5
    assert sorted(took)[25] < 0.1


async def test_more_than_its_share_of_the_dispatchers_time_has_to_be_waited_for():
    now = 100.0
    pace = Pace(lambda: now)
    pace.spend(BURST)
    assert pace.pause == 0
    pace.spend(0.05)
    assert pace.pause == pytest.approx(0.05 / SHARE)
    now += 0.05 / SHARE
    assert pace.pause == pytest.approx(0, abs=1e-9)
    now += 1000
    pace.spend(BURST)
    assert pace.pause == 0


async def test_only_the_time_in_which_a_request_really_works_counts():
    now = 0.0
    pace = Pace(lambda: now)

    async def work() -> str:
        nonlocal now
        now += 1
        await asyncio.sleep(0)
        now += 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            now += 1
            return "cancelled"
        return ""

    task = asyncio.ensure_future(pace.metered(work()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    now += 10  # which it only waits
    task.cancel()

    assert await task == "cancelled"
    assert pace.pause == pytest.approx((3 - BURST - 10 * SHARE) / SHARE, rel=0.2)
