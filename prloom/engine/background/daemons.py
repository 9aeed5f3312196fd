"""Run the daemons of all background plugins, call their methods, send them events, and report what becomes of them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta

from prloom import errors
from prloom.core.plugins import plugin_message
from prloom.core.plugins.daemon_life import DaemonState
from prloom.engine.activity.publisher import Publisher
from prloom.engine.background import event_sender
from prloom.engine.background.daemon import Daemon, DaemonOrder
from prloom.engine.background.daemon_report import DaemonReports
from prloom.errors import ExtensionError
from prloom.extensions import keys
from prloom.extensions.background import call_error
from prloom.model.activity import ActivityEvent
from prloom.model.record import Json

log = logging.getLogger(__name__)

_ENDED_WITHIN = timedelta(seconds=20)
"""What an order may take beyond the daemon's own time to start and to end."""


def _no_requests(_: str) -> Mapping[str, Json]:
    """Return the counts of a plugin that can request nothing."""
    return {}


class Daemons:
    """The daemons, by the keys of their plugins, as a component of the dispatcher.

    Nothing here waits for a daemon but `call`, `order`, `attempted` and `close`. `reports` writes the states down;
    `publisher` is where the daemons' events come from, and `requests` counts the requests of each.
    """

    def __init__(
        self,
        daemons: Iterable[Daemon] = (),
        *,
        clock: Callable[[], datetime],
        publisher: Publisher | None = None,
        reports: DaemonReports | None = None,
        requests: Callable[[str], Mapping[str, Json]] = _no_requests,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._daemons = {daemon.key: daemon for daemon in daemons}
        self._clock = clock
        self._publisher = publisher
        self._reports = reports
        self._requests = requests
        self._monotonic = monotonic
        self._tasks: list[asyncio.Task[None]] = []
        self._unsubscribe: list[Callable[[], None]] = []

    def __getitem__(self, plugin: str) -> Daemon | None:
        return self._daemons.get(plugin)

    @property
    def keys(self) -> Collection[str]:
        """The keys of the plugins that have a daemon."""
        return self._daemons.keys()

    async def start(self) -> None:
        """Begin to start all daemons, side by side, and have them sent the events that they subscribed to."""
        self._subscribe()
        for daemon in self._daemons.values():
            self._tasks.append(asyncio.create_task(_supervised(daemon), name=f"daemon of {daemon.key}"))
        if self._reports is not None and self._daemons:
            self._tasks.append(asyncio.create_task(self._reports.write_changes(self.report), name="daemons' states"))

    async def close(self) -> None:
        """End all daemons, side by side, and wait until they are gone."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self._write()

    async def call(self, plugin: str, method: str, params: Json, timeout: timedelta) -> Json:  # noqa: ASYNC109 - see Daemon.call
        """Return the result of a method of a plugin's daemon; raises CallError, whose `kind` says how it failed.

        It never starts a daemon, and never waits for one that starts. Cancelling it cancels the call at the daemon.
        """
        daemon = self._daemons.get(plugin)
        if daemon is None:
            raise call_error.not_started(plugin)
        return await daemon.call(method, params, timeout)

    def owns(self, plugin: str, pid: int) -> bool:
        """Whether a process is the running daemon of a plugin, or was started by it."""
        daemon = self._daemons.get(plugin)
        return daemon is not None and daemon.owns(pid)

    def owner(self, pid: int) -> str | None:
        """Return the plugin whose running daemon a process is, or was started by; None for any other process."""
        return next((plugin for plugin in self._daemons if self.owns(plugin, pid)), None)

    async def order(self, order: DaemonOrder, name: str) -> Json:
        """Carry out an operator's order, and return the daemon's report when its state is reached.

        Raises ExtensionError with the reason why it is not reached.
        """
        key = keys.resolve(name, self._daemons)
        if key is None:
            text = f"when the dispatcher started, plugin {name} was not enabled or could not be loaded"
            raise ExtensionError(f"{text}; start the dispatcher again")
        daemon = self._daemons[key]
        daemon.give(order)
        wanted: DaemonState = "running"
        if order == "stop":
            wanted = "stopped"
        try:
            async with asyncio.timeout((daemon.longest_order + _ENDED_WITHIN).total_seconds()):
                state = await daemon.reached(wanted, "error")
        except TimeoutError:
            state = daemon.life.state
        self._write()  # so that whoever gave the order reads the state that it led to
        if state != wanted:
            reason = daemon.life.reason or "prloom plugins logs shows what it printed"
            raise ExtensionError(f"plugin {key} is in the state {daemon.life.state}: {reason}")
        return self._report(daemon)

    async def ready(self) -> None:
        """Wait for each daemon that answers hooks until it runs, its start has failed, or its time is up."""
        needed = [daemon for daemon in self._daemons.values() if daemon.answers_hooks]
        waits = [
            asyncio.create_task(asyncio.wait_for(daemon.attempted(), daemon.startup_limit.total_seconds()))
            for daemon in needed
        ]
        await asyncio.gather(*waits, return_exceptions=True)

    def report(self) -> list[dict[str, Json]]:
        """Return what `prloom plugins status` shows."""
        return [self._report(daemon) for daemon in self._daemons.values()]

    def _report(self, daemon: Daemon) -> dict[str, Json]:
        now, ticks = self._clock(), self._monotonic()
        found = daemon.report(lambda at: now + timedelta(seconds=at - ticks))
        return {**found, "requests": self._requests(daemon.key)}

    def _write(self) -> None:
        if self._reports is not None and self._daemons:
            self._reports.write(self.report())

    def _subscribe(self) -> None:
        """Have each daemon's queue get its events; each event is encoded once, whoever gets it."""
        if self._publisher is None:
            return
        encoded = _LastEncoded()
        for daemon in self._daemons.values():
            if daemon.events:
                self._unsubscribe.append(self._publisher.subscribe(daemon.events, _adder(daemon, encoded)))


class _LastEncoded:
    """The event that was encoded last: it goes to one daemon after the other."""

    def __init__(self) -> None:
        self._event: ActivityEvent | None = None
        self._line = b""

    def line(self, event: ActivityEvent) -> bytes:
        if event is not self._event:
            self._event, self._line = event, event_sender.encode(event)
        return self._line


def _adder(daemon: Daemon, encoded: _LastEncoded) -> Callable[[ActivityEvent], None]:
    def add(event: ActivityEvent) -> None:
        if not plugin_message.is_echo(daemon.key, event.type, event.data):
            daemon.sender.add(encoded.line(event))

    return add


async def _supervised(daemon: Daemon) -> None:
    try:
        await daemon.run()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one daemon, the others go on
        errors.log_failure(log, error, f"the daemon of plugin {daemon.key} is given up")
