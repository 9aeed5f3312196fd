"""Find what is wrong with what plugins bring: settings, subscriptions, tools, and what an agent program ignores."""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from prloom.agents import mcp_server, registry
from prloom.api.manifest import DeclaredTool
from prloom.config import stages
from prloom.config.models import Config
from prloom.engine.assembly import plugins
from prloom.engine.background.preparation import Preparation
from prloom.engine.background.secret_store import SecretStore
from prloom.engine.tools import arguments
from prloom.engine.views import doctor
from prloom.engine.views.doctor import Finding
from prloom.errors import ConfigError, ExtensionError, PrloomError
from prloom.extensions import filters
from prloom.extensions.background import daemon_warnings, environment, settings
from prloom.extensions.background.settings import Given, SettingsMissingError
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.model import kinds
from prloom.model.record import Json
from prloom.storage.paths import RepositoryPaths

_OF_CALLS: Final = (*kinds.TOOL_CALL, "PERMISSION_REQUEST", "PERMISSION_RESPONSE")
"""The types that prloom's own tools fire in runs that can call them."""

_OF_PLANS: Final = ("TODO_UPDATE",)
_OF_PLUGINS: Final = tuple(each for each in kinds.ACTIVITY_TYPES if each.startswith("PLUGIN_"))
_ANY: Final = mcp_server.of_run(Path("/run"), Path("/"), timedelta(minutes=1))

_CORRECT: Final = "correct the manifest"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def of_daemons(config: Config, root: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is wrong with the manifests, the settings and the subscriptions of plugins with a daemon."""
    selection = plugins.select_plugins(root, config, environ)
    options = plugins.options(config)
    known = [found.key for found in selection.chosen]
    agents = configured_agents(config, environ)
    for found in filter(filters.runs_daemon, selection.chosen):
        table = filters.settings_of(found.key, options, known)
        where = f"plugin {found.key}"
        for warning in daemon_warnings.of(found, table, root, environ):
            yield doctor.of_warning(warning, where, _CORRECT)
        yield from _of_start(found, root, environ)
        yield from _of_settings(found, table, SecretStore(root, environ), environ)
        yield from _of_subscriptions(found, agents)


def _of_start(found: DiscoveredPlugin, root: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is wrong with how a daemon is started."""
    try:
        Preparation(found, root, environ=environ).program()
    except PrloomError as error:
        text = f"its daemon cannot be started: {error}"
        yield from doctor.of_error(ExtensionError(text), f"plugin {found.key}")


def _of_settings(
    found: DiscoveredPlugin, table: Mapping[str, Json], secrets: SecretStore, environ: Mapping[str, str]
) -> Iterator[Finding]:
    if found.manifest is None:
        return
    where = f"plugin {found.key}"
    kept: Mapping[str, str] = {}
    try:
        if any(setting.secret for setting in found.manifest.config_schema.values()):
            kept = secrets.read(found.key)
        given = Given(table, kept, environ)
        settings.resolve(found.key, found.manifest.config_schema, given)
    except SettingsMissingError as error:
        what = f"it is not started: its required settings are missing: {', '.join(error.missing)}"
        yield Finding(severity="error", what=what, where=where, fix=f"run `prloom plugins config {found.key}`")
    except PrloomError as error:
        yield Finding(severity="error", what=str(error), where=where, fix="correct that in prloom.toml")


def _of_subscriptions(found: DiscoveredPlugin, agents: Collection[str]) -> Iterator[Finding]:
    if found.manifest is None or found.manifest.background is None or not agents:
        return
    possible = fired_by(agents)
    for each in found.manifest.background.events:
        if each in kinds.ACTIVITY_TYPES and each not in possible:
            what = f"it subscribes to {each}, which no configured agent program can fire ({', '.join(sorted(agents))})"
            fix = (
                "use another agent program under [stages], or do without; docs/agents.md says which program fires what"
            )
            yield _warning(what, f"plugin {found.key}", fix)


def of_manifests(config: Config, root: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the warnings about manifests, and the tools that no agent can call, with the reason."""
    for found in plugins.select_plugins(root, config, environ).chosen:
        if found.manifest is None:
            continue
        where = f"plugin {found.key}"
        for warning in found.warnings:
            yield doctor.of_warning(warning, where, _CORRECT)
        for tool in found.manifest.tools:
            problem = None
            if tool.schema:
                problem = arguments.schema_problem(tool.schema)
            if problem is not None:
                what = f"each call of its tool {tool.name} fails, because its schema cannot be used: {problem}"
                yield _warning(what, where, "correct the schema in the manifest")
            yield from _of_program(tool, found, environ)


def _of_program(tool: DeclaredTool, found: DiscoveredPlugin, environ: Mapping[str, str]) -> Iterator[Finding]:
    if tool.type != "executable":
        return
    try:
        environment.program(tool.command, tool.args, Path(found.path), environ)
    except ExtensionError as error:
        yield doctor.of_warning(f"each call of its tool {tool.name} fails: {error}", f"plugin {found.key}", _CORRECT)


def configured_agents(config: Config, environ: Mapping[str, str]) -> frozenset[str]:
    """Return the agent programs that some stage uses, also in a preset; `auto` is the one that is installed."""
    configs = [config]
    for name in config.presets:
        with suppress(ConfigError):
            configs.append(config.for_preset(name))
    names = {stages.stage(each, stage).agent for each in configs for stage in kinds.STAGES}
    names |= {model.agent for model in config.models.values()}
    if "auto" in names:
        names.discard("auto")
        found = registry.first_found(environ)
        if found is not None:
            names.add(found.name)
    return frozenset(names)


def fired_by(agents: Collection[str]) -> frozenset[str]:
    """Return the types of events that can come where these agent programs run."""
    types = {*_OF_PLANS, *_OF_PLUGINS}
    for name in agents:
        types.update(registry.fired_by(name))
        if registry.get(name).server_settings(_ANY, ()) is not None:
            types.update(_OF_CALLS)
    return frozenset(types)


def of_gemini(config: Config, where: RepositoryPaths, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the folders because of which gemini ignores the file that gives its runs their tools."""
    if "gemini" not in configured_agents(config, environ):
        return
    folder = where.worktrees.resolve()
    for each in (folder, *folder.parents):
        with suppress(OSError):  # a folder that does not exist yet
            if each.stat().st_mode & _OTHERS_WRITE:
                what = "the group or others may write here, so gemini ignores its settings, and its runs have no tools"
                yield _warning(what, str(each), f"run `chmod go-w {each}`, or move the repository elsewhere")


def _warning(what: str, where: str, fix: str) -> Finding:
    return Finding(severity="warning", what=what, where=where, fix=fix)
