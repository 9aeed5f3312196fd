"""Read what a client of an MCP server sends, line by line, and answer what is no message."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, BinaryIO, Final

import anyio.to_thread
import msgspec
from mcp import types

from prloom.engine.host_socket.paced_reader import LIMIT

_KEPT: Final = 4 * LIMIT
"""Bytes of a longer message that are kept, to find out which request is to be answered."""

_MOST_IDS: Final = 10_000
"""Requests whose ids are remembered."""

Reply = Callable[[types.JSONRPCError], Awaitable[None]]


class ClientLines:
    """The messages among the lines of a client, each as text; see the parameter `stdin` of `stdio_server`.

    A line that is no message is answered with an error, by the id in it where there is one, and so is a call whose id
    was used before: it could be the same call once more. `reply` sends these answers.
    """

    def __init__(self, source: BinaryIO) -> None:
        self.reply: Reply | None = None
        self._source = source
        self._ids: OrderedDict[types.RequestId, None] = OrderedDict()

    def __aiter__(self) -> ClientLines:
        """Return itself."""
        return self

    async def __anext__(self) -> str:
        """Return the next message."""
        while line := await anyio.to_thread.run_sync(self._line):
            error = self._error(line)
            if error is None:
                return line.decode()
            if self.reply is not None:
                await self.reply(error)
        raise StopAsyncIteration

    def _line(self) -> bytes:
        """Return the next line; the end of a very long one is dropped."""
        line = part = self._source.readline(_KEPT)
        while part and not part.endswith(b"\n"):
            part = self._source.readline(_KEPT)
        return line

    def _error(self, line: bytes) -> types.JSONRPCError | None:
        """Return the answer to a line that cannot be passed on, or None."""
        if len(line) > LIMIT:
            return _answer(line, types.INVALID_REQUEST, f"the message has more than {LIMIT} bytes")
        try:
            message = types.jsonrpc_message_adapter.validate_json(line.decode(), by_name=False)
        except UnicodeDecodeError as error:
            return _answer(line, types.PARSE_ERROR, f"the message is not UTF-8: {error.reason} at byte {error.start}")
        except ValueError:
            return _answer(line, types.PARSE_ERROR, "this is not a JSON-RPC 2.0 message, or it is nested too deeply")
        if not isinstance(message, types.JSONRPCRequest) or message.method != "tools/call":
            return None
        if message.id in self._ids:
            text = f"the id {message.id!r} was used before, and each call needs its own; this one was not carried out"
            return _answer(line, types.INVALID_REQUEST, text)
        self._ids[message.id] = None
        if len(self._ids) > _MOST_IDS:
            self._ids.popitem(last=False)
        return None


def _answer(line: bytes, code: int, text: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=_id(line), error=types.ErrorData(code=code, message=text))


def _id(line: bytes) -> types.RequestId | None:
    """Return the id of the request that a line was to be, if that can be found out."""
    try:
        found: Any = msgspec.json.decode(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if isinstance(found, dict) and isinstance(found.get("id"), int | str):
        return found["id"]  # type: ignore[no-any-return]
    return None
