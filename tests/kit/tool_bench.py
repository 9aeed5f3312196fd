"""A dispatcher with a socket and a run that goes on, and a real MCP client of `prloom mcp --run`."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import mcp_client
from mcp.client.client import Client
from stage import Stage

from prloom.agents import mcp_server, run_folder
from prloom.agents.agent import RunResult
from prloom.agents.run_spec import RunLimits, RunSpec
from prloom.engine import component
from prloom.engine.assembly import tools
from prloom.engine.assembly.tools import CallTargets, ProcessChecks, ToolParts
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin
from prloom.engine.plan.rules import rules
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.tools.executable import PluginFolder
from prloom.model.record import Json
from prloom.model.tool import ToolCall, ToolSpec


class Notes:
    """An activity log that keeps what it was given."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Mapping[str, Json]]] = []
        self.hidden: dict[str, str] = {}

    def hide(self, what: str, secret: str) -> Callable[[], None]:
        self.hidden[what] = secret
        return lambda: self.hidden.__delitem__(what)

    def record(self, type_: str, data: Mapping[str, Json], *, about: ToolCall, parent_id: str | None = None) -> str:
        self.events.append((type_, data))
        return f"{about.run_id}:{len(self.events)}"

    def of(self, *types: str) -> list[Mapping[str, Json]]:
        return [data for type_, data in self.events if type_ in types]

    @property
    def types(self) -> list[str]:
        return [type_ for type_, _ in self.events]


class ToolBench:
    """The tools of a stage's dispatcher, whose plugins the test writes; every process may use every token here."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.notes = Notes()
        self.run_of: Any = lambda pid: None
        self.belongs: Any = lambda session, peer: True
        self.folders: dict[str, PluginFolder] = {}
        self.call_daemon: Any = None
        self.manifest_tools: dict[str, tuple[ToolSpec, ...]] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[ToolParts]:
        """Have a dispatcher's socket at work."""
        stage = self.stage
        general = rules(stage.config)
        registry = PlanRegistry(stage.paths, general, stage.clock)
        plugins = PluginSet(
            [
                RunningPlugin(host.key, "test", host, "defer", self.manifest_tools.get(host.key, ()))
                for host in stage.hosts
            ]
        )
        registry.plugins = plugins.keys
        registry.update(general)
        self.registry, self.plugins = registry, plugins
        parts = tools.assemble(
            registry,
            plugins,
            stage.triager.services,
            self.notes,
            targets=CallTargets(self.folders, os.environ, self.call_daemon),
            operator_methods={},
            checks=ProcessChecks(self.belongs, self.run_of),
        )
        await component.start(plugins, (parts.socket,))
        try:
            yield parts
        finally:
            await component.close(plugins, (parts.socket,))
            registry.close()

    def prepare(self, parts: ToolParts, run: str = "run-1", plan: str = "pr-7", stage: str = "worker") -> Path:
        """Make the folder of a run, as the dispatcher does."""
        folder = self.stage.local(plan) / "runs" / run
        folder.parent.mkdir(exist_ok=True)
        if folder.exists():
            return folder
        spec = RunSpec(argv=(), cwd="", environment=(), limits=RunLimits(), stage=stage, plan=plan)
        server = mcp_server.of_run(folder, self.stage.root, timedelta(seconds=60))
        config = mcp_server.config(server, parts.services.access())
        run_folder.create(folder, {run_folder.INVOCATION: run_folder.encode(spec), mcp_server.CONFIG: config})
        return folder

    @asynccontextmanager
    async def running(self, parts: ToolParts, folder: Path, plan: str = "pr-7") -> AsyncIterator[None]:
        """Have a run go on."""
        async with parts.services.session(folder, "claude", plan, found=False) as ending:
            yield
            ending.ended(RunResult(status="ok", message="done"))

    @asynccontextmanager
    async def run(self) -> AsyncIterator[tuple[ToolParts, Path]]:
        """Have a dispatcher's socket at work, and a run go on; yield the run's folder too."""
        async with self.open() as parts:
            folder = self.prepare(parts)
            async with self.running(parts, folder):
                yield parts, folder


def server_of(folder: Path) -> dict[str, Any]:
    """Return how an agent's program starts the server of a run: with nothing but what its file says."""
    entry = json.loads((folder / mcp_server.CONFIG).read_text())["mcpServers"]["prloom"]
    program = entry["args"].index("prloom")
    return {"args": entry["args"][program + 1 :], "cwd": folder, "env": entry["env"], "errors": folder / "client.log"}


def client(folder: Path) -> AbstractAsyncContextManager[Client]:
    """Have a client of the server of a run."""
    return mcp_client.connected(**server_of(folder))


async def call(parts: ToolParts, folder: Path, name: str, **arguments: Any) -> dict[str, Json]:
    """Call a tool as the server of a run does, without a process."""
    session = parts.services.sessions.running(folder.name)
    assert session is not None
    run = parts.services.open_client(session)
    result: dict[str, Json] = await run.answer("callTool", {"key": "k", "name": name, "arguments": arguments})
    return result
