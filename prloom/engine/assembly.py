"""Put a dispatcher together from the operator's configuration."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from prloom.config.models import BridgeSection, Config, CustomBridgeSection
from prloom.core import naming
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.activity.unended_runs import UnendedRuns
from prloom.engine.background import selected_daemons
from prloom.engine.background.daemon_host import DaemonHost
from prloom.engine.background.daemons import Daemons
from prloom.engine.background.selected_daemons import ORDER_DAEMON, DaemonParts
from prloom.engine.bus import plans
from prloom.engine.bus.event_store import Clock
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.agents import AgentTriager
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin
from prloom.engine.plan.runtime import rules
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.tools import services
from prloom.engine.tools.executable import PluginFolder
from prloom.engine.tools.run_activity import RunActivity
from prloom.engine.work.todo_worker import TodoWorker
from prloom.errors import WorkspaceError
from prloom.extensions import bridges, discovery, filters
from prloom.extensions.bridges import LoadedBridges
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.filters import PluginOptions, PluginSelection
from prloom.extensions.host.inline import InlineHost
from prloom.extensions.host.interface import PluginHost
from prloom.extensions.host.process import ProcessHost
from prloom.model.record import Json
from prloom.model.tool import ToolSpec
from prloom.storage import disk
from prloom.storage.disk import SHARED
from prloom.workspace import repository

log = logging.getLogger(__name__)


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
    loaded = load_bridges(root, config)
    disk.allow_many_files()
    where = plans.locate(root, config.worktrees_dir)
    registry = PlanRegistry(where, general, clock, disk=SHARED)
    activity = ActivityLog(where, clock, environ)
    pool = AgentPool(
        root=root,
        environ=environ,
        parallel=config.dispatcher.max_parallel_plans,
        workers=config.agents.workers,
        exchange=config.exchange.url,
        local=config.exchange.local,
        activity=activity,
    )
    selection = select(root, config, environ)
    table = partial(_settings_now, load_again or (lambda: config), selection)
    daemons = selected_daemons.make(
        selection.chosen, DaemonParts(root, registry.local, environ, clock, activity, table)
    )
    plugins, triager = plugin_set(root, config, environ, daemons), AgentTriager(pool, registry.read_plan)
    tools = services.assemble(
        registry,
        plugins,
        triager.services,
        RunActivity(activity),
        plugin_folders=_folders(selection),
        environ=environ,
        call_daemon=daemons.call,
        operator_methods={ORDER_DAEMON: partial(selected_daemons.ordered, daemons)},
    )
    pool.tools = tools.services
    return Dispatcher(
        registry,
        plugin_set=plugins,
        bridges=loaded,
        triager=triager,
        todo_worker=TodoWorker(pool),
        companions=(UnendedRuns(activity), tools.socket, daemons),
        people=tools.people,
        rules=general,
        clock=clock,
        environ=environ,
    )


def _settings_now(load: Callable[[], Config], selection: PluginSelection, key: str) -> Mapping[str, Json]:
    """Return a plugin's table of settings as the configuration has it now."""
    return filters.settings_of(key, plugin_options(load()), [found.key for found in selection.chosen])


def _folders(selection: PluginSelection) -> Mapping[str, PluginFolder]:
    """Return the folders of the plugins that run."""
    return {
        found.key: PluginFolder(Path(found.path), found.manifest.requires_env if found.manifest else ())
        for found in selection.chosen
        if found.path
    }


def load_bridges(root: Path, config: Config) -> LoadedBridges:
    """Return the bridges that the configuration names."""
    tables = {name: _table(section) for name, section in config.bridges.named().items()}
    if "github" in tables and not tables["github"].get("repo"):
        tables["github"]["repo"] = _repository_at_origin(root, config.bridges.github.api_url)
    return bridges.load(tables, repo_root=root)


def _repository_at_origin(root: Path, api_url: str) -> str:
    """Return `owner/name` of the repository if origin is on GitHub, else an empty text: the bridge is idle."""
    try:
        url = repository.origin_url(repository.find(root))
    except WorkspaceError:
        return ""
    if url:
        return naming.owner_and_name(url, api_url) or ""
    return ""


def _table(section: BridgeSection) -> dict[str, object]:
    """Return a bridge's table; a poll interval that is not configured is left out, so that the bridge's own counts."""
    table: dict[str, object] = {"enabled": section.enabled, **section.settings}
    if "poll_interval" in section.model_fields_set:
        table["poll_interval"] = section.poll_interval
    if isinstance(section, CustomBridgeSection):
        table["module"] = section.module
    return table


def select(root: Path, config: Config, environ: Mapping[str, str]) -> PluginSelection:
    """Return which plugins run, and why the others do not; no code of any is run by that."""
    found = discovery.discover(discovery.plugin_paths(root, environ))
    return filters.select(found, plugin_options(config), environ)


def plugin_options(config: Config) -> PluginOptions:
    """Return what the configuration says of plugins."""
    plugins = config.plugins
    return PluginOptions(
        enabled=plugins.enabled,
        disabled=plugins.disabled,
        order=plugins.order,
        settings={name: dict(settings.own) for name, settings in plugins.settings.items()},
    )


def plugin_set(root: Path, config: Config, environ: Mapping[str, str], daemons: Daemons | None = None) -> PluginSet:
    """Return the plugins that run, each with its host; nothing of them has run yet. Without `daemons`, none answers."""
    selection = select(root, config, environ)
    for warning in selection.warnings:
        if warning not in selection.missing.values():  # which the plugin set reports as failures
            log.warning("%s", warning)
    table = partial(_settings_now, lambda: config, selection)
    plugins = [
        RunningPlugin(
            found.key,
            found.source,
            _with_daemon(found, partial(_host, found, table(found.key), root, config, environ), daemons),
            config.plugins.settings_of(found.key).on_error,
            _tools(found),
        )
        for found in selection.chosen
    ]
    return PluginSet(plugins, selection.failures)


def _tools(found: DiscoveredPlugin) -> tuple[ToolSpec, ...]:
    """Return the tools that a plugin's manifest declares."""
    if found.manifest is None:
        return ()
    return tuple(
        ToolSpec(
            name=tool.name,
            kind=tool.type,
            plugin=found.key,
            description=tool.description,
            schema=tool.schema,
            visible_to=tool.visible_to,
            requires_confirmation=tool.requires_confirmation,
            timeout_ms=tool.timeout,
            command=tool.command,
            args=tool.args,
            method=tool.method,
        )
        for tool in found.manifest.tools
    )


def _with_daemon(found: DiscoveredPlugin, host: Callable[[], PluginHost], daemons: Daemons | None) -> PluginHost:
    """Return the host of a plugin's code, or of its daemon and its code, if it has any."""
    if not filters.runs_daemon(found) or found.manifest is None:
        return host()
    code, daemon = None, None
    if not found.is_daemon_only:
        code = host()
    if daemons is not None:
        daemon = daemons[found.key]
    return DaemonHost(found.key, found.manifest, daemon, code)


def _host(
    found: DiscoveredPlugin, settings: Mapping[str, Json], root: Path, config: Config, environ: Mapping[str, str]
) -> PluginHost:
    if config.plugins.isolation == "inline":
        return InlineHost(found, settings)
    memory = config.plugins.memory_limit
    return ProcessHost(found, settings, repo_root=root, environ=environ, memory=memory)
