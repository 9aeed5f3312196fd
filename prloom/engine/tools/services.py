"""Put together what gives the runs of a dispatcher their tools, and open the dispatcher's socket for them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from prloom.agents import run_folder
from prloom.agents.agent import RunResult
from prloom.agents.mcp_server import Access
from prloom.agents.run_spec import RunSpec
from prloom.config.models import Config
from prloom.engine.host_socket import server
from prloom.engine.host_socket.server import ClientSession, HostSocket
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.run_tools import RunEnding
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.tools import own_tools, people, session_hooks
from prloom.engine.tools.allowed_tools import AllowedTools
from prloom.engine.tools.call_sequence import CallActivity, CallScene, Handler, PythonHandler, ToolCaller
from prloom.engine.tools.catalog import ToolCatalog
from prloom.engine.tools.confirmations import Confirmations
from prloom.engine.tools.executable import ExecutableHandler, PluginFolder
from prloom.engine.tools.operator_client import OperatorAuthority, OperatorMethod, RunOf
from prloom.engine.tools.people import People
from prloom.engine.tools.rpc_handler import CallDaemon, RpcHandler
from prloom.engine.tools.run_client import RunClient
from prloom.engine.tools.run_sessions import Belongs, RunSession, RunSessions
from prloom.engine.tools.session_hooks import ServicesOf
from prloom.model.tool import SESSION_END, SESSION_START, Session, SessionResult
from prloom.storage import paths
from prloom.storage.document import Document

log = logging.getLogger(__name__)

_MARGIN: Final = timedelta(minutes=2)
"""Time for guards, and for the way, beside what a call waits for a person and the time that its tool takes."""


class Ending:
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
        socket: Path,
        confirmations: Confirmations,
        caller: ToolCaller,
        belongs: Belongs | None = None,
    ) -> None:
        self.confirmations = confirmations
        self.sessions = RunSessions(socket, self._open_client, caller.activity.hide, belongs)
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
    async def session(self, folder: Path, agent: str, plan_id: str, *, found: bool) -> AsyncIterator[RunEnding]:
        """Know a run until the block ends, and show plugins its begin and its end.

        A run that an earlier dispatcher began was shown already.
        """
        spec = run_folder.load(folder, run_folder.INVOCATION, RunSpec)
        stage = ""
        if spec is not None:
            stage = spec.stage
        about = Session(run_id=folder.name, stage=stage, agent=agent)
        running = self.sessions.begin(folder, plan_id=plan_id, stage=stage, agent=agent)
        ending = Ending()
        try:
            if not found:
                await self._show(SESSION_START, about, plan_id)
            yield ending
        finally:
            if running is not None:
                self.sessions.end(running)
        if ending.result is not None:
            await self._show(SESSION_END, _ended(about, ending.result), plan_id)

    def _open_client(self, session: RunSession) -> ClientSession:
        runtime = self._plans.get(session.plan_id)
        scene = None
        if runtime is not None:
            scene = CallScene(runtime, self._services(runtime))
        return RunClient(session, self._caller, scene)

    async def _show(self, hook: str, about: Session, plan_id: str) -> None:
        runtime = self._plans.get(plan_id)
        if runtime is not None:
            await session_hooks.run(hook, about, runtime, self._plugins, self._services)


def _ended(about: Session, result: RunResult) -> Session:
    told = SessionResult(status=result.status, error=result.error or result.trouble, message=result.message)
    return Session(run_id=about.run_id, stage=about.stage, agent=about.agent, result=told)


@dataclass(frozen=True)
class ToolParts:
    """What a dispatcher has of the tools: `services` for its pool, the `socket` beside it, and the `people`."""

    services: ToolServices
    socket: HostSocket
    people: People


def assemble(
    board: PlanRegistry,
    plugins: PluginSet,
    services_of: ServicesOf,
    activity: CallActivity,
    *,
    plugin_folders: Mapping[str, PluginFolder],
    environ: Mapping[str, str],
    call_daemon: CallDaemon,
    operator_methods: Mapping[str, OperatorMethod] | None = None,
    belongs: Belongs | None = None,
    run_of: RunOf | None = None,
) -> ToolParts:
    """Return the tools of a dispatcher; raises ExtensionError where its socket has no folder.

    `plugin_folders` and `environ` are for executable tools, `call_daemon` calls a method of a plugin's daemon.
    `operator_methods` answer other methods of the operator's commands.
    `belongs` and `run_of` decide which process may use a run's token, and which one is an agent's.
    """
    state = board.local.make_sub(paths.BUS, paths.BUS_STATE)
    waiting = Confirmations(AllowedTools(board.local), activity, board.clock, Document(state, paths.REQUESTS))
    asked = People(waiting)
    running: list[RunSessions] = []
    spent = own_tools.Budget(board.paths.root, lambda: [plan for each in running for plan in each.plans])
    answers = {
        own_tools.PLAN.name: own_tools.plan,
        own_tools.EVENTS.name: own_tools.events,
        own_tools.NOTE.name: own_tools.note,
        own_tools.BUDGET.name: spent.answer,
        people.ASK.name: asked.question,
    }
    handlers: dict[str, Handler] = {
        "own": own_tools.OwnHandler(answers),
        "python": PythonHandler(plugins),
        "executable": ExecutableHandler(plugin_folders, environ),
        "background_rpc": RpcHandler(call_daemon),
    }
    own = (own_tools.PLAN, own_tools.EVENTS, people.ASK, own_tools.NOTE, own_tools.BUDGET)
    catalog = ToolCatalog(plugins, own)
    caller = ToolCaller(catalog, plugins, handlers, waiting, activity)
    folder = server.folder(board.paths.root)
    made = ToolServices(
        plugins,
        board.runtimes,
        services_of,
        socket=folder / server.NAME,
        confirmations=waiting,
        caller=caller,
        belongs=belongs,
    )
    running.append(made.sessions)
    operator = OperatorAuthority(waiting, methods=operator_methods or {})
    if run_of is not None:
        operator = OperatorAuthority(waiting, run_of, operator_methods or {})
    return ToolParts(made, HostSocket(folder, (made.sessions, operator)), asked)
