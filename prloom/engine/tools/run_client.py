"""Answer what the MCP server of a run asks: which tools there are, and calls of them."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from prloom.core.plugins import tool_rules
from prloom.engine.host_socket import server
from prloom.engine.tools import skills
from prloom.engine.tools.call_sequence import CallScene, ToolCaller
from prloom.engine.tools.run_sessions import RunSession
from prloom.engine.tools.skills import OfferedSkillText
from prloom.errors import PrloomError
from prloom.extensions import jsonrpc
from prloom.extensions.jsonrpc import RpcError
from prloom.model import record
from prloom.model.record import Json, Record
from prloom.model.tool import ToolCall, ToolSpec

LIST_TOOLS: Final = "listTools"
CALL_TOOL: Final = "callTool"
CANCEL: Final = "cancelCall"


class CallParams(Record, frozen=True, kw_only=True):
    """The params of `callTool`; `key` is the client's own name for the call, by which it can be cancelled."""

    key: str
    name: str
    arguments: Mapping[str, Json]


class RunClient:
    """What the MCP server of one run may ask: nothing about another run or plan."""

    def __init__(self, session: RunSession, caller: ToolCaller, scene: CallScene | None) -> None:
        self._session = session
        self._caller = caller
        self._scene = scene
        self._calls: dict[str, asyncio.Task[Json]] = {}

    @property
    def greeting(self) -> dict[str, Json]:
        """Return which run this is."""
        return {"run": self._session.run_id}

    async def answer(self, method: str, params: Json) -> Json:
        """Return the result of a method; raises RpcError, also where the run is over."""
        if method == LIST_TOOLS:
            return self._tools()
        scene = self._scene_of_run()
        match method:
            case "callTool":
                return await self._call(scene, params)
            case "listSkills":
                return [
                    {"name": skill.name, "uri": skill.uri, "description": skill.description}
                    for skill in self._skills(scene)
                ]
            case "readSkill":
                return await asyncio.to_thread(self._skill_text, scene, params)
            case _:
                raise RpcError(f"there is no method {method!r}", jsonrpc.METHOD_NOT_FOUND)

    def hear(self, method: str, params: Json) -> None:
        """Cancel a call that the agent does not wait for any more."""
        if method == CANCEL and isinstance(params, dict) and isinstance(params.get("key"), str):
            task = self._calls.get(params["key"])
            if task is not None:
                task.cancel()

    def close(self) -> None:
        """End the calls: nothing waits for them any more."""
        for task in tuple(self._calls.values()):
            task.cancel()

    def _skills(self, scene: CallScene) -> tuple[OfferedSkillText, ...]:
        return skills.offered(self._caller.plugins, scene.runtime.rules.config.plugins.disabled)

    def _skill_text(self, scene: CallScene, params: Json) -> Json:
        """Return the text of the skill of a name or a URI."""
        found = next((skill for skill in self._skills(scene) if params in (skill.name, skill.uri)), None)
        if found is None:
            raise RpcError("there is no such skill", jsonrpc.INVALID_PARAMS)
        try:
            return skills.text(found)
        except PrloomError as error:
            raise RpcError(str(error), jsonrpc.SERVICE_FAILED) from error

    def _tools(self) -> Json:
        """Return the tools of the run, also while its plan cannot be used: a program without its server may give up."""
        self._refuse_if_over()
        disabled: Sequence[str] = ()
        if self._scene is not None:
            disabled = self._scene.runtime.rules.config.plugins.disabled
        return [_listed(tool) for tool in self._caller.catalog.offered(self._session.stage, disabled)]

    def _refuse_if_over(self) -> None:
        if self._session.over:
            raise RpcError(f"run {self._session.run_id} has ended", server.DENIED)

    def _scene_of_run(self) -> CallScene:
        self._refuse_if_over()
        if self._scene is None or not self._scene.runtime.usable:
            raise RpcError("the plan of this run cannot be used just now; try again", server.NOT_READY)
        return self._scene

    async def _call(self, scene: CallScene, params: Json) -> Json:
        try:
            asked = record.from_wire(CallParams, params)
        except msgspec.ValidationError as error:
            raise RpcError(f"{CALL_TOOL}: {error}", jsonrpc.INVALID_PARAMS) from error
        if asked.key in self._calls:
            raise RpcError(
                f"a call {asked.key[:50]!r} is already in progress; give each call its own key", jsonrpc.INVALID_PARAMS
            )
        call = ToolCall(
            id=f"c-{secrets.token_hex(8)}",
            name=asked.name,
            arguments=asked.arguments,
            plan_id=self._session.plan_id,
            run_id=self._session.run_id,
            stage=self._session.stage,
        )
        task = asyncio.create_task(self._result(scene, call))
        self._calls[asked.key] = task
        try:
            with self._session.calling(task):
                return await task
        except asyncio.CancelledError:
            task.cancel()
            if not self._session.over:
                raise
            raise RpcError(f"run {self._session.run_id} has ended", server.DENIED) from None
        finally:
            self._calls.pop(asked.key, None)

    async def _result(self, scene: CallScene, call: ToolCall) -> Json:
        return tool_rules.structured(await self._caller.call(scene, call))


def _listed(tool: ToolSpec) -> dict[str, Json]:
    """Return a tool as the agent's program lists it."""
    return {
        "name": tool.name,
        "description": tool.description,
        "schema": tool.schema or {"type": "object"},
        "requiresConfirmation": tool.requires_confirmation,
    }
