"""Give the runs of a dispatcher their tools."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

from prloom.agents import run_folder
from prloom.agents.agent import RunResult
from prloom.agents.mcp_server import Access
from prloom.agents.run_spec import RunSpec
from prloom.config.models import Config
from prloom.engine.host_socket.server import ClientSession
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.run_tools import ResultReceiver
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.tools import session_hooks
from prloom.engine.tools.call_sequence import CallScene, ToolCaller
from prloom.engine.tools.run_client import RunClient
from prloom.engine.tools.run_sessions import RunSession, RunSessions
from prloom.engine.tools.session_hooks import ServicesOf
from prloom.model.hook_points import SESSION_END, SESSION_START, HookName
from prloom.model.tool import Session, SessionResult

log = logging.getLogger(__name__)

_MARGIN: Final = timedelta(minutes=2)
"""Time for guards, and for the way, beside what a call waits for a person and the time that its tool takes."""


class ReceivedResult:
    """What a run came to, once it is known."""

    def __init__(self) -> None:
        self.result: RunResult | None = None

    def ended(self, result: RunResult) -> None:
        """Note the result of the run."""
        self.result = result


class ToolServices:
    """The tools of a dispatcher's runs; implements `run_tools.RunTools`."""

    def __init__(
        self,
        plugins: PluginSet,
        plans: Mapping[str, PlanRuntime],
        services: ServicesOf,
        *,
        sessions: RunSessions,
        caller: ToolCaller,
    ) -> None:
        self.sessions = sessions
        self._plugins = plugins
        self._plans = plans
        self._services = services
        self._caller = caller

    def access(self) -> Access:
        """Return the access of a new run."""
        return self.sessions.access()

    def call_limit(self, config: Config) -> timedelta:
        """Return how long a call may take: the wait for a person, the longest time of a tool, and some more."""
        longest = max((tool.timeout_ms for tool in self._plugins.tools()), default=0)
        return config.tools.confirmation_timeout + timedelta(milliseconds=longest) + _MARGIN

    @asynccontextmanager
    async def session(self, folder: Path, agent: str, plan_id: str, *, found: bool) -> AsyncIterator[ResultReceiver]:
        """Know a run until the block ends, and show plugins its begin and its end.

        A run that an earlier dispatcher began was shown already.
        """
        spec = run_folder.load(folder, run_folder.INVOCATION, RunSpec)
        stage = ""
        if spec is not None:
            stage = spec.stage
        about = Session(run_id=folder.name, stage=stage, agent=agent)
        running = self.sessions.begin(folder, plan_id=plan_id, stage=stage, agent=agent)
        ending = ReceivedResult()
        try:
            if not found:
                await self._show(SESSION_START, about, plan_id)
            yield ending
        finally:
            if running is not None:
                self.sessions.end(running)
        if ending.result is not None:
            await self._show(SESSION_END, _ended(about, ending.result), plan_id)

    def open_client(self, session: RunSession) -> ClientSession:
        """Return what the MCP server of a run may ask."""
        runtime = self._plans.get(session.plan_id)
        scene = None
        if runtime is not None:
            scene = CallScene(runtime, self._services(runtime))
        return RunClient(session, self._caller, scene)

    async def _show(self, hook: HookName, about: Session, plan_id: str) -> None:
        runtime = self._plans.get(plan_id)
        if runtime is not None:
            await session_hooks.run(hook, about, runtime, self._plugins, self._services)


def _ended(about: Session, result: RunResult) -> Session:
    told = SessionResult(status=result.status, error=result.error or result.trouble, message=result.message)
    return Session(run_id=about.run_id, stage=about.stage, agent=about.agent, result=told)
