"""Serve an MCP server on standard input and output, to a client that may send anything."""

from __future__ import annotations

import sys
from typing import Any, cast

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from prloom.errors import PrloomError
from prloom.mcp.client_lines import ClientLines


async def serve(server: Server[Any]) -> None:
    """Serve until the client closes standard input; raises PrloomError where it reads no answers any more."""
    try:
        await _serve(server)
    except* BrokenPipeError:
        raise PrloomError("the client of this server has ended, and did not read all answers") from None


async def _serve(server: Server[Any]) -> None:
    lines = ClientLines(sys.stdin.buffer)
    async with stdio_server(stdin=cast("Any", lines)) as (source, sink):

        async def reply(error: types.JSONRPCError) -> None:
            await sink.send(SessionMessage(error))

        lines.reply = reply
        await server.run(source, sink, server.create_initialization_options())
