"""Supervise one daemon: start it, check its health, restart it after a crash, and stop it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal

from prloom.core.plugins import daemon_life
from prloom.core.plugins.daemon_life import DaemonLife, DaemonState, HealthRules
from prloom.core.text import bounds
from prloom.engine.background import readiness, tasks
from prloom.engine.background.daemon_files import DaemonFiles
from prloom.engine.background.event_sender import EventSender
from prloom.engine.background.preparation import Preparation, Prepared
from prloom.errors import ExtensionError, PrloomError
from prloom.extensions.background import call_error, process, runtime_folder
from prloom.extensions.background.client import DaemonClient
from prloom.extensions.background.process import DaemonProcess
from prloom.model import kinds, record
from prloom.model.record import Json

log = logging.getLogger(__name__)

DaemonOrder = Literal["start", "stop", "restart"]

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
        self.sender = EventSender(changed)
        self.socket_path: str | None = None
        self._preparation = preparation
        self._background = preparation.background
        self._changed = changed
        self._clock = clock
        self._process: DaemonProcess | None = None
        self._client: DaemonClient | None = None
        self._wanted = True
        self._ordered = asyncio.Event()
        self._state_is_new = asyncio.Event()
        self._attempted = asyncio.Event()
        health = self._background.healthcheck
        self._rules = HealthRules(health.interval / 1000, health.timeout / 1000, health.retries)

    @property
    def runtime_dir(self) -> str | None:
        """The folder of the daemon's socket; None before its first start."""
        return self.socket_path and os.path.dirname(self.socket_path)  # noqa: PTH120 - a text of a text

    @property
    def answers_hooks(self) -> bool:
        """Whether the manifest says that the daemon answers hooks."""
        return bool(self._preparation.manifest.provides_hooks)

    @property
    def startup_limit(self) -> timedelta:
        """How long the daemon may take to start."""
        return timedelta(milliseconds=self._background.startup_timeout)

    @property
    def events(self) -> tuple[str, ...]:
        """The types of the events that the daemon subscribed to, those that exist."""
        return tuple(each for each in self._background.events if each in kinds.ACTIVITY_TYPES)

    @property
    def in_state_for(self) -> float:
        """How many seconds the daemon has been in its state."""
        return self._clock() - self.life.since

    @property
    def next_attempt_in(self) -> timedelta | None:
        """How long it is until the daemon is started again; None where it is not to be, or runs."""
        if self.life.next_attempt is None:
            return None
        return timedelta(seconds=max(self.life.next_attempt - self._clock(), 0.1))

    @property
    def longest_order(self) -> timedelta:
        """How long a restart may take by the manifest."""
        return self.startup_limit + timedelta(milliseconds=self._background.shutdown_grace_period)

    def give(self, order: DaemonOrder) -> None:
        """Have the daemon started, stopped or restarted; `reached` waits until that is done."""
        self._wanted = order != "stop"
        if order == "start" and self.life.state in {"starting", "running"}:
            return
        now = self._clock()
        if self._process is not None:
            self._set(daemon_life.stopping(self.life, now))
        elif self._wanted:
            self._set(daemon_life.starting(daemon_life.stopped(self.life, now), now))
        else:
            self._set(daemon_life.stopped(self.life, now))
        self._ordered.set()

    async def reached(self, *states: DaemonState) -> DaemonState:
        """Wait until the daemon is in one of these states, and return which."""
        while self.life.state not in states:
            self._state_is_new.clear()
            await self._state_is_new.wait()
        return self.life.state

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

    def owns(self, pid: int) -> bool:
        """Whether a process is the running daemon, or was started by it."""
        return self._process is not None and self._process.owns(pid)

    def report(self, moment: Callable[[float], datetime]) -> dict[str, Json]:
        """Return what `prloom plugins status` shows of the daemon; `moment` makes a time of monotonic seconds."""
        life, pid, next_attempt, problem_since = self.life, None, None, None
        if self._process is not None:
            pid = self._process.pid
        if life.next_attempt is not None:
            next_attempt = record.iso(moment(life.next_attempt))
        if life.problem_since is not None:
            problem_since = record.iso(moment(life.problem_since))
        return {
            "name": self.key,
            "state": life.state,
            "pid": pid,
            "reason": life.reason,
            "log": list(self.files.last_lines),
            "since": record.iso(moment(life.since)),
            "restarts": life.restarts,
            "nextAttemptAt": next_attempt,
            "healthFailures": life.health_failures,
            "problem": life.problem,
            "problemSince": problem_since,
            "runtimeDir": self.runtime_dir,
            "events": {"delivered": self.sender.delivered, "dropped": self.sender.dropped},
        }

    def _set(self, life: DaemonLife) -> None:
        self.life = life
        self._state_is_new.set()
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
            self._preparation.ended()
            log.warning("plugin %s: its daemon cannot be started: %s", self.key, error)
            self._set(daemon_life.refused(self.life, self._clock(), bounds.cut(str(error))))
            return
        self.socket_path = str(prepared.socket)
        self._set(daemon_life.starting(self.life, self._clock()))
        try:
            reason = await self._until_over(prepared)
        finally:
            self._preparation.ended()
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
        session = asyncio.create_task(self._session(started, DaemonClient(self.key, str(prepared.socket))))
        ordered = asyncio.create_task(self._ordered.wait())
        try:
            await asyncio.wait((session, ordered), return_when=asyncio.FIRST_COMPLETED)
            if ordered.done():
                return None
            return session.result()
        finally:
            self._set(daemon_life.stopping(self.life, self._clock()))
            await tasks.cancelled(session, ordered)
            await asyncio.shield(self._end(started, prepared, logging_))

    async def _end(self, started: DaemonProcess, prepared: Prepared, logging_: asyncio.Task[None]) -> None:
        """End the daemon with everything that it started, and remove what is left of it."""
        await started.stop(timedelta(milliseconds=self._background.shutdown_grace_period))
        await asyncio.wait((logging_,), timeout=_LOG_WAIT)
        await tasks.cancelled(logging_)
        self.files.end_line()
        started.close()
        with contextlib.suppress(PrloomError):  # the next start reports it
            runtime_folder.clear_socket(prepared.socket)
        self.files.forget()
        self._process = None

    async def _session(self, started: DaemonProcess, client: DaemonClient) -> str:
        """Wait until the daemon has ended, or has to be ended; return why."""
        exited = asyncio.create_task(started.wait())
        steps = asyncio.create_task(self._steps(started, client))
        try:
            await asyncio.wait((exited, steps), return_when=asyncio.FIRST_COMPLETED)
            if exited.done():
                return exited.result()
            return steps.result()
        finally:
            await tasks.cancelled(exited, steps)
            self._client = None
            self.sender.close()
            await client.close()

    async def _steps(self, started: DaemonProcess, client: DaemonClient) -> str:
        answer_limit = timedelta(seconds=self._rules.timeout)
        problem = await readiness.problem_at_start(started, client, self.startup_limit, answer_limit)
        if problem is not None:
            return problem
        self._client = client
        self.sender.open()
        self._set(daemon_life.ready(self.life, self._clock(), self._rules))
        self._attempted.set()
        log.info("plugin %s: its daemon runs (process %s)", self.key, started.pid)
        async with tasks.beside(client.probe()), tasks.beside(self.sender.send_all(client)):
            return await self._until_unhealthy(client)

    async def _until_unhealthy(self, client: DaemonClient) -> str:
        """Check its health until too many checks in a row have failed, or it floods prloom; return the reason."""
        while True:
            if breach := await client.breach(daemon_life.until_check(self.life, self._clock())):
                return str(breach)
            failure, problem = await readiness.health(client, timedelta(seconds=self._rules.timeout))
            self.life = daemon_life.checked(self.life, self._clock(), self._rules, healthy=failure is None)
            if failure is None:
                self.life = daemon_life.with_problem(self.life, self._clock(), problem)
            self._changed()
            if daemon_life.is_unhealthy(self.life, self._rules):
                return f"it did not pass {self.life.health_failures} health checks in a row: {failure}"
