"""Choose the plugins that run, and give each its host."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from prloom.config.models import Config
from prloom.engine.background.daemon_host import CommentActions, DaemonHost
from prloom.engine.background.daemons import Daemons
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin
from prloom.engine.tools.executable import PluginFolder
from prloom.extensions import discovery, filters
from prloom.extensions.background import daemon_warnings
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.filters import PluginOptions, PluginSelection
from prloom.extensions.host.inline import InlineHost
from prloom.extensions.host.interface import PluginHost
from prloom.extensions.host.process import ProcessHost
from prloom.model.record import Json
from prloom.model.tool import ToolSpec

log = logging.getLogger(__name__)


def select_plugins(root: Path, config: Config, environ: Mapping[str, str]) -> PluginSelection:
    """Return which plugins run, and why the others do not; no code of any is run by that."""
    found = discovery.discover(discovery.plugin_paths(root, environ))
    return filters.select(found, options(config), environ)


def options(config: Config) -> PluginOptions:
    """Return what the configuration says of plugins."""
    plugins = config.plugins
    return PluginOptions(
        enabled=plugins.enabled,
        disabled=plugins.disabled,
        order=plugins.order,
        settings={name: dict(settings.own) for name, settings in plugins.settings.items()},
        permissions=tuple(plugins.permissions),
    )


def settings_now(load: Callable[[], Config], selection: PluginSelection, key: str) -> Mapping[str, Json]:
    """Return a plugin's table of settings as the configuration has it now."""
    return filters.settings_of(key, options(load()), [found.key for found in selection.chosen])


def folders(selection: PluginSelection) -> Mapping[str, PluginFolder]:
    """Return the folders of the plugins that run."""
    return {
        found.key: PluginFolder(Path(found.path), found.manifest.requires_env if found.manifest else ())
        for found in selection.chosen
        if found.path
    }


def load_plugins(
    root: Path,
    config: Config,
    environ: Mapping[str, str],
    daemons: Daemons | None = None,
    actions: CommentActions | None = None,
    *,
    selection: PluginSelection | None = None,
) -> PluginSet:
    """Return the plugins that run, each with its host; nothing of them has run yet. Without `daemons`, none answers.

    They are looked for only where no `selection` is given.
    """
    selection = selection or select_plugins(root, config, environ)
    for warning in selection.warnings:
        if warning not in selection.missing.values():  # which the plugin set reports as failures
            log.warning("%s", warning)
    table = partial(settings_now, lambda: config, selection)
    plugins = [
        RunningPlugin(
            found.key,
            found.source,
            _with_daemon(
                found,
                partial(_host, found, table(found.key), root, config, environ),
                daemons,
                daemon_warnings.of(found, table(found.key), root, environ),
                actions,
            ),
            config.plugins.settings_of(found.key).on_error,
            declared_tools(found),
        )
        for found in selection.chosen
    ]
    return PluginSet(plugins, selection.failures)


def declared_tools(found: DiscoveredPlugin) -> tuple[ToolSpec, ...]:
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


def _with_daemon(
    found: DiscoveredPlugin,
    host: Callable[[], PluginHost],
    daemons: Daemons | None,
    warnings: tuple[str, ...],
    actions: CommentActions | None,
) -> PluginHost:
    """Return the host of a plugin's code, or of its daemon and its code, if it has any."""
    if not filters.runs_daemon(found) or found.manifest is None:
        return host()
    code, daemon = None, None
    if not found.is_daemon_only:
        code = host()
    if daemons is not None:
        daemon = daemons[found.key]
    return DaemonHost(found.key, found.manifest, daemon, code, warnings, actions=actions)


def _host(
    found: DiscoveredPlugin, settings: Mapping[str, Json], root: Path, config: Config, environ: Mapping[str, str]
) -> PluginHost:
    if config.plugins.isolation == "inline":
        return InlineHost(found, settings)
    memory = config.plugins.memory_limit
    return ProcessHost(found, settings, repo_root=root, environ=environ, memory=memory)
