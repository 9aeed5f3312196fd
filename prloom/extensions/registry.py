"""List every plugin: whether it runs, what it offers, and why it does not run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prloom.api import hooks
from prloom.api.manifest import Manifest
from prloom.extensions import discovery, filters
from prloom.extensions.discovery import DiscoveredPlugin, PluginSource
from prloom.extensions.filters import PluginOptions, PluginSelection, SkippedPlugin
from prloom.extensions.host.interface import OfferedTool, Registered

LoadState = Literal["on", "off", "failed"]


@dataclass(frozen=True)
class PluginEntry:
    """A plugin as it is listed. `reason` says why it is off or has failed.

    What it offers is what it registered, or, while it has not been loaded, what its manifest announces.
    """

    name: str
    source: PluginSource
    place: str
    state: LoadState
    reason: str | None = None
    version: str = ""
    description: str = ""
    hooks: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    background: bool = False


def select_plugins(repo_root: Path, options: PluginOptions, environ: Mapping[str, str]) -> PluginSelection:
    """Return which plugins of this repository, user and machine run, and why the others do not; none is executed."""
    return filters.select(discovery.discover(discovery.plugin_paths(repo_root, environ)), options, environ)


def entries(
    selection: PluginSelection, loaded: Mapping[str, Registered | str] | None = None
) -> tuple[PluginEntry, ...]:
    """Return all plugins: those that run, in their order, then those that fail, then those that are off, by key.

    `loaded` says of those that were loaded, by key, what they registered, or the error that they ended with.
    """
    known = loaded or {}
    on = [_chosen(found, known.get(found.key)) for found in selection.chosen]
    left = [_entry(each.found, "failed" if each.failed else "off", _why(each)) for each in selection.left]
    return (*on, *sorted(left, key=lambda entry: (entry.state == "off", entry.name, entry.place)))


def clashes(loaded: Mapping[str, Registered]) -> Mapping[str, tuple[str, ...]]:
    """Return, by plugin, a warning for each slash command that an earlier plugin has; plugins come in their order."""
    owners: dict[str, str] = {}
    warnings: dict[str, tuple[str, ...]] = {}
    for key, registered in loaded.items():
        for command in registered.commands:
            owner = owners.setdefault(command.casefold(), key)
            if owner != key:
                text = f"plugin {key}: plugin {owner} has the command /{command} too and comes first"
                warnings[key] = (*warnings.get(key, ()), f"{text}; plugins.order changes that")
    return warnings


def _why(left: SkippedPlugin) -> str:
    """Return why a plugin does not run; a broken one that is off is reported before it is enabled."""
    error = left.found.error
    if error and not left.failed:
        return f"{left.reason}; it is broken: {error}"
    return left.reason


def _chosen(found: DiscoveredPlugin, loaded: Registered | str | None) -> PluginEntry:
    if isinstance(loaded, str):
        return _entry(found, "failed", loaded)
    return _entry(found, "on", None, loaded)


def _entry(
    found: DiscoveredPlugin,
    state: LoadState,
    reason: str | None,
    registered: Registered | None = None,
) -> PluginEntry:
    manifest = found.manifest or Manifest(name=found.key)
    offered = registered or _announced(manifest)
    return PluginEntry(
        name=found.key,
        source=found.source,
        place=found.place,
        state=state,
        reason=reason,
        version=manifest.version,
        description=manifest.description,
        background=manifest.background is not None,
        hooks=offered.hooks,
        commands=tuple(offered.commands),
        tools=tuple(offered.tools),
        skills=tuple(offered.skills),
        warnings=registered.warnings if registered else found.warnings,
    )


def _announced(manifest: Manifest) -> Registered:
    return Registered(
        hooks=tuple(filter(None, map(hooks.canonical, manifest.provides_hooks))),
        commands={name.removeprefix("/"): "" for name in manifest.provides_commands},
        tools={name: OfferedTool() for name in manifest.provides_tools},
    )
