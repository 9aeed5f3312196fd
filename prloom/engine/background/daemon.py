"""Supervise one daemon: start it, check its health, restart it after a crash, and stop it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Literal

from prloom.core import bounds, daemon_life
from prloom.core.daemon_life import DaemonLife, HealthRules
from prloom.engine.background.daemon_files import DaemonFiles
from prloom.engine.background.event_sender import EventSender
from prloom.engine.background.preparation import Preparation, Prepared
from prloom.errors import ExtensionError, PrloomError
from prloom.extensions.background import call_error, process, runtime_folder
from prloom.extensions.background.call_error import CallError
from prloom.extensions.background.client import HEALTH_CHECK, Client
from prloom.extensions.background.process import DaemonProcess
from prloom.extensions.jsonrpc import METHOD_NOT_FOUND
from prloom.model.record import Json

log = logging.getLogger(__name__)

Order = Literal["start", "stop", "restart"]

_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.2
"""Seconds between two attempts to reach a daemon that starts; each pause is twice as long as the one before."""
_LOG_WAIT = 1.0  # seconds for the last that an ended daemon printed


class Daemon:
    """One daemon and its successors. `life` is what has become of it; `changed` is called when that is new."""

    def __init__(
        self,
        key: str,
        preparation: Preparation,
        files: DaemonFiles,
        *,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.key = key
        self.life = DaemonLife()
        self.files = files
        self.sender = EventSender()
        self.runtime_dir: str | None = None
        self.order: str | None = None
        self._preparation = preparation
        self._background = preparation.background
        self._changed = changed
        self._clock = clock
        self._process: DaemonProcess | None = None
        self._client: Client | None = None
        self._wanted = True
        self._ordered = asyncio.Event()
        self._attempted = asyncio.Event()
        health = self._background.healthcheck
        self._rules = HealthRules(health.interval / 1000, health.timeout / 1000, health.retries)

    @property
    def pid(self) -> int | None:
        """The id of the daemon's process while there is one."""
        if self._process is None:
            return None
        return self._process.pid

    def give(self, order: Order, order_id: str) -> None:
        """Have the daemon started, stopped or restarted; `order` is the id of the latest order from now on."""
        self.order = order_id
        self._wanted = order != "stop"
        if order == "start" and self.life.state in {"starting", "running"}:
            self._changed()
            return
        now = self._clock()
        if self._process is not None:
            self._set(daemon_life.stopping(self.life, now))
        elif self._wanted:
            self._set(daemon_life.starting(daemon_life.stopped(self.life, now), now))
        else:
            self._set(daemon_life.stopped(self.life, now))
        self._ordered.set()

    async def call(self, method: str, params: Json, timeout: timedelta) -> Json:  # noqa: ASYNC109 - it tells what the limit was
        """Return the result of one of the daemon's methods; raises CallError. It never starts the daemon."""
        if not self.life.started:
            raise call_error.not_started(self.key)
        if self.life.state != "running" or self._client is None:
            raise call_error.not_running(self.key, self.life.state)
        return await self._client.call(method, params, timeout)

    async def attempted(self) -> None:
        """Wait until the daemon runs, or its present attempt to start has failed."""
        await self._attempted.wait()

    async def run(self) -> None:
        """Keep the daemon as it is wanted, until this is cancelled; then end it."""
        try:
            await self._end_left()
            while True:
                if self._wanted and daemon_life.is_due(self.life, self._clock()):
                    await self._live()
                self._attempted.set()
                await self._wait_until_due()
        finally:
            self.files.close()

    def _set(self, life: DaemonLife) -> None:
        self.life = life
        self._changed()

    async def _end_left(self) -> None:
        """End what a dispatcher that crashed has left."""
        left = self.files.left()
        if left is not None:
            if await process.end_left(left):
                log.warning("plugin %s: a daemon that an earlier dispatcher left was ended", self.key)
            self.files.forget()

    async def _wait_until_due(self) -> None:
        """Wait for an order, or until the next attempt to start is due."""
        due = daemon_life.next_time(self.life)
        pause = None
        if due is not None:
            pause = max(due - self._clock(), 0)
        if self._wanted and self.life.state in {"stopped", "starting"}:
            pause = 0
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ordered.wait(), pause)
        self._ordered.clear()

    async def _live(self) -> None:
        """Start the daemon, and return when it has ended, by itself or by an order."""
        self._attempted.clear()
        self._ordered.clear()
        try:
            prepared = self._preparation.prepare()
        except PrloomError as error:
            log.warning("plugin %s: its daemon cannot be started: %s", self.key, error)
            self._set(daemon_life.refused(self.life, self._clock(), bounds.cut(str(error))))
            return
        self.runtime_dir = str(prepared.socket.parent)
        self._set(daemon_life.starting(self.life, self._clock()))
        reason = await self._until_over(prepared)
        if reason is None:
            self._set(daemon_life.stopped(self.life, self._clock()))
        else:
            log.warning("plugin %s: its daemon has ended: %s", self.key, reason)
            self._set(daemon_life.crashed(self.life, self._clock(), bounds.cut(reason)))

    async def _until_over(self, prepared: Prepared) -> str | None:
        """Run the daemon; return why it has to be started again, or None where an order ended it."""
        try:
            started = await process.spawn(prepared.program, environ=prepared.environ, cwd=prepared.folder)
        except ExtensionError as error:
            return str(error)
        self._process = started
        self.files.save(started.ids)
        logging_ = asyncio.create_task(started.log(self.files.append), name=f"log of {self.key}")
        session = asyncio.create_task(self._session(started, Client(self.key, str(prepared.socket))))
        ordered = asyncio.create_task(self._ordered.wait())
        try:
            await asyncio.wait((session, ordered), return_when=asyncio.FIRST_COMPLETED)
            if ordered.done():
                return None
            return session.result()
        finally:
            self._set(daemon_life.stopping(self.life, self._clock()))
            await _cancelled(session, ordered)
            await asyncio.shield(self._end(started, prepared, logging_))

    async def _end(self, started: DaemonProcess, prepared: Prepared, logging_: asyncio.Task[None]) -> None:
        """End the daemon with everything that it started, and remove what is left of it."""
        await started.stop(timedelta(milliseconds=self._background.shutdown_grace_period))
        await asyncio.wait((logging_,), timeout=_LOG_WAIT)
        await _cancelled(logging_)
        self.files.end_line()
        started.close()
        with contextlib.suppress(PrloomError):  # the next start reports it
            runtime_folder.clear_socket(prepared.socket)
        self.files.forget()
        self._process = None

    async def _session(self, started: DaemonProcess, client: Client) -> str:
        """Wait until the daemon has ended, or has to be ended; return why."""
        exited = asyncio.create_task(started.wait())
        steps = asyncio.create_task(self._steps(started, client))
        try:
            await asyncio.wait((exited, steps), return_when=asyncio.FIRST_COMPLETED)
            if exited.done():
                return exited.result()
            return steps.result()
        finally:
            await _cancelled(exited, steps)
            self._client = None
            await client.close()

    async def _steps(self, started: DaemonProcess, client: Client) -> str:
        problem = await self._problem_at_start(started, client)
        if problem is not None:
            return problem
        self._client = client
        self._set(daemon_life.ready(self.life, self._clock(), self._rules))
        self._attempted.set()
        log.info("plugin %s: its daemon runs (process %s)", self.key, started.pid)
        async with _beside(client.probe()), _beside(self.sender.send_all(client)):
            return await self._until_unhealthy(client)

    async def _problem_at_start(self, started: DaemonProcess, client: Client) -> str | None:
        """Wait until the daemon itself listens and answers; return why it does not within its time, or None."""
        limit = self._background.startup_timeout
        pause, problem = _FIRST_PAUSE, "it does not listen"
        try:
            async with asyncio.timeout(limit / 1000):
                while True:
                    try:
                        peer = await client.first_answer(timedelta(seconds=self._rules.timeout))
                    except CallError as error:
                        problem = str(error)
                    else:
                        if peer is None or await asyncio.to_thread(started.owns, peer):
                            return None
                        problem = f"process {peer}, which is not the daemon, listens at its socket"
                        await client.close()
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
        except TimeoutError:
            return f"it was not ready within {limit} ms: {problem}"

    async def _until_unhealthy(self, client: Client) -> str:
        """Check the daemon's health until too many checks in a row have failed; return the text of that."""
        while True:
            await asyncio.sleep(max((self.life.next_check or 0) - self._clock(), 0))
            problem = await self._problem_of_health(client)
            self.life = daemon_life.checked(self.life, self._clock(), self._rules, healthy=problem is None)
            self._changed()
            if daemon_life.is_unhealthy(self.life, self._rules):
                return f"it did not pass {self.life.health_failures} health checks in a row: {problem}"

    async def _problem_of_health(self, client: Client) -> str | None:
        try:
            await client.call(HEALTH_CHECK, {}, timedelta(seconds=self._rules.timeout))
        except CallError as error:
            if error.code != METHOD_NOT_FOUND:
                return str(error)
        return None


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do some work beside what is within, and end it then."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        await _cancelled(task)


async def _cancelled(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and wait until they have ended; what they raised is theirs."""
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            log.error("a bug in prloom; a daemon goes on without a part of it", exc_info=result)
