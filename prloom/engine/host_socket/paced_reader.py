"""Read the lines of a client so that no client, whatever it sends and whether it reads, takes the dispatcher's time."""

from __future__ import annotations

import asyncio
from typing import Final

from prloom.engine.host_socket.pace import Pace
from prloom.extensions.background.connection import LIMIT

__all__ = ["LIMIT", "PacedReader"]

_PER_LINE: Final = 20e-6
_PER_BYTE: Final = 20e-9
"""Seconds that reading and decoding take, on a slow machine."""

_IN_A_ROW: Final = 16
"""Lines that are read before everything else in the dispatcher goes on."""

_PATIENCE: Final = 60.0
"""Seconds after which a client that reads no answers is cut off."""


class PacedReader:
    """The lines of one connection, in place of its `asyncio.StreamReader`; see `AsyncioPeer`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._pace = Pace()
        self._lines = 0

    async def readline(self) -> bytes:
        """Return the next line, once the client has read most of its answers; raises ValueError for one too long."""
        async with asyncio.timeout(_PATIENCE):
            await self._writer.drain()
        self._lines += 1
        if self._pace.pause or not self._lines % _IN_A_ROW:
            await asyncio.sleep(self._pace.pause)
        line = await self._reader.readline()
        self._pace.spend(_PER_LINE + _PER_BYTE * len(line))
        return line
