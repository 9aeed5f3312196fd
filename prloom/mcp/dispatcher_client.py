"""Speak with the running dispatcher over its socket: connect when it is needed, and again after a restart."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from prloom.engine.host_socket import paced_reader
from prloom.errors import PrloomError
from prloom.extensions import jsonrpc
from prloom.extensions.jsonrpc import ConnectionLostError, Notification, ProtocolError, RpcError
from prloom.extensions.jsonrpc.asyncio_peer import AsyncioPeer
from prloom.model.record import Json

_PATIENCE: Final = 5.0  # seconds in which a dispatcher that restarts is waited for
_PAUSE: Final = 0.1


class DispatcherClient:
    """A connection to the socket of the dispatcher, opened by the first request; `hello` are the params of hello.

    `find` returns the socket's path, or raises OSError as long as there is none.
    """

    def __init__(self, find: Callable[[], str], hello: Json) -> None:
        self._find = find
        self._hello = hello
        self._peer: AsyncioPeer | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._serving: asyncio.Task[None] | None = None
        self._connect_lock = asyncio.Lock()

    async def request(self, method: str, params: Json = None) -> Json:
        """Return the result of a method; raises PrloomError, whose text is for people and agents.

        A request that was sent is not sent again: nobody knows what became of it.
        """
        try:
            return await (await self._opened()).request(method, params)
        except (RpcError, ProtocolError) as error:
            raise PrloomError(str(error)) from error
        except ConnectionLostError as error:
            raise PrloomError("prloom's dispatcher ended meanwhile; it is not known whether the call ran") from error

    def notify(self, method: str, params: Json) -> None:
        """Tell the dispatcher something, if it is there."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(jsonrpc.encode(Notification(method, params)))

    async def close(self) -> None:
        """End the connection."""
        if self._serving is not None:
            self._serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._serving
        if self._writer is not None:
            self._writer.close()

    async def _opened(self) -> AsyncioPeer:
        async with self._connect_lock:
            if self._peer is None or self._serving is None or self._serving.done():
                reader, writer = await self._connected()
                peer = AsyncioPeer(reader, writer, answer=_answer, hear=_hear, longest=paced_reader.LIMIT)
                self._peer, self._writer = peer, writer
                self._serving = asyncio.create_task(self._serve(peer, writer))
                try:
                    await peer.request("hello", self._hello)
                except BaseException:
                    self._serving.cancel()
                    raise
            return self._peer

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        given_up = asyncio.get_running_loop().time() + _PATIENCE
        where = "its socket"
        while True:
            try:
                where = self._find()
                return await asyncio.open_unix_connection(where, limit=jsonrpc.LIMIT)
            except OSError as error:
                if asyncio.get_running_loop().time() > given_up:
                    text = f"prloom's dispatcher does not answer at {where}; see with `prloom status` whether it runs"
                    raise PrloomError(text) from error
            await asyncio.sleep(_PAUSE)

    async def _serve(self, peer: AsyncioPeer, writer: asyncio.StreamWriter) -> None:
        how = "the dispatcher has ended"
        try:
            how = await peer.serve() or how
        finally:
            peer.lose(how)
            writer.close()


async def request_once(find: Callable[[], str], hello: Json, method: str, params: Json) -> Json:
    """Return the result of one request, over a connection of its own; raises PrloomError."""
    client = DispatcherClient(find, hello)
    try:
        return await client.request(method, params)
    finally:
        await client.close()


async def _answer(method: str, params: Json) -> Json:
    raise RpcError(f"there is no method {method!r}", jsonrpc.METHOD_NOT_FOUND)


def _hear(method: str, params: Json) -> None:
    """Ignore notifications: the dispatcher sends none."""
