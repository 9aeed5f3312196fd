"""The plugins at work: their hosts, their breakers, and what the dispatcher tells others of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from prloom.core import breaker
from prloom.core.breaker import Breaker
from prloom.core.dispatch import Roster
from prloom.core.verdicts import OnError
from prloom.extensions.hosting import Host, Registered
from prloom.model import record
from prloom.model.record import Json

log = logging.getLogger(__name__)


class Plugin:
    """One plugin at work.

    `gate` is closed while a call whose outcome was overtaken runs again on its own, so that it comes through for sure.
    """

    def __init__(self, key: str, source: str, host: Host, on_error: OnError) -> None:
        self.key = key
        self.source = source
        self.host = host
        self.on_error: OnError = on_error
        self.registered: Registered | None = None
        self.error: str | None = None
        self.breaker = Breaker()
        self.gate = asyncio.Lock()

    async def start(self) -> None:
        """Start the plugin's host and learn what it registers; what goes wrong is this plugin's error only."""
        try:
            self.registered = await self.host.start()
        except Exception as error:  # noqa: BLE001 - whatever a plugin does, the others go on
            self.error = str(error)
            log.warning("plugin %s is not used: %s", self.key, error)
        else:
            for warning in self.registered.warnings:
                log.warning("%s", warning)

    def failed(self, reason: str, now: datetime) -> None:
        """Count a failure; many in a row switch the plugin off for a while."""
        log.warning("plugin %s: %s", self.key, reason)
        self.breaker = breaker.failed(self.breaker, reason, key=self.key, now=now)
        if breaker.off(self.breaker, now):
            log.warning("plugin %s is switched off until %s", self.key, self.breaker.off_until)

    def worked(self) -> None:
        """Forget the failures."""
        self.breaker = Breaker()

    def report(self) -> dict[str, Json]:
        """Return what `prloom status` shows of the plugin."""
        error = self.error
        off = self.breaker.off_until
        if error is None and off is not None:
            error = (
                f"switched off until {record.iso(off)} after {self.breaker.failures} failures: {self.breaker.reason}"
            )
        offered = self.registered
        return {
            "name": self.key,
            "source": self.source,
            "loaded": offered is not None,
            "error": error,
            "hooks": sorted(offered.hooks) if offered else [],
            "commands": sorted(offered.commands) if offered else [],
            "tools": sorted(offered.tools) if offered else [],
            "skills": sorted(offered.skills) if offered else [],
        }


class Crew:
    """All plugins, in their order."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self._plugins = {plugin.key: plugin for plugin in plugins}

    def __getitem__(self, key: str) -> Plugin:
        return self._plugins[key]

    async def start(self) -> None:
        """Start all hosts, side by side."""
        async with asyncio.TaskGroup() as group:
            for plugin in self._plugins.values():
                group.create_task(plugin.start())

    async def stop(self) -> None:
        """Stop all hosts."""
        async with asyncio.TaskGroup() as group:
            for plugin in self._plugins.values():
                group.create_task(plugin.host.stop())

    def roster(self) -> Roster:
        """Return who takes part in what, in order; among commands of one name the first plugin's wins."""
        commands: dict[str, str] = {}
        for plugin in self._able():
            for name in plugin.registered.commands if plugin.registered else ():
                commands.setdefault(name, plugin.key)
        return Roster(self._with("onEvent"), self._with("beforeTriage"), commands)

    def repository_roster(self) -> Roster:
        """Return who sees the events that concern the repository as a whole."""
        return Roster(observers=self._with("onGlobalEvent"), observer_hook="onGlobalEvent")

    def command_help(self) -> Mapping[str, str]:
        """Return the plugins' slash commands and their help."""
        texts: dict[str, str] = {}
        for plugin in self._able():
            for name, text in (plugin.registered.commands if plugin.registered else {}).items():
                texts.setdefault(name, text)
        return texts

    def report(self) -> list[dict[str, Json]]:
        """Return what `prloom status` shows of the plugins."""
        return [plugin.report() for plugin in self._plugins.values()]

    def _able(self) -> list[Plugin]:
        return [plugin for plugin in self._plugins.values() if plugin.registered is not None]

    def _with(self, hook: str) -> tuple[str, ...]:
        return tuple(
            plugin.key for plugin in self._able() if plugin.registered is not None and hook in plugin.registered.hooks
        )
