"""Admit the daemons of plugins at the dispatcher's socket, and answer each as the plugin whose token it has."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final, Protocol

from prloom.engine.host_socket import server
from prloom.engine.host_socket.peer_process import PeerProcess
from prloom.engine.host_socket.server import ClientSession
from prloom.engine.plugin_requests.grants import Grant, Grants
from prloom.engine.plugin_requests.request_log import LIMITED, OTHER, RequestLog
from prloom.errors import PrloomError
from prloom.extensions import jsonrpc
from prloom.extensions.jsonrpc import RpcError
from prloom.extensions.jsonrpc.pace import Pace
from prloom.model.record import Json

MOST_CONNECTIONS: Final = 8
"""Connections that one daemon may have."""

Owns = Callable[[str, int], bool]
"""Whether a process is the daemon of a plugin, or was started by it."""


class RequestMethods(Protocol):
    """Carries out requests."""

    def knows(self, method: str) -> bool:
        """Whether there is a method of this name."""

    async def answer(self, grant: Grant, method: str, params: Json) -> Json:
        """Return the result of a method; raises PrloomError and RpcError."""


class PluginAuthority:
    """Knows the tokens of daemons, and which processes may use them; see `server.Authority`."""

    def __init__(self, grants: Grants, owns: Owns, requests: RequestMethods, counts: RequestLog) -> None:
        self._grants = grants
        self._owns = owns
        self._requests = requests
        self._counts = counts
        self._paces: dict[str, Pace] = {}
        self._open: Counter[str] = Counter()

    async def admit(self, params: Json, peer: PeerProcess) -> ClientSession | None:
        """Return the session of a daemon that has a valid token; None where there is none."""
        token = params.get("token")
        if not isinstance(token, str) or "run" in params:
            return None
        grant = self._grants.find(token)
        if grant is None:
            return None
        if not await self._belongs(grant, peer):
            text = f"process {peer.pid} does not belong to the daemon of plugin {grant.plugin}"
            self._counts.refused(grant.plugin, server.HELLO, server.DENIED, text)
            raise RpcError(text, server.DENIED)
        if self._open[grant.plugin] >= MOST_CONNECTIONS:
            text = f"the daemon has {MOST_CONNECTIONS} connections already; close one, or use it"
            self._counts.refused(grant.plugin, server.HELLO, LIMITED, text)
            raise RpcError(text, LIMITED, {"retry_after_ms": 1000})
        self._counts.answered(grant.plugin, server.HELLO)
        self._open[grant.plugin] += 1
        pace = self._paces.setdefault(grant.plugin, Pace())
        return PluginSession(grant, pace, self._requests, self._counts, self._closed)

    def _closed(self, plugin: str) -> None:
        self._open[plugin] -= 1

    async def _belongs(self, grant: Grant, peer: PeerProcess) -> bool:
        """Whether a process may use a token; where the system does not tell who has connected, the token counts."""
        return peer.pid is None or await asyncio.to_thread(self._owns, grant.plugin, peer.pid)


class PluginSession:
    """What one connection of a plugin's daemon may request."""

    def __init__(
        self,
        grant: Grant,
        pace: Pace,
        requests: RequestMethods,
        counts: RequestLog,
        closed: Callable[[str], None],
    ) -> None:
        self._closed = closed
        self._grant = grant
        self._pace = pace
        self._requests = requests
        self._counts = counts

    @property
    def greeting(self) -> dict[str, Json]:
        """Return which plugin this is."""
        return {"plugin": self._grant.plugin}

    async def answer(self, method: str, params: Json) -> Json:
        """Return the result of a method; raises RpcError."""
        await self._pace.wait()
        plugin, counted = self._grant.plugin, method
        if not self._requests.knows(method):
            counted = OTHER
        try:
            result = await self._pace.metered(self._answered(method, params))
        except RpcError as error:
            self._counts.refused(plugin, counted, error.code, str(error))
            raise
        except asyncio.CancelledError:
            self._counts.refused(plugin, counted, jsonrpc.INTERNAL_ERROR, "it was cancelled")
            raise
        self._counts.answered(plugin, counted)
        return result

    def hear(self, method: str, params: Json) -> None:
        """Ignore notifications: whatever a daemon requests is answered."""

    def close(self) -> None:
        """Note that the connection has ended; what was under way for it is cancelled with it."""
        self._closed(self._grant.plugin)

    async def _answered(self, method: str, params: Json) -> Json:
        if method == server.HELLO:
            raise RpcError("hello was already sent on this connection", jsonrpc.INVALID_REQUEST)
        try:
            return await self._requests.answer(self._grant, method, params)
        except PrloomError as error:
            raise RpcError(f"{method}: {error}", jsonrpc.INTERNAL_ERROR) from error
