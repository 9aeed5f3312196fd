"""Speak JSON-RPC in an event loop: the dispatcher's side of the connection to a plugin's process."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable
from typing import Protocol

from prloom.extensions import jsonrpc
from prloom.extensions.jsonrpc import (
    ConnectionLostError,
    ErrorResponse,
    Notification,
    ProtocolError,
    Request,
    Response,
    RpcError,
    RpcMessage,
    RpcReceived,
)
from prloom.model.record import Json

AnswerRequest = Callable[[str, Json], Awaitable[Json]]
"""Return the result of a method with these params; raise RpcError, or any other exception."""

OnNotification = Callable[[str, Json], None]
"""Take note of a notification."""

_MOST_REPLIES = 64  # requests of the other side that are worked on at a time; further ones wait in the pipe


class LineSource(Protocol):
    """Gives the lines of the other side, such as an `asyncio.StreamReader`."""

    async def readline(self) -> bytes:
        """Return the next line; nothing at the end. Raises ValueError for a line that is too long."""


class AsyncioPeer:
    """One end of a connection, for as long as `serve` runs; `longest` is how long a request may be."""

    def __init__(
        self,
        source: LineSource,
        sink: asyncio.StreamWriter,
        *,
        answer: AnswerRequest,
        hear: OnNotification,
        longest: int = jsonrpc.LIMIT,
    ) -> None:
        self._source = source
        self._sink = sink
        self._answer = answer
        self._hear = hear
        self._longest = longest
        self._numbers = itertools.count(1)
        self._waiting: dict[jsonrpc.Id, asyncio.Future[Json]] = {}
        self._lost: str | None = None

    async def request(self, method: str, params: Json) -> Json:
        """Ask the other side; raises RpcError, ConnectionLostError, and ProtocolError for what cannot be sent."""
        number = next(self._numbers)
        line = jsonrpc.encode(Request(number, method, params))
        if len(line) > self._longest:
            text = f"a request of {len(line)} bytes is longer than {self._longest}"
            raise ProtocolError(text, jsonrpc.INVALID_PARAMS)
        if self._lost is not None:
            raise ConnectionLostError(self._lost)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send(line)
            return await future
        finally:
            self._waiting.pop(number, None)
            if future.done() and not future.cancelled():
                future.exception()  # it was seen, even where the sending failed first

    async def serve(self) -> str | None:
        """Read until the other side closes the connection, or breaks the protocol; then return how it did."""
        async with asyncio.TaskGroup() as replies:
            running: set[asyncio.Task[None]] = set()
            try:
                while line := await self._source.readline():
                    self._take(jsonrpc.decode(line), replies, running)
                    if len(running) >= _MOST_REPLIES:
                        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            except ProtocolError as error:
                return str(error)
            except ValueError:  # what a stream's reader raises at its limit
                return "a line is longer than is allowed"
            except OSError:  # reset: as good as closed
                return None
            finally:
                for reply in running:
                    reply.cancel()
        return None

    def lose(self, how: str) -> None:
        """End all requests, and those to come: the other side is gone."""
        self._lost = how
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionLostError(how))

    def _take(self, message: RpcReceived, replies: asyncio.TaskGroup, running: set[asyncio.Task[None]]) -> None:
        match message:
            case Request():
                task = replies.create_task(self._reply(message))
                running.add(task)
                task.add_done_callback(running.discard)
            case Notification():
                self._hear(message.method, message.params)
            case Response(id=of) if future := self._future(of):
                future.set_result(message.result)
            case ErrorResponse(id=int() | str() as of) if future := self._future(of):
                future.set_exception(RpcError(message.message, message.code, message.data))
            case ErrorResponse(id=None):
                raise ProtocolError(f"the other side could not read a message: {message.message}")
            case _:
                pass  # an answer for which nothing waits any more

    def _future(self, of: jsonrpc.Id) -> asyncio.Future[Json] | None:
        future = self._waiting.get(of)
        if future is not None and not future.done():
            return future
        return None

    async def _reply(self, request: Request) -> None:
        reply: RpcMessage
        try:
            reply = Response(request.id, await self._answer(request.method, request.params))
        except asyncio.CancelledError:
            self._sink.write(jsonrpc.encode(ErrorResponse(request.id, jsonrpc.INTERNAL_ERROR, "it was cancelled")))
            raise
        except RpcError as error:
            reply = ErrorResponse(request.id, error.code, str(error), error.data)
        except Exception as error:  # noqa: BLE001 - the other side waits for an answer
            reply = ErrorResponse(request.id, jsonrpc.INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        try:
            line = jsonrpc.encode(reply)
        except ProtocolError as error:
            line = jsonrpc.encode(ErrorResponse(request.id, error.code, str(error)))
        await self._send(line)

    async def _send(self, line: bytes) -> None:
        self._sink.write(line)
        with contextlib.suppress(OSError):  # it is gone: `lose` will say how
            await self._sink.drain()
