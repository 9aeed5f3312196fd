"""What `prloom mcp --run` costs beside a bare MCP server of the same package: its start, and a call of a tool."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import rig
from harness import Figure, Measure, Row, Sizes, alternate, blank, compared
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent
from stage import Stage
from tool_bench import ToolBench

from prloom.agents import mcp_server
from prloom.model.tool import ToolSpec

BARE = """
import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TOOL = types.Tool(name="stats", description="Counts.", input_schema={"type": "object"})

async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[TOOL])

async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="3 calls")], is_error=False)

async def main():
    server = Server("bare", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())

anyio.run(main)
"""
_TOOL = ToolSpec(name="stats", kind="background_rpc", plugin="bench", method="stats", timeout_ms=30_000)


async def _daemon(plugin: str, method: str, params: object, limit: timedelta) -> Mapping[str, object]:
    """Answer as a daemon that takes no time."""
    return {"message": "3 calls", "data": {"calls": 3}}


@asynccontextmanager
async def _run(folder: Path) -> AsyncIterator[StdioServerParameters]:
    """Have a dispatcher's socket at work, and a run; yield how its program starts prloom's server."""
    stage = Stage(folder)
    stage.adopt()
    stage.plugin("bench", lambda _: None)
    bench = ToolBench(stage)
    bench.manifest_tools = {"bench": (_TOOL,)}
    bench.call_daemon = _daemon
    async with bench.open() as parts:
        run = bench.prepare(parts)
        async with bench.running(parts, run):
            entry = json.loads((run / mcp_server.CONFIG).read_text())["mcpServers"][mcp_server.NAME]
            yield StdioServerParameters(command=entry["command"], args=entry["args"], env=entry["env"], cwd=run)


def _bare(folder: Path) -> StdioServerParameters:
    program = folder / "bare.py"
    program.write_text(BARE)
    return StdioServerParameters(command=rig.PRLOOM[0], args=[str(program)], cwd=folder)


async def _started(server: StdioServerParameters) -> float:
    """Return how long it takes until a server that is started has listed its tools."""
    begun = time.perf_counter()
    async with Client(stdio_client(server)) as client:
        await client.list_tools()
        return time.perf_counter() - begun


async def _called(client: Client) -> float:
    begun = time.perf_counter()
    result = await client.call_tool("stats", {})
    taken = time.perf_counter() - begun
    assert result.content[0] == TextContent(text="3 calls")  # noqa: S101 - a benchmark of an error says nothing
    return taken


class _Scene:
    """What is measured, opened and closed in one task of a loop in a thread of its own, as its package wants it."""

    def __init__(self, opening: Callable[[AsyncExitStack], Coroutine[Any, Any, Any]]) -> None:
        self._opening = opening
        self._opened: Future[Any] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    async def _run(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with AsyncExitStack() as stack:
                self._opened.set_result(await self._opening(stack))
                await self._over.wait()
        except BaseException as error:
            if not self._opened.done():
                self._opened.set_exception(error)
            raise

    def __enter__(self) -> Any:  # noqa: ANN401 - whatever was opened
        self._thread.start()
        return self._opened.result()

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def measure(self, work: Callable[[], Coroutine[Any, Any, float]]) -> Measure:
        """Return the measure of something that is done in the loop."""
        return lambda: asyncio.run_coroutine_threadsafe(work(), self._loop).result()


def starts(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Start the server of a run, as its program does, and a bare one."""
    figure = blank("mcp-start", "start of `prloom mcp --run` until its tools are listed", "a bare server", 1.5)
    scene = _Scene(lambda stack: stack.enter_async_context(_run(folder)))
    with scene as server:
        subject, bare = partial(_started, server), partial(_started, _bare(folder))
        yield compared(figure, alternate(scene.measure(subject), scene.measure(bare), sizes.rounds))


def calls(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Call a tool of a daemon that takes no time, with all that prloom does around it, and one of a bare server."""
    figure = blank("mcp-call", "a tool call through `prloom mcp --run` (p50)", "one through a bare server", 3)

    async def opening(stack: AsyncExitStack) -> tuple[Client, Client]:
        server = await stack.enter_async_context(_run(folder))
        ours = await stack.enter_async_context(Client(stdio_client(server)))
        return ours, await stack.enter_async_context(Client(stdio_client(_bare(folder))))

    scene = _Scene(opening)
    with scene as (ours, bare):
        subject, yardstick = scene.measure(partial(_called, ours)), scene.measure(partial(_called, bare))
        yield compared(figure, alternate(subject, yardstick, 2 * sizes.latency_rounds, warm=5))


ROWS = (Row("MCP start", starts), Row("MCP calls", calls))
