"""Carry out an agent's call of a tool: check it, ask guards and perhaps a person, run it, and look at its result."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from msgspec.structs import replace

from prloom import errors
from prloom.core.plugins import tool_rules
from prloom.engine.plan import plugin_calls
from prloom.engine.plan.hook_services import PlanServices
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.tools.arguments import ArgumentChecks
from prloom.engine.tools.catalog import ToolCatalog
from prloom.extensions.host.interface import HookFailed
from prloom.model.hook import Outcome
from prloom.model.hook_points import POST_TOOL, PRE_TOOL, TRANSFORM, HookName, HookPoint, NamedHook
from prloom.model.record import Json
from prloom.model.tool import CHECK, TOOL, ToolCall, ToolResult, ToolSpec

log = logging.getLogger(__name__)


class CallActivity(Protocol):
    """Where what agents do is written down and published."""

    def record(self, type_: str, data: Mapping[str, Json], *, about: ToolCall, parent_id: str | None = None) -> str:
        """Write an event of the run that a call belongs to, and return its id."""

    def hide(self, what: str, secret: str) -> Callable[[], None]:
        """Take a secret out of all events until the function that is returned is called."""


class ToolHandler(Protocol):
    """Answers the calls of tools of one kind."""

    async def answer(self, scene: CallScene, tool: ToolSpec, call: ToolCall) -> Json | ToolResult:
        """Return the answer of a tool, or a result where it knows more, within the tool's limit; raises ToolFailed."""


class Confirmer(Protocol):
    """Asks a person whether a call is allowed."""

    async def refusal(self, scene: CallScene, tool: ToolSpec, call: ToolCall) -> str | None:
        """Return why a call is not allowed, or None once it is."""


class ToolFailed(Exception):  # noqa: N818 - an outcome that the sequence expects
    """A step of a call failed; the text is for the agent."""

    def __init__(self, text: str, error_type: str) -> None:
        super().__init__(text)
        self.error_type = error_type


@dataclass(frozen=True)
class CallScene:
    """The plan that a call belongs to, and what its hooks may ask for."""

    runtime: PlanRuntime
    services: PlanServices


