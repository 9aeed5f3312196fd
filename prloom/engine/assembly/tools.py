"""Put the tools of a dispatcher's runs together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from prloom.agents import run_ancestry
from prloom.engine.host_socket import server
from prloom.engine.host_socket.server import Authority, HostSocket
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.tools import own_tools, people
from prloom.engine.tools.allowed_tools import AllowedTools
from prloom.engine.tools.call_sequence import CallActivity, PythonHandler, ToolCaller, ToolHandler
from prloom.engine.tools.catalog import ToolCatalog
from prloom.engine.tools.confirmations import Confirmations
from prloom.engine.tools.executable import ExecutableHandler, PluginFolder
from prloom.engine.tools.operator_client import OperatorAuthority, OperatorMethod, RunOf
from prloom.engine.tools.own_tools import Budget, OwnHandler
from prloom.engine.tools.people import People
from prloom.engine.tools.rpc_handler import CallDaemon, RpcHandler
from prloom.engine.tools.run_authority import Belongs, RunAuthority
from prloom.engine.tools.run_questions import RunQuestions
from prloom.engine.tools.run_sessions import RunSessions
from prloom.engine.tools.services import ToolServices
from prloom.engine.tools.session_hooks import ServicesOf
from prloom.storage import paths
from prloom.storage.document import Document

OWN_TOOLS: Final = (own_tools.PLAN, own_tools.EVENTS, people.QUESTION_TOOL, own_tools.NOTE, own_tools.BUDGET)


@dataclass(frozen=True)
class ToolParts:
    """What a dispatcher has of the tools: `services` for its pool, the `socket` beside it, and the `people`."""

    services: ToolServices
    socket: HostSocket
    people: People


@dataclass(frozen=True)
class CallTargets:
    """What the calls of plugins' tools reach: executables in folders, with an environment, and methods of daemons."""

    plugin_folders: Mapping[str, PluginFolder]
    environ: Mapping[str, str]
    call_daemon: CallDaemon


@dataclass(frozen=True)
class ProcessChecks:
    """Whether a process may use a run's token, and which run has started a process."""

    belongs: Belongs | None = None
    run_of: RunOf = run_ancestry.run_of


def assemble(
    registry: PlanRegistry,
    plugins: PluginSet,
    services_of: ServicesOf,
    activity: CallActivity,
    *,
    targets: CallTargets,
    operator_methods: Mapping[str, OperatorMethod],
    authorities: Sequence[Authority] = (),
    checks: ProcessChecks = ProcessChecks(),
) -> ToolParts:
    """Return the tools of a dispatcher; raises ExtensionError where its socket has no folder.

    `operator_methods` answer other methods of the operator's commands, `authorities` admit further clients.
    """
    state = registry.local.make_sub(paths.BUS, paths.BUS_STATE)
    waiting = Confirmations(AllowedTools(registry.local), activity, registry.clock, Document(state, paths.REQUESTS))
    folder = server.folder(registry.paths.root)
    sessions = RunSessions(folder / server.NAME, activity.hide)
    goes_on = partial(sessions.goes_on, registry.paths)
    answering = People(waiting, RunQuestions(Document(state, paths.QUESTIONS), goes_on))
    budget = Budget(registry.paths.root, lambda: sessions.plans)
    caller = ToolCaller(
        ToolCatalog(plugins, OWN_TOOLS), plugins, _handlers(plugins, answering, budget, targets), waiting, activity
    )
    services = ToolServices(plugins, registry.runtimes, services_of, sessions=sessions, caller=caller)
    all_authorities: tuple[Authority, ...] = (
        RunAuthority(sessions, services.open_client, checks.belongs),
        OperatorAuthority(waiting, checks.run_of, operator_methods),
        *authorities,
    )
    return ToolParts(services, HostSocket(folder, all_authorities, registry.local), answering)


def _handlers(plugins: PluginSet, answering: People, budget: Budget, targets: CallTargets) -> Mapping[str, ToolHandler]:
    """Return what answers the calls of each kind of tool."""
    answers = {
        own_tools.PLAN.name: own_tools.plan,
        own_tools.EVENTS.name: own_tools.events,
        own_tools.NOTE.name: own_tools.note,
        own_tools.BUDGET.name: budget.answer,
        people.QUESTION_TOOL.name: answering.question,
    }
    return {
        "own": OwnHandler(answers),
        "python": PythonHandler(plugins),
        "executable": ExecutableHandler(targets.plugin_folders, targets.environ),
        "background_rpc": RpcHandler(targets.call_daemon),
    }
