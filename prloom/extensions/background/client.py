"""Call a daemon's methods, over one connection that stays open, or one for each request where the daemon wants it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from prloom.extensions.background import call_error, connection
from prloom.extensions.background.call_error import CallError
from prloom.extensions.background.connection import Connection
from prloom.extensions.background.message_bounds import MessageBounds
from prloom.model.record import Json

HEALTH_CHECK = "health_check"
_PROBE_LIMIT = timedelta(seconds=5)
_TAKING_LIMIT = timedelta(seconds=10)
"""How long a daemon that wants a connection for each message may take for one, before it is sent the next."""


class DaemonClient:
    """What prloom has of one daemon's socket."""

    def __init__(self, plugin: str, path: str, taking_limit: timedelta = _TAKING_LIMIT) -> None:
        self._plugin = plugin
        self._path = path
        self._taking_limit = taking_limit
        self._bounds = MessageBounds()
        self._numbers = itertools.count(1)
        self._opened: Connection | None = None
        self._connect_lock = asyncio.Lock()
        self._single_use = False
        self._probed = asyncio.Event()

    async def first_answer(self, limit: timedelta) -> int | None:
        """Wait for the daemon's first answer to a health check; return the process that listens, where it is known.

        Any answer with our id will do, an error too. Raises CallError; nothing else may be called before this returns.
        """
        async with _limit(self._plugin, HEALTH_CHECK, limit):
            opened = await self._connect()
            try:
                await _health(opened, next(self._numbers))
            except BaseException:
                await opened.close()
                raise
        self._opened = opened
        return opened.peer()

    async def probe(self, limit: timedelta = _PROBE_LIMIT) -> None:
        """Find out whether the daemon closes the connection after its answer; calls wait for this.

        So it is asked again over the same connection: a health check may be sent twice, which is not true of any other
        call. A daemon that is slow to answer keeps its connection.
        """
        try:
            if self._opened is not None:
                async with _limit(self._plugin, HEALTH_CHECK, limit):
                    await _health(self._opened, next(self._numbers))
        except CallError as error:
            self._single_use = error.closed
        finally:
            if self._single_use and self._opened is not None:
                await self._opened.close()
            self._probed.set()

    async def call(self, method: str, params: Json, limit: timedelta) -> Json:
        """Return the result of a method; raises CallError. The limit counts from here."""
        async with _limit(self._plugin, method, limit):
            await self._probed.wait()
            async with self._connected() as opened:
                return await opened.call(next(self._numbers), method, params)

    async def send(self, lines: Sequence[bytes]) -> None:
        """Send notifications, and wait while the daemon is slow to read them; raises CallError without a connection.

        A daemon that wants a connection for each may take those of several in any order. So it is sent the next one
        when it has closed the connection of the one before.
        """
        await self._probed.wait()
        if not self._single_use:
            async with self._connected() as opened:
                await opened.send(b"".join(lines))
            return
        for line in lines:
            async with self._connected() as opened:
                await opened.send(line)
                await opened.finish(self._taking_limit)

    async def breach(self, seconds: float) -> CallError | None:
        """Wait for so many seconds; return why prloom connects to the daemon no more, as soon as it does not."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._bounds.broken.wait()
        return self._breach()

    async def close(self) -> None:
        """End the connection."""
        if self._opened is not None:
            await self._opened.close()

    def _breach(self) -> CallError | None:
        breach = self._bounds.breach
        if breach is None:
            return None
        return call_error.malformed(self._plugin, breach)

    async def _connect(self) -> Connection:
        if breach := self._breach():
            raise breach
        return await connection.connect(self._plugin, self._path, self._bounds)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Connection]:
        if self._single_use:
            opened = await self._connect()
            try:
                yield opened
            finally:
                await opened.close()
            return
        async with self._connect_lock:
            if self._opened is None or self._opened.closed:
                self._opened = await self._connect()
            opened = self._opened
        yield opened


async def _health(opened: Connection, number: int) -> None:
    try:
        await opened.call(number, HEALTH_CHECK, {})
    except CallError as error:
        if error.kind != "rpc_error":
            raise


@asynccontextmanager
async def _limit(plugin: str, method: str, limit: timedelta) -> AsyncIterator[None]:
    """Raise CallError when what is within takes longer than the limit."""
    try:
        async with asyncio.timeout(limit.total_seconds()):
            yield
    except TimeoutError as error:
        raise call_error.timed_out(plugin, method, limit) from error
