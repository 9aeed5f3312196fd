"""Run a plugin in a process of its own: started on first use, killed when it overruns, started again when it died."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import msgspec

from prloom import backoff
from prloom.api.context import Services
from prloom.errors import ExtensionError
from prloom.extensions import child, inputs, jsonrpc
from prloom.extensions.child import Child
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.host import interface
from prloom.extensions.host.interface import START_LIMIT, HookFailed, Registered
from prloom.extensions.jsonrpc import ConnectionLostError, ProtocolError, RpcError
from prloom.extensions.plugin_log import PluginLog
from prloom.extensions.running_call import Deadline, RunningCall
from prloom.model import record
from prloom.model.hook import HookCall, Outcome
from prloom.model.record import Json


def restart_delay(deaths: int, key: str) -> timedelta:
    """Return the wait before a plugin's next start, after so many deaths of its process in a row; none after one."""
    if deaths > 1:
        return backoff.delay(backoff.QUICK, deaths - 1, key)
    return timedelta(0)


class ProcessHost:
    """A plugin's process and its successors, each of which may have so many bytes of memory (0: as many as it gets).

    The methods do what `interface.PluginHost` says.
    """

    def __init__(
        self,
        found: DiscoveredPlugin,
        settings: Mapping[str, Json],
        *,
        repo_root: Path,
        environ: Mapping[str, str],
        memory: int = 0,
        start_limit: timedelta = START_LIMIT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.key = found.key
        self._found = found
        self._settings = dict(settings)
        self._cwd = repo_root
        self._environ = inputs.environment(environ, found.manifest.requires_env if found.manifest else ())
        self._memory = memory
        self._start_limit = start_limit
        self._clock = clock
        self._log = PluginLog(found.key)
        self._starting = asyncio.Lock()
        self._child: Child | None = None
        self._registered = Registered()
        self._flights: dict[int, RunningCall] = {}
        self._numbers = itertools.count(1)
        self._deaths = 0
        self._not_before = clock()

    async def start(self) -> Registered:
        """Start the process if it does not run, and return what the plugin registered; raises ExtensionError."""
        await self._living()
        return self._registered

    async def run(self, call: HookCall, services: Services, limit: timedelta) -> Outcome:
        """Run one hook in the process and return its outcome; raises HookFailed."""
        living = await self._living_for(call)
        deadline = Deadline(limit)
        number = next(self._numbers)
        flight = self._flights[number] = RunningCall(services, deadline)
        try:
            async with deadline:
                outcome = await _outcome(living, interface.HookRequest(number=number, call=call))
        except TimeoutError as error:
            await living.end(f"{call.hook} of {call.plan_id} took too long", spared=True)
            text = f"{call.hook} took longer than {limit.total_seconds():g} s and was stopped"
            raise HookFailed(f"plugin {self.key}: {text}", kind="overran") from error
        except RpcError as error:
            self._log.recorded(logging.INFO, "\n".join(error.data or ()))
            raise HookFailed(str(error)) from error
        except ProtocolError as error:
            raise HookFailed(f"plugin {self.key}: {call.hook} could not be called: {error}") from error
        except ConnectionLostError as error:
            raise self._lost(living, call, str(error)) from error
        finally:
            del self._flights[number]
            flight.end()
        self._deaths = 0
        return outcome

    async def stop(self) -> None:
        """Kill the process and all that it started."""
        if self._child is not None:
            await self._child.end("it was stopped", spared=True)

    async def _living_for(self, call: HookCall) -> Child:
        try:
            return await self._living()
        except HookFailed:
            raise
        except ExtensionError as error:
            raise HookFailed(f"{error}; {call.hook} did not run") from error

    async def _living(self) -> Child:
        """Return the process, started if need be; raises ExtensionError where that fails."""
        async with self._starting:
            if self._child is None or self._child.how is not None:
                wait = timedelta(seconds=self._not_before - self._clock())
                if wait > timedelta(0):
                    seconds = wait.total_seconds()
                    text = f"its process died {self._deaths} times in a row; it is started again in {seconds:.0f} s"
                    raise HookFailed(f"plugin {self.key}: {text}", kind="waiting", retry_after=wait)
                self._child = await self._started()
            return self._child

    async def _started(self) -> Child:
        try:
            started = await child.spawn(
                environ=self._environ, cwd=self._cwd, log=self._log, answer=self._answer, hear=self._hear
            )
        except ExtensionError as error:
            raise ExtensionError(f"plugin {self.key} could not be loaded: {error}") from error
        started.on_end(self._count)
        try:
            self._registered = await self._initialized(started)
        except BaseException:
            await started.end("it could not be loaded")
            raise
        return started

    async def _initialized(self, started: Child) -> Registered:
        asked = interface.InitializeRequest(
            found=self._found, settings=self._settings, log_level=self._log.level, memory=self._memory
        )
        failed = f"plugin {self.key} could not be loaded"
        try:
            async with asyncio.timeout(self._start_limit.total_seconds()):
                return record.from_wire(Registered, await started.request(interface.INITIALIZE, asked))
        except RpcError as error:
            raise ExtensionError(str(error)) from error
        except TimeoutError as error:
            raise ExtensionError(f"{failed}: it took longer than {self._start_limit.total_seconds():g} s") from error
        except ConnectionLostError as error:
            raise ExtensionError(f"{failed}: its process died: {error}") from error
        except (ProtocolError, msgspec.ValidationError) as error:
            raise ExtensionError(f"{failed}: {error}") from error

    def _count(self, gone: Child) -> None:
        """Record that a process has ended: one that died by itself delays the next start."""
        if not gone.spared:
            self._deaths += 1
            self._not_before = self._clock() + restart_delay(self._deaths, self.key).total_seconds()

    def _lost(self, gone: Child, call: HookCall, how: str) -> HookFailed:
        if gone.spared:
            text = f"its process was stopped while {call.hook} ran ({how}); prloom runs {call.hook} again"
            return HookFailed(f"plugin {self.key}: {text}", kind="stopped")
        return HookFailed(f"plugin {self.key}: its process died while {call.hook} ran: {how}", kind="died")

    async def _answer(self, method: str, params: Json) -> Json:
        number = None
        if isinstance(params, dict):
            number = params.get("number")
        flight = None
        if isinstance(number, int):
            flight = self._flights.get(number)
        if flight is None:
            raise RpcError("the call that this belongs to has ended", jsonrpc.INVALID_REQUEST)
        return await flight.answer(method, params)

    def _hear(self, method: str, params: Json) -> None:
        if method == interface.LOG and isinstance(params, dict):
            self._log.recorded(params.get("level"), params.get("message"))


async def _outcome(living: Child, asked: interface.HookRequest) -> Outcome:
    wire = await living.request(interface.HOOK, asked)
    try:
        return record.from_wire(Outcome, wire)
    except msgspec.ValidationError as error:
        how = f"its answer is not a valid outcome: {error}"
        await living.end(how)
        raise ConnectionLostError(how) from error
