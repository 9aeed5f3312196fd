"""Run the daemons of all background plugins, call their methods, and report what becomes of them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

from prloom import errors
from prloom.core.daemon_life import DaemonState
from prloom.engine.background.daemon import Daemon, Order
from prloom.extensions.background import call_error
from prloom.model.record import Json, Timestamp

log = logging.getLogger(__name__)


class Daemons:
    """The daemons, by the keys of their plugins. Nothing here waits for a daemon but `call`, `attempted` and `stop`."""

    def __init__(
        self,
        daemons: Iterable[Daemon] = (),
        *,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._daemons = {daemon.key: daemon for daemon in daemons}
        self._clock = clock
        self._monotonic = monotonic
        self._tasks: list[asyncio.Task[None]] = []

    def __contains__(self, plugin: str) -> bool:
        return plugin in self._daemons

    def start(self) -> None:
        """Begin to start all daemons, side by side."""
        for daemon in self._daemons.values():
            self._tasks.append(asyncio.create_task(_supervised(daemon), name=f"daemon of {daemon.key}"))

    async def stop(self) -> None:
        """End all daemons, side by side, and wait until they are gone."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def call(self, plugin: str, method: str, params: Json, timeout: timedelta) -> Json:  # noqa: ASYNC109 - see Daemon.call
        """Return the result of a method of a plugin's daemon; raises CallError, whose `kind` says how it failed.

        It never starts a daemon, and never waits for one that starts. Cancelling it cancels the call at the daemon.
        """
        daemon = self._daemons.get(plugin)
        if daemon is None:
            raise call_error.not_started(plugin)
        return await daemon.call(method, params, timeout)

    def state(self, plugin: str) -> DaemonState:
        """Return the state of a plugin's daemon."""
        return self._daemons[plugin].life.state

    async def attempted(self, plugin: str) -> None:
        """Wait until a plugin's daemon runs, or its present attempt to start has failed."""
        await self._daemons[plugin].attempted()

    def give(self, order: Order, plugin: str, order_id: str) -> bool:
        """Have a daemon started, stopped or restarted; return whether there is one."""
        daemon = self._daemons.get(plugin)
        if daemon is not None:
            daemon.give(order, order_id)
        return daemon is not None

    def report(self) -> list[dict[str, Json]]:
        """Return what `prloom plugins status` shows."""
        now, ticks = self._clock(), self._monotonic()
        return [_report(daemon, lambda at: Timestamp.of(now + timedelta(seconds=at - ticks))) for daemon in self._all()]

    def _all(self) -> Iterable[Daemon]:
        return self._daemons.values()


async def _supervised(daemon: Daemon) -> None:
    try:
        await daemon.run()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one daemon, the others go on
        errors.log_failure(log, error, f"the daemon of plugin {daemon.key} is given up")


def _report(daemon: Daemon, moment: Callable[[float], Timestamp]) -> dict[str, Json]:
    life = daemon.life
    next_attempt: Timestamp | None = None
    if life.next_attempt is not None:
        next_attempt = moment(life.next_attempt)
    requests: Mapping[str, Json] = {}
    return {
        "name": daemon.key,
        "state": life.state,
        "pid": daemon.pid,
        "reason": life.reason,
        "log": list(daemon.files.last_lines),
        "since": moment(life.since),
        "restarts": life.restarts,
        "nextAttemptAt": next_attempt,
        "healthFailures": life.health_failures,
        "runtimeDir": daemon.runtime_dir,
        "requests": requests,
        "events": {"delivered": daemon.sender.delivered, "dropped": daemon.sender.dropped},
        "order": daemon.order,
    }
