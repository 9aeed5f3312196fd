"""Call a tool of a plugin once, whether its code, its daemon or a program answers, as the call of an agent does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from prloom.core.plugins import tool_rules
from prloom.engine.assembly.plugins import declared_tools
from prloom.engine.plan.plugin_set import registered_tools
from prloom.engine.tools import arguments, executable
from prloom.engine.tools.call_sequence import ToolFailed
from prloom.engine.tools.executable import PluginFolder
from prloom.errors import ExtensionError
from prloom.extensions.background.call_error import CallError
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.model.record import Json
from prloom.model.tool import ToolCall, ToolResult, ToolSpec
from prloom.testing import hook_examples, running_daemon
from prloom.testing.events import PLAN
from prloom.testing.harness import Harness
from prloom.testing.runners import Runner


class ToolTrial:
    """A plugin whose tools are called in an empty repository; `settings` and `environ` are those of the plugin."""

    def __init__(
        self,
        found: DiscoveredPlugin,
        runner: Runner,
        root: Path,
        *,
        settings: Mapping[str, Json],
        environ: Mapping[str, str],
    ) -> None:
        self._found = found
        self._runner = runner
        self._root = root
        self._settings = settings
        self._environ = environ

    def call(self, name: str, given: Mapping[str, Json]) -> ToolResult:
        """Return what an agent gets for these arguments; raises ExtensionError where there is no such tool."""
        tools = (*declared_tools(self._found), *registered_tools(self._found.key, self._runner.start()))
        tool = next((each for each in tools if each.name == name), None)
        if tool is None:
            known = ", ".join(each.name for each in tools) or "none"
            raise ExtensionError(f"plugin {self._found.key} has no tool {name!r}; it offers: {known}")
        if tool.kind == "python":
            return Harness(self._runner, repo_root=self._root, strict=False).call_tool(name, given)
        problem = arguments.problem(tool.schema, given) if tool.schema else None
        if problem is not None:
            return tool_rules.failed(f"the arguments of {name} are not valid: {problem}", "validation_error")
        call = hook_examples.tool_call(name, given, PLAN)
        try:
            return tool_rules.answered(asyncio.run(self._answer(tool, call)))
        except (ToolFailed, CallError) as error:
            return tool_rules.failed(str(error), error.error_type)

    async def _answer(self, tool: ToolSpec, call: ToolCall) -> Json:
        """Return what a program prints, or a daemon answers; raises ToolFailed or CallError."""
        if tool.kind == "executable":
            manifest = self._found.manifest
            wanted = () if manifest is None else manifest.requires_env
            folder = PluginFolder(Path(self._found.path), wanted)
            return await executable.run(tool, call, folder, self._root, self._environ)
        async with running_daemon.run(self._found.path, self._settings) as daemon:
            return await daemon.call(tool.method, dict(call.arguments), timedelta(milliseconds=tool.timeout_ms))
