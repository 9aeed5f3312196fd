"""Answer what the operator's commands ask over the dispatcher's socket; never a process that an agent's run started."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from prloom.agents import run_ancestry
from prloom.engine.host_socket import server
from prloom.engine.host_socket.peer_process import PeerProcess
from prloom.engine.host_socket.server import ClientSession
from prloom.engine.tools import confirmations
from prloom.engine.tools.confirmations import Confirmations
from prloom.errors import PrloomError
from prloom.extensions import jsonrpc
from prloom.extensions.jsonrpc import RpcError
from prloom.model.permission import PermissionAnswer
from prloom.model.record import Json

ANSWER_REQUEST: Final = "answerRequest"
LIST_REQUESTS: Final = "listRequests"

OperatorMethod = Callable[[Json], Awaitable[Json]]
"""Answers a method of a part of the dispatcher; raises PrloomError."""

RunOf = Callable[[int], "str | None"]
"""Returns what shows that a process belongs to an agent's run, or None."""


@dataclass(frozen=True)
class OperatorAuthority:
    """Admits the operator's own commands: processes of this user that no run has started."""

    confirmations: Confirmations
    run_of: RunOf = run_ancestry.run_of
    methods: Mapping[str, OperatorMethod] = field(default_factory=dict)

    async def admit(self, params: Json, peer: PeerProcess) -> ClientSession | None:
        """Return the session of a command that says hello as the operator; see `server.Authority`."""
        if params.get("operator") is not True:
            return None
        if peer.pid is not None:
            run = await asyncio.to_thread(self.run_of, peer.pid)
            if run is not None:
                raise RpcError(f"{run} has started this command; only a person may give it", server.DENIED)
        return OperatorClient(self.confirmations, self.methods)


class OperatorClient:
    """What the operator's commands may ask."""

    greeting: dict[str, Json] = {"operator": True}  # noqa: RUF012 - never changed

    def __init__(self, waiting: Confirmations, methods: Mapping[str, OperatorMethod]) -> None:
        self._waiting = waiting
        self._methods = methods

    async def answer(self, method: str, params: Json) -> Json:
        """Return the result of a method; raises RpcError."""
        match method, params:
            case "listRequests", _:
                return confirmations.listed(self._waiting.requests)
            case "answerRequest", {"request": str(request), "choice": "allow", "text": str(text)} if text.strip():
                return self._settle(request, PermissionAnswer(choice="allow", by="operator", text=text))
            case "answerRequest", {"request": str(request), "choice": "allow" | "allow_always" | "deny" as choice}:
                return self._settle(request, PermissionAnswer(choice=choice, by="operator"))
            case "answerRequest", _:
                form = '{"request", "choice": "allow" | "allow_always" | "deny"}, and "text" to answer a question'
                raise RpcError(f"give {form}", jsonrpc.INVALID_PARAMS)
            case _ if method in self._methods:
                return await self._answered(self._methods[method], params)
            case _:
                raise RpcError(f"there is no method {method!r}", jsonrpc.METHOD_NOT_FOUND)

    async def _answered(self, method: OperatorMethod, params: Json) -> Json:
        try:
            return await method(params)
        except PrloomError as error:
            raise RpcError(str(error), jsonrpc.INVALID_PARAMS) from error

    def hear(self, method: str, params: Json) -> None:
        """Ignore notifications: commands send none."""

    def close(self) -> None:
        """Do nothing: a command that has ended leaves nothing."""

    def _settle(self, request: str, given: PermissionAnswer) -> Json:
        try:
            settled = self._waiting.answer(request, given)
        except PrloomError as error:
            raise RpcError(str(error), jsonrpc.INVALID_PARAMS) from error
        return {"tool": settled.tool, "plan": settled.plan}
