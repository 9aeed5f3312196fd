"""Read the lines of a client so that no client, whatever it sends and whether it reads, takes the dispatcher's time."""

from __future__ import annotations

import asyncio
from typing import Final

from prloom.extensions.background.connection import LIMIT
from prloom.extensions.jsonrpc.line_pace import LinePace

__all__ = ["LIMIT", "PacedReader"]

_PATIENCE: Final = 60.0
"""Seconds after which a client that reads no answers is cut off."""


class PacedReader:
    """The lines of one connection, in place of its `asyncio.StreamReader`; see `AsyncioPeer`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._pace = LinePace()

    async def readline(self) -> bytes:
        """Return the next line, once the client has read most of its answers; raises ValueError for one too long."""
        async with asyncio.timeout(_PATIENCE):
            await self._writer.drain()
        await self._pace.wait()
        line = await self._reader.readline()
        self._pace.spend(len(line))
        return line
