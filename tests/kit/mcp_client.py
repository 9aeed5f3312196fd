"""Have prloom serve MCP to a test: in a fork, whose standard input and output are one socket, as Node.js has it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import command_server
from command_server import ForkedProcess
from mcp import types
from mcp.client.client import Client
from mcp.shared.message import SessionMessage


@dataclass(frozen=True)
class Server:
    """A server that was begun: its process, and what goes to it and comes from it."""

    process: ForkedProcess
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def end(self) -> int:
        """Return the exit code, once it has ended as it does when nobody speaks with it any more."""
        self.writer.close()
        return await asyncio.to_thread(self.process.wait, command_server.LIMIT)


async def begin(
    args: Sequence[str], *, cwd: Path, env: Mapping[str, str], errors: Path, limit: int = 1 << 20
) -> Server:
    """Begin a server; of what it says, about so many bytes are read before they are wanted."""
    ours, theirs = socket.socketpair()
    with theirs, errors.open("wb") as log:
        process = command_server.begin_with(args, (theirs, theirs, log), cwd=cwd, env=env)
    return Server(process, *await asyncio.open_unix_connection(sock=ours, limit=limit))


@asynccontextmanager
async def connected(args: Sequence[str], *, cwd: Path, env: Mapping[str, str], errors: Path) -> AsyncIterator[Client]:
    """Have a client of the official package that speaks with a server, which ends with it."""
    server = await begin(args, cwd=cwd, env=env, errors=errors, limit=1 << 26)
    async with Client(_transport(server)) as client:
        yield client
    await server.end()


@asynccontextmanager
async def _transport(server: Server) -> AsyncIterator[Any]:
    heard, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
    write, said = anyio.create_memory_object_stream[SessionMessage]()

    async def hear() -> None:
        async for line in server.reader:
            await heard.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False)))
        heard.close()

    async def say() -> None:
        async for each in said:
            text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            server.writer.write(f"{text}\n".encode())
            await server.writer.drain()

    async with heard, read, write, said, anyio.create_task_group() as tasks:
        tasks.start_soon(hear)
        tasks.start_soon(say)
        yield read, write
        tasks.cancel_scope.cancel()
