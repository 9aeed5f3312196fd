"""Serve prloom's commands to a person's own agent: an MCP server on standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
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
_FLAG: Final = {"type": "boolean"}
_ONLY_PLAN: Final = {"type": "string", "description": "only this plan"}
_SEVERAL: Final[Mapping[str, Json]] = {
    "events": {**_TEXTS, "description": "ids, or @LOGIN for all of an author"},
    "plan": {"type": "string", "description": "only this plan; without events, all of its events that qualify"},
    "yes": {"type": "boolean", "description": "act on several events of an author or a plan"},
}


@dataclass(frozen=True)
class CommandTool:
    """A command as a tool: its parameters, named as those of the command, and which of them are required.

    `argument` is the parameter that stands without an option. `asks` says that a person has to confirm each call: the
    program of the agent does that. What `reads` prints JSON.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    argument: str = ""
    required: tuple[str, ...] = ()
    command: str = ""
    reads: bool = False
    asks: bool = False

    @property
    def schema(self) -> dict[str, Json]:
        """The JSON Schema of the arguments."""
        listed = {"type": "object", "properties": dict(self.parameters), "additionalProperties": False}
        return {**listed, "required": list(self.required)}

    def argv(self, given: Mapping[str, Json]) -> Sequence[str]:
        """Return the command line; a value can never be taken for an option."""
        line = [self.command or self.name]
        if self.reads:
            line.append("--json")
        for name, value in given.items():
            if value is True:
                line.append(f"--{name}")
            elif value is not False and name != self.argument:
                line.append(f"--{name}={value}")
        named = given.get(self.argument, [])
        if isinstance(named, str):
            named = [named]
        return [*line, "--", *named]


COMMANDS: Final[tuple[CommandTool, ...]] = (
    CommandTool(
        name="status",
        description="Show what waits, why, and what needs a person.",
        parameters={"plan": _ONLY_PLAN},
        argument="plan",
        reads=True,
    ),
    CommandTool(
        name="events",
        description="List events and their states.",
        parameters={
            "plan": _ONLY_PLAN,
            "state": _TEXT,
            "type": _TEXT,
            "author": _TEXT,
            "since": {"type": "string", "description": "2h, 7d, a date or a time"},
            "limit": {"type": "integer", "minimum": 1},
            "sort": {"enum": ["came", "age"]},
        },
        argument="plan",
        reads=True,
    ),
    CommandTool(
        name="why",
        description="Show the complete history of an event or a TODO.",
        parameters={"event": _TEXT, "plan": _ONLY_PLAN},
        argument="event",
        required=("event",),
        reads=True,
    ),
    CommandTool(
        name="plans",
        description="List the plans: their ids, titles, branches and pull requests.",
        parameters={},
        command="status",
        reads=True,
    ),
    CommandTool(
        name="emit",
        description="Append an event to a plan, in the operator's name unless an author is given.",
        parameters={
            "plan": _TEXT,
            "body": _TEXT,
            "type": _TEXT,
            "author": _TEXT,
            "trust": _TEXT,
            "id": _TEXT,
            "title": _TEXT,
            "url": _TEXT,
            "severity": {"enum": ["info", "warning", "error"]},
        },
        argument="plan",
        required=("plan", "body"),
    ),
    CommandTool(
        name="retry",
        description="Make waiting events due now, and try failed actions again.",
        parameters={**_SEVERAL, "deferred": _FLAG, "parked": _FLAG},
        argument="events",
    ),
    CommandTool(
        name="approve",
        description="Approve held events, so that plugins and agents may read them.",
        parameters={
            **_SEVERAL,
            "release": {"type": "boolean", "description": "send a withheld action as it is, with everything in it"},
        },
        argument="events",
        asks=True,
    ),
    CommandTool(
        name="drop",
        description="Drop events permanently, with a reason.",
        parameters={**_SEVERAL, "reason": _TEXT},
        argument="events",
        required=("reason",),
        asks=True,
    ),
    CommandTool(
        name="pause",
        description="Stop the work on plans.",
        parameters={"plans": _TEXTS, "all": _FLAG},
        argument="plans",
        asks=True,
    ),
    CommandTool(
        name="resume",
        description="Resume the work on plans.",
        parameters={
            "plans": _TEXTS,
            "all": _FLAG,
            "commit": {"type": "boolean", "description": "first commit the worktree's changes, as the person's own"},
            "stash": {"type": "boolean", "description": "first put the worktree's changes onto git's stash"},
        },
        argument="plans",
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
