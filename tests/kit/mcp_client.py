"""Connect the official package's MCP client to a server that it starts."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TextIO

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


@asynccontextmanager
async def connected(server: StdioServerParameters, errlog: TextIO = sys.stderr) -> AsyncIterator[Client]:
    """Have a client that speaks with a server, which ends with it.

    Before Python 3.11.4, asyncio tells of the broken pipe to a server that has ended first when the pipe is collected,
    which would be in whatever test runs then. Nobody can hear of it: the package keeps the pipe to itself.
    """
    log = logging.getLogger("asyncio")
    client = Client(stdio_client(server, errlog=errlog))
    try:
        async with client:
            yield client
    finally:
        del client
        log.disabled = True
        try:
            gc.collect()
        finally:
            log.disabled = False
