"""Run the plugins: their hosts, their breakers, and the services that their hooks may call."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from prloom import errors
from prloom.core.events import dispatch
from prloom.core.events.dispatch import Subscribers
from prloom.core.events.hook_results import OnError
from prloom.core.plugins import tool_rules
from prloom.core.text import bounds
from prloom.core.waits import breaker
from prloom.core.waits.breaker import Breaker
from prloom.extensions import keys, registry
from prloom.extensions.filters import PluginFailure
from prloom.extensions.host.interface import OfferedSkill, OfferedTool, PluginHost, Registered
from prloom.model import record
from prloom.model.record import Json
from prloom.model.tool import ToolSpec

log = logging.getLogger(__name__)


class RunningPlugin:
    """One plugin at work.

    `gate` is locked while one call runs alone: because other writers overtook it too often, or because its process may
    have died of it. `inside` counts the other calls that are under way. `trial` is locked by the call that finds out
    whether a plugin that was switched off works again. `tools` are those of its manifest; `clashing_tools` says which
    of its tools no agent gets, because another plugin has one of the same name.
    """

    def __init__(
        self, key: str, source: str, host: PluginHost, on_error: OnError, tools: Sequence[ToolSpec] = ()
    ) -> None:
        self.key = key
        self.source = source
        self.host = host
        self.on_error: OnError = on_error
        self.registered: Registered | None = None
        self.error: str | None = None
        self.breaker = Breaker()
        self.gate = asyncio.Lock()
        self.inside = 0
        self.trial = asyncio.Lock()
        self.clashes: tuple[str, ...] = ()
        self.clashing_tools: tuple[str, ...] = ()
        self._manifest_tools = tuple(tools)

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the plugin offers: those of its manifest, and those that its code has registered."""
        registered = self.registered
        if registered is None:
            return self._manifest_tools
        return (*self._manifest_tools, *registered_tools(self.key, registered))

    async def start(self) -> None:
        """Start the plugin's host and learn what it registers; what goes wrong is this plugin's error only."""
        try:
            self.registered = await self.host.start()
            if self.registered.inert:
                await self.host.stop()  # its process would only take memory
        except Exception as error:  # noqa: BLE001 - whatever a plugin does, the others go on
            self.error = bounds.cut(self.without_name(error))
            log.warning("plugin %s is not used: %s", self.key, self.without_name(error))
        else:
            for warning in self.registered.warnings:
                log.warning("%s", warning)

    def without_name(self, error: Exception) -> str:
        """Return what an error says of this plugin, without the plugin's name at the beginning."""
        return without_name(self.key, error)

    def failed(self, reason: str, now: datetime, event: str) -> None:
        """Count a failure on an event; many in a row switch the plugin off for a while."""
        log.warning("plugin %s: %s", self.key, reason)
        before = self.breaker
        self.breaker = breaker.failed(before, bounds.cut(reason), event=event, key=self.key, now=now)
        if self.breaker.off_until != before.off_until:
            log.warning("plugin %s is %s", self.key, self._switched_off())

    def shift(self, by: timedelta) -> None:
        """Have the plugin tried again when it was to be, now that the clock was turned back."""
        if self.breaker.off_until is not None:
            self.breaker = dataclasses.replace(self.breaker, off_until=self.breaker.off_until - by)

    def worked(self) -> None:
        """Forget the failures."""
        self.breaker = Breaker()

    def _switched_off(self) -> str:
        until = ""
        if self.breaker.off_until is not None:
            until = record.iso(self.breaker.off_until)
        scope = ""
        if self.breaker.only is not None:
            scope = " for the event that it fails on"
        return f"switched off{scope} until {until} after {self.breaker.failures} failures in a row"

    def report(self) -> dict[str, Json]:
        """Return what `prloom status` shows of the plugin."""
        error = self.error
        if error is None and self.breaker.off_until is not None:
            error = f"{self._switched_off()}: {self.breaker.reason}"
        if error is None and self.clashing_tools:
            error = "; ".join(self.clashing_tools)
        offered = self.registered
        return {
            "name": self.key,
            "source": self.source,
            "loaded": offered is not None,
            "error": error,
            "hooks": sorted(offered.hooks) if offered else [],
            "commands": sorted(offered.commands) if offered else [],
            "tools": sorted(tool.name for tool in self.tools),
            "skills": sorted(offered.skills) if offered else [],
            "warnings": [*offered.warnings, *self.clashes] if offered else [],
        }


def without_name(key: str, error: Exception) -> str:
    """Return what an error says of a plugin, without the plugin's name at the beginning."""
    text = str(error)
    if isinstance(error, ExceptionGroup | MemoryError):
        text = errors.describe(error)
    return text.removeprefix(f"plugin {key}").removeprefix(":").strip()


