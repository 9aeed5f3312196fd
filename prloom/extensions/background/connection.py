"""Exchange JSON-RPC messages with a daemon over one open connection."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from datetime import timedelta

from prloom import processes
from prloom.extensions import jsonrpc
from prloom.extensions.background import call_error
from prloom.extensions.background.call_error import CallError
from prloom.extensions.background.message_bounds import BreachError, MessageBounds
from prloom.extensions.background.refused_requests import RefusedRequests
from prloom.extensions.jsonrpc import (
    ErrorResponse,
    Notification,
    ProtocolError,
    Request,
    Response,
    RpcMessage,
    RpcReceived,
    StrayAnswer,
)
from prloom.model.record import Json

LIMIT = 10 * 1024 * 1024
"""Bytes that a message may have, in either direction."""

CANCEL = "$/cancel"
"""The notification by which a daemon learns that nothing waits for an answer any more."""

log = logging.getLogger(__name__)


class Connection:
    """One connection to a daemon. Calls may overlap; once it has ended, `closed` is set, and all of them fail."""

    def __init__(
        self, plugin: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, bounds: MessageBounds
    ) -> None:
        self._plugin = plugin
        self._warned = False
        self._reader = reader
        self._writer = writer
        self._bounds = bounds
        self._refused = RefusedRequests(writer)
        self._waiting: dict[jsonrpc.Id, asyncio.Future[Json]] = {}
        self._reading = asyncio.create_task(self._read(), name=f"connection to {plugin}")

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        return self._reading.done() or self._writer.is_closing()

    async def call(self, number: int, method: str, params: Json) -> Json:
        """Return the result of a method; raises CallError. A call that is cancelled is cancelled at the daemon too."""
        line = encode(self._plugin, Request(number, method, params))
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            if self.closed:
                raise call_error.closed(self._plugin)
            await self.send(line)
            return await future
        except asyncio.CancelledError:
            self._cancel(number)
            raise
        finally:
            self._waiting.pop(number, None)
            if future.done() and not future.cancelled():
                future.exception()  # it is raised once at most, and asyncio is not to complain of the other time

    async def send(self, line: bytes) -> None:
        """Write lines, and wait while the daemon reads more slowly than that; one that is gone is found by reading."""
        self._bounds.sent(line.count(b"\n"))
        self._writer.write(line)
        with contextlib.suppress(OSError):
            await self._writer.drain()

    async def finish(self, limit: timedelta) -> None:
        """Send nothing more, and wait until the daemon closes the connection too, which it does when it is done."""
        self._writer.write_eof()
        await asyncio.wait((self._reading,), timeout=limit.total_seconds())

    async def close(self) -> None:
        """End the connection; calls that wait fail."""
        self._reading.cancel()
        self._writer.close()
        await asyncio.wait((self._reading,))

    def peer(self) -> int | None:
        """Return the id of the process that listens at the other end, where the system tells (on Linux)."""
        own: socket.socket | None = self._writer.get_extra_info("socket")
        if own is None or sys.platform != "linux":
            return None
        return processes.peer(own)[0]

    def _cancel(self, number: int) -> None:
        if not self.closed:
            self._writer.write(jsonrpc.encode(Notification(CANCEL, {"id": number})))

    async def _read(self) -> None:
        """Read until the daemon closes the connection, or sends what is no message or too much."""
        failure = call_error.closed(self._plugin)
        try:
            while line := await self._reader.readline():
                if not (line.strip() and self._take(jsonrpc.decode(line))):
                    self._bounds.count_unsolicited(len(line))
                await self._bounds.wait()
        except BreachError as error:
            self._bounds.end(str(error))
            failure = call_error.malformed(self._plugin, str(error))
            self._writer.transport.abort()
        except ProtocolError as error:
            failure = call_error.malformed(self._plugin, str(error))
        except ValueError:  # what a stream's reader raises at its limit
            failure = call_error.malformed(self._plugin, f"a message is longer than {LIMIT} bytes")
        except OSError:  # reset: as good as closed
            pass
        finally:
            self._writer.close()
            self._fail_all(failure)

    def _take(self, message: RpcReceived) -> bool:
        """Do what a message requires; return whether a call waited for it."""
        match message:
            case Response(id=of, result=result):
                return self._settle(of, result)
            case ErrorResponse(id=None):
                return self._fail_all(self._rpc_error(message))
            case ErrorResponse(id=int() | str() as of):
                return self._settle(of, self._rpc_error(message))
            case StrayAnswer():
                self._warn_of_stray_answer()
            case Request(id=of):
                self._refused.refuse(of)
            case Notification():
                pass  # prloom expects none
        return False

    def _warn_of_stray_answer(self) -> None:
        """Log, once for each connection, that an answer says of no request that it is its answer."""
        if not self._warned:
            self._warned = True
            text = "the daemon of plugin %s sent an answer without the id of a request, which is ignored; give it one"
            log.warning(text, self._plugin)

    def _settle(self, of: jsonrpc.Id, result: Json | CallError) -> bool:
        """End the call of an id; return whether there was one that waited."""
        future = self._waiting.get(of)
        if future is None or future.done():
            return False
        if isinstance(result, CallError):
            future.set_exception(result)
        else:
            future.set_result(result)
        return True

    def _fail_all(self, failure: CallError) -> bool:
        """End all calls; return whether there was one that waited."""
        waiting = [future for future in self._waiting.values() if not future.done()]
        for future in waiting:
            future.set_exception(failure)
        return bool(waiting)

    def _rpc_error(self, message: ErrorResponse) -> CallError:
        return call_error.rpc_error(self._plugin, message.code, message.message, message.data)


def encode(plugin: str, message: RpcMessage) -> bytes:
    """Return a message as a line; raises CallError for what JSON cannot say, and for what is too long."""
    try:
        line = jsonrpc.encode(message)
    except ProtocolError as error:
        raise call_error.other(plugin, str(error)) from error
    if len(line) > LIMIT:
        raise call_error.other(plugin, f"a message of {len(line)} bytes is longer than {LIMIT}")
    return line


async def connect(plugin: str, path: str, bounds: MessageBounds) -> Connection:
    """Open a connection to the socket at a path; raises CallError."""
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=LIMIT)
    except FileNotFoundError as error:
        raise call_error.socket_missing(plugin, path) from error
    except PermissionError as error:
        raise call_error.permission_denied(plugin, path) from error
    except ConnectionRefusedError as error:
        raise call_error.refused(plugin) from error
    except OSError as error:
        raise call_error.other(plugin, f"its socket cannot be opened: {error.strerror}") from error
    return Connection(plugin, reader, writer, bounds)
