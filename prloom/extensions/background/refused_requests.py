"""Answer the requests of a daemon that belong on another socket, all with the same error."""

from __future__ import annotations

import asyncio
from typing import Final

from prloom.extensions import jsonrpc
from prloom.extensions.background.message_bounds import BreachError
from prloom.extensions.jsonrpc import ErrorResponse, Id

_MOST_UNREAD: Final = 64 * 1024
"""Bytes of answers that wait for a daemon to read them."""

_TEXT: Final = "prloom takes requests at PRLOOM_HOST_SOCKET only"


class RefusedRequests:
    """The answers on one connection; it counts their bytes since the daemon has last read all that it was sent."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._unread = 0

    def refuse(self, of: Id) -> None:
        """Answer a request; raises BreachError where the daemon does not read its answers."""
        if not self._writer.transport.get_write_buffer_size():
            self._unread = 0
        if self._unread > _MOST_UNREAD:
            raise BreachError("it does not read the answers to its requests")
        line = jsonrpc.encode(ErrorResponse(of, jsonrpc.METHOD_NOT_FOUND, _TEXT))
        self._unread += len(line)
        self._writer.write(line)
