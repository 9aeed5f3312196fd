"""Stand in for prloom at the socket where a daemon sends its requests: keep them, and give the answers of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from prloom.engine.host_socket.peer_process import PeerProcess
from prloom.engine.host_socket.server import HostSocket
from prloom.engine.plugin_requests.grants import Grants
from prloom.extensions.jsonrpc import RpcError
from prloom.model.record import Json

__all__ = ["HostDouble"]

_LIMIT = 60.0


class HostDouble:
    """What a daemon under test finds at PRLOOM_HOST_SOCKET.

    `requests` are those that it sent, as (method, params). `answers` are the results by method, or an `RpcError` to be
    raised; without one, the answer is `{"success": true}`.
    """

    def __init__(self, folder: Path) -> None:
        self.requests: list[tuple[str, Json]] = []
        self.answers: dict[str, Json | RpcError] = {}
        self.socket = HostSocket(folder, (self,))
        self.grants = Grants(lambda: self.socket.path, _hide)
        self._arrived = asyncio.Event()

    async def requested(self, method: str, count: int = 1) -> list[Json]:
        """Wait until a method was requested so often, and return the params of each request; raises TimeoutError."""
        async with asyncio.timeout(_LIMIT):
            while len(found := [params for name, params in self.requests if name == method]) < count:
                self._arrived.clear()
                await self._arrived.wait()
        return found

    async def admit(self, params: Json, peer: PeerProcess) -> _Session | None:
        """Return the session of a daemon that says hello with its token; see `server.Authority`."""
        token = params.get("token")
        grant = None
        if isinstance(token, str):
            grant = self.grants.find(token)
        if grant is None:
            return None
        return _Session(self, grant.plugin)

    def note(self, method: str, params: Json) -> Json:
        """Keep a request, and return its answer; raises RpcError where that is the answer."""
        self.requests.append((method, params))
        self._arrived.set()
        answer = self.answers.get(method, {"success": True})
        if isinstance(answer, RpcError):
            raise answer
        return answer


class _Session:
    def __init__(self, host: HostDouble, plugin: str) -> None:
        self.greeting: dict[str, Json] = {"plugin": plugin}
        self._host = host

    async def answer(self, method: str, params: Json) -> Json:
        return self._host.note(method, params)

    def hear(self, method: str, params: Json) -> None:
        """Ignore notifications, as prloom does."""

    def close(self) -> None:
        """Do nothing."""


def _hide(_what: str, _secret: str) -> Callable[[], None]:
    """Return what ends the hiding of a token; a test keeps no activity in which one would have to be hidden."""
    return lambda: None
