"""Serve prloom's commands to a person's own agent: an MCP server on standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
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
from prloom.mcp.run_server import called
from prloom.model.record import Json
from prloom.model.tool import ToolResult

_LIMIT: Final = 120.0  # seconds that a command may take
_TEXT: Final = {"type": "string", "minLength": 1}
_TEXTS: Final = {"type": "array", "items": _TEXT, "minItems": 1}


@dataclass(frozen=True)
class CommandTool:
    """A command as a tool: its parameters, which of them are required, and how its command line is made.

    `asks` says that a person has to confirm each call: the program of the agent does that.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    argv: Callable[[Mapping[str, Json]], Sequence[str]]
    required: tuple[str, ...] = ()
    reads: bool = False
    asks: bool = False

    @property
    def schema(self) -> dict[str, Json]:
        """The JSON Schema of the arguments."""
        listed = {"type": "object", "properties": dict(self.parameters), "additionalProperties": False}
        return {**listed, "required": list(self.required)}


def _optional(given: Mapping[str, Json], *names: str) -> list[str]:
    """Return options for those of these parameters that are given; a value can never be taken for an option."""
    return [f"--{name}={given[name]}" for name in names if name in given]


def _named(given: Mapping[str, Json], name: str) -> list[str]:
    value = given.get(name, [])
    if isinstance(value, str):
        value = [value]
    return ["--", *value]


_ABOUT = {"type": "string", "description": "only this plan"}
COMMANDS: Final[tuple[CommandTool, ...]] = (
    CommandTool(
        name="status",
        description="Show what waits, why, and what needs a person.",
        parameters={"plan": _ABOUT},
        argv=lambda given: ["status", "--json", *_named(given, "plan")],
        reads=True,
    ),
    CommandTool(
        name="events",
        description="List events and their states.",
        parameters={"plan": _ABOUT, "state": _TEXT, "limit": {"type": "integer", "minimum": 1}},
        argv=lambda given: ["events", "--json", *_optional(given, "state", "limit"), *_named(given, "plan")],
        reads=True,
    ),
    CommandTool(
        name="why",
        description="Show the complete history of an event or a TODO.",
        parameters={"event": _TEXT},
        argv=lambda given: ["why", "--json", *_named(given, "event")],
        required=("event",),
        reads=True,
    ),
    CommandTool(
        name="plans",
        description="List the plans: their ids, titles, branches and pull requests.",
        parameters={},
        argv=lambda _: ["status", "--json"],
        reads=True,
    ),
    CommandTool(
        name="emit",
        description="Append an event to a plan, in the operator's name.",
        parameters={"plan": _TEXT, "body": _TEXT, "type": _TEXT},
        argv=lambda given: ["emit", *_optional(given, "body", "type"), *_named(given, "plan")],
        required=("plan", "body"),
    ),
    CommandTool(
        name="retry",
        description="Make waiting events due now, and try failed actions again.",
        parameters={"events": _TEXTS},
        argv=lambda given: ["retry", *_named(given, "events")],
        required=("events",),
    ),
    CommandTool(
        name="approve",
        description="Approve held events, so that plugins and agents may read them.",
        parameters={"events": _TEXTS},
        argv=lambda given: ["approve", *_named(given, "events")],
        required=("events",),
        asks=True,
    ),
    CommandTool(
        name="drop",
        description="Drop events permanently, with a reason.",
        parameters={"events": _TEXTS, "reason": _TEXT},
        argv=lambda given: ["drop", *_optional(given, "reason"), *_named(given, "events")],
        required=("events", "reason"),
        asks=True,
    ),
    CommandTool(
        name="pause",
        description="Stop the work on plans.",
        parameters={"plans": _TEXTS},
        argv=lambda given: ["pause", *_named(given, "plans")],
        required=("plans",),
        asks=True,
    ),
    CommandTool(
        name="resume",
        description="Resume the work on plans.",
        parameters={"plans": _TEXTS},
        argv=lambda given: ["resume", *_named(given, "plans")],
        required=("plans",),
        asks=True,
    ),
)


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
        problem = arguments.problem(command.schema, given)
        if problem is not None:
            return tool_rules.failed(f"the arguments of {name} are not valid: {problem}", "validation_error")
        argv = [sys.executable, "-P", "-m", "prloom", "-C", str(self.root), *command.argv(given)]
        try:
            with anyio.fail_after(_LIMIT):
                ended = await anyio.run_process(argv, check=False, stdin=subprocess.DEVNULL)
        except TimeoutError:
            return tool_rules.failed(f"{name} took longer than {_LIMIT:g} s", "timeout_error")
        output, errors = (each.decode("utf-8", "replace").strip() for each in (ended.stdout, ended.stderr))
        if ended.returncode != 0:
            return tool_rules.failed(errors or f"{name} ended with exit code {ended.returncode}", "plugin_error")
        return _answered(command, output)


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
        read_only_hint=command.reads, destructive_hint=command.asks, open_world_hint=False, title=command.name
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