class PluginSet:
    """All plugins, in their order; and, for `prloom status`, those that are enabled and could not be loaded."""

    def __init__(self, plugins: Sequence[RunningPlugin], failures: Sequence[PluginFailure] = ()) -> None:
        self._plugins = {plugin.key: plugin for plugin in plugins}
        self._failures = tuple(failures)

    def __getitem__(self, key: str) -> RunningPlugin:
        return self._plugins[key]

    @property
    def keys(self) -> tuple[str, ...]:
        """The plugins' keys, in their order."""
        return tuple(self._plugins)

    async def start(self) -> None:
        """Start all hosts, side by side."""
        for failure in self._failures:
            log.warning("plugin %s is not used: %s", failure.name, failure.reason)
        async with asyncio.TaskGroup() as group:
            for plugin in self._plugins.values():
                group.create_task(plugin.start())
        for key, clashes in registry.clashes(self._registered()).items():
            self._plugins[key].clashes = clashes
            for warning in clashes:
                log.warning("%s", warning)

        for name, owners in tool_rules.clashes(self.tools()).items():
            for key in owners:
                problem = tool_rules.clash_error(name, owners, key)
                self._plugins[key].clashing_tools += (problem,)
                log.warning("plugin %s: %s", key, problem)

    def tools(self, without: Iterable[str] = ()) -> tuple[ToolSpec, ...]:
        """Return the tools of all plugins in their order, but for those of plugins that a plan disables."""
        left_out = {keys.resolve(name, self._plugins) for name in without}
        return tuple(tool for key, plugin in self._plugins.items() if key not in left_out for tool in plugin.tools)

    def skills(self, without: Iterable[str] = ()) -> Mapping[str, Mapping[str, OfferedSkill]]:
        """Return the skills of each plugin that has some, in their order, but for those that a plan disables."""
        left_out = {keys.resolve(name, self._plugins) for name in without}
        return {
            key: offered.skills for key, offered in self._registered().items() if offered.skills and key not in left_out
        }

    async def stop(self) -> None:
        """Stop all hosts; one that cannot be stopped keeps no other from it."""
        hosts = [plugin.host for plugin in self._plugins.values()]
        for host, error in zip(
            hosts, await asyncio.gather(*(host.stop() for host in hosts), return_exceptions=True), strict=True
        ):
            if isinstance(error, Exception):
                log.warning("plugin %s could not be stopped: %r", host.key, error)

    def shift(self, by: timedelta) -> None:
        """Have plugins that are switched off tried again when they were to be, now that the clock was turned back."""
        for plugin in self._plugins.values():
            plugin.shift(by)

    def subscribers(self, without: Iterable[str] = ()) -> Subscribers:
        """Return which plugins get which events of a plan.

        `without` are names of plugins that a plan's preset switches off for it.
        """
        left_out = {keys.resolve(name, self._plugins) for name in without}
        return dispatch.plan_subscribers(
            {key: offered for key, offered in self._registered().items() if key not in left_out}
        )

    def with_hook(self, hook: str, without: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the keys of the plugins that registered a hook, in their order, but for those that a plan disables."""
        left_out = {keys.resolve(name, self._plugins) for name in without}
        return tuple(
            key for key, offered in self._registered().items() if hook in offered.hooks and key not in left_out
        )

    def repository_subscribers(self) -> Subscribers:
        """Return which plugins get the events that concern the repository as a whole."""
        return dispatch.repository_subscribers(self._registered())

    def command_help(self) -> Mapping[str, str]:
        """Return the plugins' slash commands and their help."""
        texts: dict[str, tuple[str, str]] = {}
        for offered in self._registered().values():
            for name, text in offered.commands.items():
                texts.setdefault(name.casefold(), (name, text))
        return dict(texts.values())

    def report(self) -> list[dict[str, Json]]:
        """Return what `prloom status` shows of the plugins."""
        return [*(plugin.report() for plugin in self._plugins.values()), *map(_not_loaded, self._failures)]

    def _registered(self) -> dict[str, Registered]:
        return {key: plugin.registered for key, plugin in self._plugins.items() if plugin.registered is not None}


def registered_tools(plugin: str, registered: Registered) -> tuple[ToolSpec, ...]:
    """Return the tools that the code of a plugin has registered."""
    return tuple(_spec(plugin, name, tool) for name, tool in registered.tools.items())


def _spec(plugin: str, name: str, tool: OfferedTool) -> ToolSpec:
    return ToolSpec(
        name=name,
        kind="python",
        plugin=plugin,
        description=tool.description,
        schema=tool.schema,
        visible_to=tool.visible_to,
        requires_confirmation=tool.requires_confirmation,
        timeout_ms=tool.timeout_ms,
        checked=tool.checked,
    )


def _not_loaded(failure: PluginFailure) -> dict[str, Json]:
    """Return what `prloom status` shows of a plugin that is enabled and was not even loaded."""
    return {
        "name": failure.name,
        "source": failure.source,
        "chosen": False,
        "loaded": False,
        "error": failure.reason,
        "hooks": [],
    }
