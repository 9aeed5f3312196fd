"""List the plugins and the bridges of a repository; no plugin's code is run for it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from prloom.config.models import Config
from prloom.engine import configured_bridges
from prloom.engine.assembly.plugins import select_plugins
from prloom.engine.views import runtime_status
from prloom.engine.views.status_schema import BridgeStatus
from prloom.extensions import registry
from prloom.extensions.host.interface import OfferedSkill, OfferedTool, Registered
from prloom.extensions.registry import LoadState, PluginEntry
from prloom.model.record import Record, Timestamp
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir


class PluginLine(Record, frozen=True, kw_only=True):
    """A plugin as it is listed: `state` is enabled, disabled or failed, and `reason` says why it is not the first.

    What it offers is what its manifest announces, until a dispatcher has `loaded` it.
    """

    name: str
    source: str
    state: str
    reason: str | None
    error: str | None
    version: str
    description: str
    path: str
    loaded: bool
    hooks: tuple[str, ...]
    commands: tuple[str, ...]
    tools: tuple[str, ...]
    skills: tuple[str, ...]
    warnings: tuple[str, ...]
    background: bool = False


class Offered(Record, frozen=True, kw_only=True):
    """What the dispatcher last published of a plugin; one that was not `chosen` could not even be loaded."""

    name: str
    chosen: bool = True
    loaded: bool = False
    error: str | None = None
    hooks: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class BridgeLine(Record, frozen=True, kw_only=True):
    """A bridge as it is listed: whether it is enabled, what it claims, and how its last poll went."""

    name: str
    source: str
    enabled: bool
    targets: tuple[str, ...]
    error: str | None
    last_poll_at: Timestamp | None
    last_ok_at: Timestamp | None
    idle: str | UnsetType = UNSET


_STATES: Mapping[LoadState, str] = {"on": "enabled", "off": "disabled", "failed": "failed"}


class PluginList(Record, frozen=True, kw_only=True):
    """All plugins: those that run, in their order, then those that fail, then those that are off.

    `warnings` are about names in the configuration that no plugin has.
    """

    plugins: tuple[PluginLine, ...]
    warnings: tuple[str, ...] = ()


def plugins(repository: RepositoryPaths, config: Config, environ: Mapping[str, str]) -> PluginList:
    """Return all plugins of the repository, the user and the machine."""
    offered = _published(repository, paths.PLUGINS, "plugins", Offered)
    published = {plugin.name: plugin for plugin in offered if plugin.chosen}
    loaded = {name: _loaded(plugin) for name, plugin in published.items() if plugin.loaded or plugin.error}
    selection = select_plugins(repository.root, config, environ)
    lines = tuple(_plugin(entry, published.get(entry.name)) for entry in registry.entries(selection, loaded))
    return PluginList(plugins=lines, warnings=selection.warnings)


def bridges(repository: RepositoryPaths, config: Config) -> tuple[BridgeLine, ...]:
    """Return all bridges: those that are used, those that cannot be loaded, and those that are disabled.

    They are loaded for this, as `prloom start` does, but not polled. Raises ExtensionError where two claim
    one target.
    """
    polls = {bridge.name: bridge for bridge in _published(repository, paths.BRIDGES, "bridges", BridgeStatus)}
    found = configured_bridges.load(repository.root, config)
    lines = [
        BridgeLine(
            name=bridge.name,
            source=bridge.source,
            enabled=True,
            targets=bridge.targets,
            error=None,
            last_poll_at=None,
            last_ok_at=None,
        )
        for bridge in found.loaded
    ]
    lines += [_unused(name, enabled=True, error=error) for name, error in found.failed]
    lines += [_unused(name, enabled=False, error=None) for name in found.disabled]
    return tuple(_with_polls(line, polls.get(line.name)) for line in lines)


def _published(
    repository: RepositoryPaths, name: str, key: str, shape: type[runtime_status.R]
) -> tuple[runtime_status.R, ...]:
    local = SafeDir.open(repository.root, *paths.LOCAL)
    if local is None:
        return ()
    with local:
        return runtime_status.of(local, name, key, shape)


def _loaded(plugin: Offered) -> Registered | str:
    if plugin.error is not None:
        return plugin.error
    return Registered(
        hooks=plugin.hooks,
        commands=dict.fromkeys(plugin.commands, ""),
        tools=dict.fromkeys(plugin.tools, OfferedTool()),
        skills=dict.fromkeys(plugin.skills, OfferedSkill(path="")),
        warnings=plugin.warnings,
    )


def _plugin(entry: PluginEntry, published: Offered | None) -> PluginLine:
    return PluginLine(
        name=entry.name,
        source=entry.source,
        state=_STATES[entry.state],
        reason=entry.reason,
        error=entry.reason if entry.state == "failed" else None,
        version=entry.version,
        description=entry.description,
        background=entry.background,
        path=entry.place,
        loaded=published is not None and published.loaded and entry.state == "on",
        hooks=entry.hooks,
        commands=entry.commands,
        tools=entry.tools,
        skills=entry.skills,
        warnings=entry.warnings,
    )


def _unused(name: str, *, enabled: bool, error: str | None) -> BridgeLine:
    return BridgeLine(
        name=name, source="", enabled=enabled, targets=(), error=error, last_poll_at=None, last_ok_at=None
    )


def _with_polls(line: BridgeLine, polls: BridgeStatus | None) -> BridgeLine:
    if polls is None or not line.enabled:
        return line
    error = line.error or polls.error
    return replace(line, last_poll_at=polls.last_poll_at, last_ok_at=polls.last_ok_at, error=error, idle=polls.idle)
