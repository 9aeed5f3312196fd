"""Try a plugin with a daemon: its hooks as the dispatcher calls them, and what `BackgroundPluginContract` promises."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import timedelta

from prloom.api.context import Services
from prloom.engine.background.daemon_host import DaemonHost
from prloom.errors import ExtensionError
from prloom.extensions.background import settings as daemon_settings
from prloom.extensions.background.settings import Given
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.host.interface import PluginHost, Registered
from prloom.model.hook import HookCall, Outcome
from prloom.model.record import Json
from prloom.testing import running_daemon
from prloom.testing.background_contract import BackgroundPluginContract
from prloom.testing.running_daemon import RunningDaemon
from prloom.testing.trial import BrokenPromise


class TrialHost:
    """Starts the daemon of a plugin for as long as the plugin is tried; `code` runs its Python code, if it has any."""

    def __init__(self, found: DiscoveredPlugin, settings: Mapping[str, Json], code: PluginHost | None) -> None:
        self.key = found.key
        self._found = found
        self._settings = settings
        self._code = code
        self._running = AsyncExitStack()
        self._host: DaemonHost | None = None

    async def start(self) -> Registered:
        """Start the daemon and the code, and return what they offer; raises ExtensionError."""
        manifest = self._found.manifest
        if manifest is None:
            raise ExtensionError(f"plugin {self.key} has no manifest")
        warnings: tuple[str, ...] = ()
        if self._code is None:
            warnings = self._found.warnings
        running = await self._running.enter_async_context(running_daemon.run(self._found.path, self._settings))
        self._host = DaemonHost(self.key, manifest, running.daemon, self._code, warnings)
        return await self._host.start()

    async def run(self, call: HookCall, services: Services, limit: timedelta) -> Outcome:
        """Run one hook and return its outcome; raises HookFailed."""
        if self._host is None:
            raise ExtensionError(f"plugin {self.key} was not started")
        return await self._host.run(call, services, limit)

    async def stop(self) -> None:
        """End the daemon and the code."""
        if self._host is not None:
            await self._host.stop()
        await self._running.aclose()


def has_secrets(found: DiscoveredPlugin) -> bool:
    """Whether a plugin takes settings that are secrets."""
    return found.manifest is not None and any(setting.secret for setting in found.manifest.config_schema.values())


def resolved(found: DiscoveredPlugin, given: Given) -> Mapping[str, Json]:
    """Return the values of a plugin's settings, those of its secrets as plain texts; raises ExtensionError."""
    if found.manifest is None:
        return {}
    try:
        return daemon_settings.resolve(found.key, found.manifest.config_schema, given)
    except ExtensionError as error:
        raise ExtensionError(f"plugin {found.key} cannot be tried: {error}") from error


def broken_promises(found: DiscoveredPlugin, settings: Mapping[str, Json]) -> tuple[BrokenPromise, ...]:
    """Try every promise of a daemon, and return those that are not kept.

    A method whose tool requires arguments is not called, for nobody knows what it accepts.
    """
    given = settings
    own_methods: Mapping[str, Json] = {method: {} for method in _without_arguments(found)}

    class DaemonContract(BackgroundPluginContract):
        plugin = found.path
        settings = given
        methods = own_methods

        def declared_methods(self, daemon: RunningDaemon) -> frozenset[str]:
            return frozenset(self.methods)

    promises = {name: method for name, method in inspect.getmembers(DaemonContract()) if name.startswith("test_")}
    broken = []
    for name, promise in promises.items():
        try:
            promise()
        except (AssertionError, ExtensionError) as error:
            meaning = inspect.getdoc(promise) or ""
            broken.append(BrokenPromise(name=name, promise=meaning, problem=str(error)))
    return tuple(broken)


def _without_arguments(found: DiscoveredPlugin) -> tuple[str, ...]:
    if found.manifest is None:
        return ()
    return tuple(tool.method for tool in found.manifest.tools if tool.method and not tool.schema.get("required"))
