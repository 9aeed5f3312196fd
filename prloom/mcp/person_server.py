"""Serve prloom's commands to a person's own agent: an MCP server on standard input and output."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
from mcp import types
from mcp.server.lowlevel import Server

from prloom import __version__
from prloom.agents import mcp_server
from prloom.core.plugins import tool_rules
from prloom.engine.tools import arguments
from prloom.mcp import stdio
from prloom.mcp.person_commands import COMMANDS, CommandTool
from prloom.mcp.run_server import called
from prloom.model import record
from prloom.model.record import Json
from prloom.model.tool import ToolResult

_LIMIT: Final = 120.0  # seconds that a command may take


@dataclass(frozen=True)
class PersonServer:
    """Runs prloom's commands on one repository."""

    root: Path

    async def list_tools(self, ctx: object, params: object) -> types.ListToolsResult:
        """Return the commands."""
        return types.ListToolsResult(tools=[_tool(command) for command in COMMANDS])

    async def call_tool(self, ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Run a command, and return what it printed."""
        return called(tool_rules.structured(await self._result(params.name, params.arguments or {})))

    async def _result(self, name: str, given: Mapping[str, Json]) -> ToolResult:
        command = next((each for each in COMMANDS if each.name == name), None)
        if command is None:
            return tool_rules.failed(f"there is no tool {name!r}", "unknown_tool")
        problem = arguments.problem(command.schema, given) or _unusable(given)
        if problem is not None:
            return tool_rules.failed(f"the arguments of {name} are not valid: {problem}", "validation_error")
        try:
            with anyio.fail_after(_LIMIT):
                ended = await self._run(command, given)
        except TimeoutError:
            return tool_rules.failed(f"{name} took longer than {_LIMIT:g} s", "timeout_error")
        except OSError as error:
            return _not_run(name, error)
        output, errors = (each.decode("utf-8", "replace").strip() for each in (ended.stdout, ended.stderr))
        if ended.returncode != 0:
            return tool_rules.failed(errors or f"{name} ended with exit code {ended.returncode}", "plugin_error")
        return _answered(command, output)

    async def _run(self, command: CommandTool, given: Mapping[str, Json]) -> subprocess.CompletedProcess[bytes]:
        argv = [sys.executable, "-P", "-m", "prloom", "-C", str(self.root), *command.argv(given)]
        with tempfile.TemporaryFile() as file:  # not a pipe, which fails if the command ends before it has read all
            file.write(command.stdin(given))
            file.seek(0)
            return await anyio.run_process(argv, check=False, stdin=file)


def _unusable(given: Mapping[str, Json]) -> str | None:
    """Return which argument has a character that no command line and no event can have, or None."""
    for name, value in given.items():
        texts = [value]
        if isinstance(value, list):
            texts = value
        if any(isinstance(text, str) and "\0" in text for text in texts):
            return f"{name}: it contains a NUL character; remove it"
        if any(isinstance(text, str) and not record.is_encodable(text) for text in texts):
            return f"{name}: it contains half of a surrogate pair, which is no character; remove it"
    return None


def _not_run(name: str, error: OSError) -> ToolResult:
    if error.errno == errno.E2BIG:
        text = f"the arguments of {name} are too long for a command line; shorten them, or make several calls"
        return tool_rules.failed(text, "validation_error")
    return tool_rules.failed(f"{name} cannot be run: {error.strerror}", "other")


def _answered(command: CommandTool, output: str) -> ToolResult:
    if not command.reads:
        return ToolResult(success=True, output=output or "Done.")
    data = json.loads(output)
    if command.name == "plans":
        data = {
            "plans": [{key: plan[key] for key in ("id", "title", "status", "branch", "pr")} for plan in data["plans"]]
        }
    return ToolResult(success=True, output=f"{command.name} of {data.get('repo', 'the repository')}", data=data)


def _tool(command: CommandTool) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=command.reads,
        destructive_hint=command.needs_confirmation,
        open_world_hint=False,
        title=command.name,
    )
    return types.Tool(
        name=command.name, description=command.description, input_schema=command.schema, annotations=hints
    )


def serve(root: Path) -> None:
    """Serve the commands on a repository until the agent's program closes standard input."""
    anyio.run(_serve, root)


async def _serve(root: Path) -> None:
    commands = PersonServer(root)
    server: Server[Any] = Server(
        mcp_server.NAME, version=__version__, on_list_tools=commands.list_tools, on_call_tool=commands.call_tool
    )
    await stdio.serve(server)
