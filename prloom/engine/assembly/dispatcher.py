"""Put a dispatcher together from the operator's configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from prloom.agents import run_ancestry
from prloom.config.models import Config
from prloom.engine import configured_bridges
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.activity.unended_runs import UnendedRuns
from prloom.engine.assembly import plugin_requests, tools
from prloom.engine.assembly.plugin_requests import RequestParts
from prloom.engine.assembly.plugins import folders, load_plugins, select_plugins, settings_now
from prloom.engine.assembly.tools import CallTargets, ProcessChecks, ToolParts
from prloom.engine.background import selected_daemons
from prloom.engine.background.daemon_report import DaemonReports
from prloom.engine.background.daemons import Daemons
from prloom.engine.background.selected_daemons import ORDER_DAEMON, DaemonParts
from prloom.engine.bus import plans
from prloom.engine.bus.event_store import Clock
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.agents import AgentTriager
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.rules import rules
from prloom.engine.plan.todo_lists import TodoLists
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.plugin_requests import operator_actions
from prloom.engine.plugin_requests.action_names import ActionNames
from prloom.engine.plugin_requests.registered_actions import RegisteredActions
from prloom.engine.tools.run_activity import RunActivity
from prloom.engine.work.todo_worker import TodoWorker
from prloom.extensions.filters import PluginSelection
from prloom.storage import disk, paths
from prloom.storage.disk import SHARED
from prloom.storage.document import Document


@dataclass(frozen=True)
class Base:
    """What all parts of a dispatcher are made of."""

    root: Path
    config: Config
    environ: Mapping[str, str]
    clock: Clock
    registry: PlanRegistry
    activity: ActivityLog
    selection: PluginSelection


@dataclass(frozen=True)
class PluginParts:
    """The plugins of a dispatcher: their hosts and daemons, what these have requested, and the actions they offer."""

    plugin_set: PluginSet
    daemons: Daemons
    requests: RequestParts
    actions: RegisteredActions


def now() -> datetime:
    """Return the time; the one clock of a dispatcher that really runs."""
    return datetime.now(UTC)


def assemble(
    root: Path,
    config: Config,
    *,
    environ: Mapping[str, str] = os.environ,
    clock: Clock = now,
    load_again: Callable[[], Config] | None = None,
) -> Dispatcher:
    """Return the dispatcher of a repository, which holds its lock from now on.

    `load_again` reads the configuration anew, for the settings of a daemon that is started later.
    Raises AlreadyRunningError where another one has it, and ExtensionError where two bridges claim one target.
    """
    general = rules(config)
    loaded = configured_bridges.load(root, config)
    disk.allow_many_files()
    where = plans.locate(root, config.worktrees_dir)
    registry = PlanRegistry(where, general, clock, disk=SHARED)
    activity = ActivityLog(where, clock, environ)
    registry.show_todos = TodoLists(activity).update
    base = Base(root, config, environ, clock, registry, activity, select_plugins(root, config, environ))
    plugins = _plugins(base, load_again or (lambda: config))
    pool = _pool(base)
    registry.run_waits = pool.waits.waiting
    triager = AgentTriager(pool, registry.read_plan)
    run_tools = _tools(base, plugins, triager)
    pool.tools = run_tools.services
    return Dispatcher(
        registry,
        plugin_set=plugins.plugin_set,
        bridges=loaded,
        triager=triager,
        todo_worker=TodoWorker(pool),
        components=(UnendedRuns(activity), run_tools.socket, plugins.daemons),
        people=run_tools.people,
        rules=general,
        clock=clock,
        environ=environ,
    )


def _plugins(base: Base, load_again: Callable[[], Config]) -> PluginParts:
    """Return the plugins with their daemons, and what is known of what they request."""
    settings = partial(settings_now, load_again, base.selection)
    local = base.registry.local
    reports = DaemonReports(local)
    requests = plugin_requests.parts(base.registry, base.activity, reports.changed)
    given = DaemonParts(
        base.root, local, base.environ, base.clock, base.activity, settings, reports, requests.grants, requests.log.of
    )
    daemons = selected_daemons.make(base.selection.chosen, given)
    names = ActionNames(Document(local.make_sub(paths.BUS, paths.BUS_STATE), paths.ACTION_NAMES))
    actions = RegisteredActions(daemons.call, requests.chains, requests.record, names)
    plugin_set = load_plugins(base.root, base.config, base.environ, daemons, actions, selection=base.selection)
    actions.plugins = plugin_set
    plugin_requests.watch(base.activity.publisher, requests.chains, daemons, plugin_set)
    return PluginParts(plugin_set, daemons, requests, actions)


def _tools(base: Base, plugins: PluginParts, triager: AgentTriager) -> ToolParts:
    """Return the tools of runs, and the socket at which runs, daemons and the operator's commands ask."""
    daemons, actions, config = plugins.daemons, plugins.actions, base.config
    return tools.assemble(
        base.registry,
        plugins.plugin_set,
        triager.services,
        RunActivity(base.activity),
        targets=CallTargets(folders(base.selection), base.environ, daemons.call),
        operator_methods={
            ORDER_DAEMON: partial(selected_daemons.ordered, daemons),
            operator_actions.RUN: partial(operator_actions.run, actions, base.registry, config.plugins.hook_timeout),
        },
        checks=ProcessChecks(run_of=partial(_started_by, daemons)),
        authorities=(plugin_requests.authority(plugins.requests, config, daemons, actions, triager.run_named),),
    )


def _started_by(daemons: Daemons, pid: int) -> str | None:
    """Return what shows that no person has started a process: a run of an agent, or a plugin's daemon."""
    run = run_ancestry.run_of(pid)
    if run is not None:
        return run
    plugin = daemons.owner(pid)
    if plugin is None:
        return None
    return f"the daemon of plugin {plugin}"


def _pool(base: Base) -> AgentPool:
    """Return the pool in which the runs of agents go on."""
    config = base.config
    return AgentPool(
        root=base.root,
        environ=base.environ,
        parallel=config.dispatcher.max_parallel_plans,
        workers=config.agents.workers,
        exchange=config.exchange.url,
        local=config.exchange.local,
        keep=config.exchange.keep,
        activity=base.activity,
    )
