"""Call a method of a plugin's daemon for a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from prloom.engine.tools.call_sequence import CallScene, ToolFailed
from prloom.extensions.background.call_error import CallError
from prloom.model.record import Json
from prloom.model.tool import ToolCall, ToolResult, ToolSpec

CallDaemon = Callable[[str, str, Json, timedelta], Awaitable[Json]]
"""Returns the result of a method of a plugin's daemon: (plugin, method, params, limit); raises CallError."""


@dataclass(frozen=True)
class RpcHandler:
    """Answers calls of tools that a daemon has."""

    call_daemon: CallDaemon

    async def answer(self, scene: CallScene, tool: ToolSpec, call: ToolCall) -> Json | ToolResult:
        """Return what the daemon answers to the tool's method; see `call_sequence.ToolHandler`."""
        try:
            return await self.call_daemon(
                tool.plugin, tool.method, dict(call.arguments), timedelta(milliseconds=tool.timeout_ms)
            )
        except CallError as error:
            raise ToolFailed(str(error), error.error_type) from error