@dataclass(frozen=True)
class ToolCaller:
    """Carries out calls; `handlers` are those of each kind of tool."""

    catalog: ToolCatalog
    plugins: PluginSet
    handlers: Mapping[str, ToolHandler]
    confirmer: Confirmer
    activity: CallActivity
    checks: ArgumentChecks = field(default_factory=ArgumentChecks)

    async def call(self, scene: CallScene, call: ToolCall) -> ToolResult:
        """Return what a call comes to; whatever goes wrong is in the result."""
        started = time.monotonic()
        about = {"toolCallId": call.id, "toolName": call.name}
        begin = self.activity.record("TOOL_CALL_START", {**about, "arguments": call.arguments}, about=call)
        result = tool_rules.failed("the call was broken off", "cancelled")
        try:
            result = await self._result(scene, call)
        except asyncio.CancelledError as cancelled:
            result = tool_rules.failed(str(cancelled) or "the call was cancelled", "cancelled")
            raise
        finally:
            end = {
                **about,
                "result": tool_rules.structured(result),
                "success": result.success,
                "error": result.error,
                "durationMs": round((time.monotonic() - started) * 1000),
            }
            self.activity.record("TOOL_CALL_END", end, about=call, parent_id=begin)
        return result

    async def _result(self, scene: CallScene, call: ToolCall) -> ToolResult:
        tool = self.catalog.find(call.name, call.stage, scene.runtime.rules.config.plugins.disabled)
        if tool is None:
            return tool_rules.failed(f"there is no tool {call.name!r} for this run", "unknown_tool")
        try:
            call = replace(call, plugin=tool.plugin)
            call = await self._admitted(scene, tool, call)
            result = await self._handled(scene, tool, call)
            return await self._shown(scene, replace(call, result=result), result)
        except ToolFailed as failure:
            return tool_rules.failed(str(failure), failure.error_type)
        except Exception as error:  # noqa: BLE001 - `errors.log_failure` logs it
            reason = errors.log_failure(log, error, f"tool {call.name} of run {call.run_id} failed")
            return tool_rules.failed(reason, "other")

    async def _admitted(self, scene: CallScene, tool: ToolSpec, call: ToolCall) -> ToolCall:
        """Return the call as guards have changed it, once nothing speaks against it; raises ToolFailed."""
        await self._validate(tool, call)
        for key in self._with_hook(scene, PRE_TOOL):
            outcome = await self._intercept(scene, key, PRE_TOOL, call)
            if outcome.block is not None:
                raise ToolFailed(f"plugin {key} blocked the call: {outcome.block}", "blocked")
            if outcome.arguments is not None:
                call = replace(call, arguments=outcome.arguments)
                await self._validate(tool, call)
        if tool.checked:
            await self._check(scene, tool, call)
        refusal = await self.confirmer.refusal(scene, tool, call)
        if refusal is not None:
            raise ToolFailed(refusal, "denied")
        return call

    async def _validate(self, tool: ToolSpec, call: ToolCall) -> None:
        problem = await self.checks.problem(tool.plugin, tool.schema, call.arguments)
        if problem is not None:
            raise ToolFailed(f"the arguments of {tool.name} are not valid: {problem}", "validation_error")

    async def _check(self, scene: CallScene, tool: ToolSpec, call: ToolCall) -> None:
        try:
            hook = NamedHook(f"{CHECK}{tool.name}")
            outcome = await self._run(scene, tool.plugin, hook, call, scene.runtime.rules.hook_timeout)
        except HookFailed as failure:
            raise ToolFailed(f"{tool.name} unavailable: {failure}", "unavailable") from failure
        if outcome.result is not True:
            raise ToolFailed(f"{tool.name} unavailable", "unavailable")

    async def _handled(self, scene: CallScene, tool: ToolSpec, call: ToolCall) -> ToolResult:
        try:
            answer = await self.handlers[tool.kind].answer(scene, tool, call)
        except ToolFailed as failure:
            return tool_rules.failed(str(failure), failure.error_type)
        if isinstance(answer, ToolResult):
            return answer
        return tool_rules.answered(answer)

    async def _shown(self, scene: CallScene, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result as the agent gets it; raises ToolFailed where a plugin that is to look at it fails."""
        for key in self._with_hook(scene, POST_TOOL):
            outcome = await self._intercept(scene, key, POST_TOOL, call)
            if outcome.block is not None:
                raise ToolFailed(f"the tool ran, but plugin {key} keeps its result back: {outcome.block}", "blocked")
        for key in self._with_hook(scene, TRANSFORM):
            outcome = await self._intercept(scene, key, TRANSFORM, replace(call, result=result))
            if outcome.block is not None:
                raise ToolFailed(f"the tool ran, but plugin {key} keeps its result back: {outcome.block}", "blocked")
            if isinstance(outcome.result, str):
                result = tool_rules.transformed(result, outcome.result)
        return result

    def _with_hook(self, scene: CallScene, hook: HookName) -> tuple[str, ...]:
        return self.plugins.with_hook(hook, scene.runtime.rules.config.plugins.disabled)

    async def _intercept(self, scene: CallScene, plugin: str, hook: HookName, call: ToolCall) -> Outcome:
        """Ask a plugin's guard; one that fails forbids."""
        try:
            return await self._run(scene, plugin, hook, call, scene.runtime.rules.hook_timeout)
        except HookFailed as failure:
            text = f"the guard {hook} failed, so the call is blocked: {failure}"
            if hook != PRE_TOOL:
                text = f"the tool ran, but {hook} failed, so its result is kept back: {failure}"
            raise ToolFailed(text, "guard_failed") from failure

    async def _run(self, scene: CallScene, plugin: str, hook: HookPoint, call: ToolCall, limit: timedelta) -> Outcome:
        return await plugin_calls.run(
            scene.runtime,
            self.plugins[plugin],
            hook,
            scene.services,
            prepare=lambda made: replace(made, tool=call),
            limit=limit,
        )


@dataclass(frozen=True)
class PythonHandler:
    """Runs the handler of a Python plugin in its host."""

    plugins: PluginSet

    async def answer(self, scene: CallScene, tool: ToolSpec, call: ToolCall) -> Json | ToolResult:
        """Return what the handler returned; see `ToolHandler`."""
        try:
            outcome = await plugin_calls.run(
                scene.runtime,
                self.plugins[tool.plugin],
                NamedHook(f"{TOOL}{tool.name}"),
                scene.services,
                prepare=lambda made: replace(made, tool=call),
                limit=timedelta(milliseconds=tool.timeout_ms),
            )
        except HookFailed as failure:
            kinds: Mapping[Any, str] = {"overran": "timeout_error"}
            raise ToolFailed(str(failure), kinds.get(failure.kind, "plugin_error")) from failure
        return outcome.result
