"""Run the plugins: their hosts, their breakers, and the services that their hooks may call."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from prloom.core import bounds, breaker, dispatch, trust
from prloom.core.breaker import Breaker
from prloom.core.dispatch import Subscribers
from prloom.core.hook_results import OnError
from prloom.core.trust import Trusted
from prloom.engine.bus import entries
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import ExtensionError
from prloom.extensions import keys, registry
from prloom.extensions.filters import PluginFailure
from prloom.extensions.host.interface import PluginHost, Registered
from prloom.model import record
from prloom.model.event import Event
from prloom.model.record import Json, Position

log = logging.getLogger(__name__)


class RunningPlugin:
    """One plugin at work.

    `gate` is locked while one call runs alone: because other writers overtook it too often, or because its process may
    have died of it. `inside` counts the other calls that are under way. `trial` is locked by the call that finds out
    whether a plugin that was switched off works again.
    """

    def __init__(self, key: str, source: str, host: PluginHost, on_error: OnError) -> None:
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
        return str(error).removeprefix(f"plugin {self.key}").removeprefix(":").strip()

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
            "warnings": [*offered.warnings, *self.clashes] if offered else [],
        }


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


MOST = 1000
"""Events that one call returns at most."""

RunAgent = Callable[[PlanRuntime, str, str, "str | None"], Awaitable[str]]


class HookServices:
    """Implements `prloom.api.context.Services` for one plan."""

    def __init__(self, runtime: PlanRuntime, *, run: RunAgent, read_plan: Callable[[str], str]) -> None:
        self._runtime = runtime
        self._run = run
        self._read_plan = read_plan

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        """Run the stage's agent in the plan's worktree; `files` are named to it, relative to the worktree."""
        named = "".join(f"\n- {name}" for name in files)
        if named:
            prompt = f"{prompt}\n\nFiles to look at:{named}"
        return await self._run(self._runtime, stage, prompt, model)

    def read_events(
        self, *, types: Sequence[str] | None, since_id: str | None, limit: int
    ) -> tuple[Sequence[Event], str | None]:
        """Return events of this plan after an id, oldest first, and the id to go on from.

        An event whose author is not trusted is left out, whatever became of it later: only its own showing carries the
        vouch of a person.
        """
        start = None
        if since_id is not None:
            start = self._position(since_id)
        found: list[Event] = []
        last = since_id
        for entry in self._runtime.event_store.events.scan(start):
            event = entries.event(entry.line)
            if event is None or entry.position == start:
                continue
            if len(found) >= min(limit, MOST):
                break
            last = event.id
            if self._may_be_read(event) and (types is None or event.type in types):
                found.append(event)
        return tuple(found), last

    def read_plan(self, plan_id: str) -> str:
        """Return the text of a plan."""
        return self._read_plan(plan_id)

    def _may_be_read(self, event: Event) -> bool:
        opened = self._runtime.event_store.state.open.get(event.id)
        if opened is not None and opened.state == "held":
            return False
        return isinstance(trust.judge(event, self._runtime.rules.trust), Trusted)

    def _position(self, event_id: str) -> Position:
        found = self._runtime.seen_ids.position(event_id)
        if found is not None:
            return found
        for entry in self._runtime.event_store.events.containing(
            msgspec.json.encode(event_id)
        ):  # perhaps not taken in yet
            event = entries.event(entry.line)
            if event is not None and event.id == event_id:
                return entry.position
        raise ExtensionError(f"read_events: this plan has no event {event_id!r} to continue from")
