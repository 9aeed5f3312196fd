"""Run a plugin in the dispatcher's own process, for debugging and tests, under the contract of a process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar, cast

import msgspec

from prloom.api.context import Services
from prloom.api.plugin import Registrations
from prloom.errors import ExtensionError
from prloom.extensions import calling, loading
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.host import interface
from prloom.extensions.host.interface import START_LIMIT, AgentRequest, HookFailed, Registered
from prloom.extensions.plugin_log import PluginLog
from prloom.extensions.running_call import Deadline, RunningCall
from prloom.model import record
from prloom.model.event import Event
from prloom.model.hook import HookCall, Outcome
from prloom.model.record import Json

T = TypeVar("T")


class InlineHost:
    """A plugin in this process; the methods do what `interface.PluginHost` says, but what hangs cannot be ended."""

    def __init__(
        self, found: DiscoveredPlugin, settings: Mapping[str, Json], *, start_limit: timedelta = START_LIMIT
    ) -> None:
        self.key = found.key
        self._found = found
        self._settings: Mapping[str, Json] = msgspec.json.decode(msgspec.json.encode(dict(settings)))
        self._start_limit = start_limit
        self._log = PluginLog(found.key)
        self._starting = asyncio.Lock()
        self._made: Registrations | None = None
        self._registered = Registered()

    async def start(self) -> Registered:
        """Load the plugin if it is not loaded, and return what it registered; raises ExtensionError."""
        await self._living()
        return self._registered

    async def run(self, call: HookCall, services: Services, limit: timedelta) -> Outcome:
        """Run one hook in a thread and return its outcome; raises HookFailed."""
        made = await self._living_for(call)
        deadline = Deadline(limit)
        flight = RunningCall(services, deadline)
        own = record.decode(HookCall, msgspec.json.encode(call))  # the plugin may change what it is given
        local = _Local(self.key, flight, asyncio.get_running_loop())
        try:
            async with deadline:
                return await _in_thread(lambda: calling.run_hook(self.key, made, own, local))
        except TimeoutError as error:
            text = f"{call.hook} took longer than {limit.total_seconds():g} s and was stopped"
            raise HookFailed(f"plugin {self.key}: {text}", kind="overran") from error
        except ExtensionError as error:
            self._log.recorded(logging.INFO, "\n".join(loading.plugin_frames(error.__cause__ or error)))
            raise HookFailed(str(error)) from error
        finally:
            flight.end()

    async def stop(self) -> None:
        """Forget the plugin; what still runs of it runs on, and takes no effect."""
        self._made = None

    async def _living_for(self, call: HookCall) -> Registrations:
        try:
            return await self._living()
        except ExtensionError as error:
            raise HookFailed(f"{error}; {call.hook} did not run") from error

    async def _living(self) -> Registrations:
        async with self._starting:
            if self._made is None:
                self._made = await self._load()
            return self._made

    async def _load(self) -> Registrations:
        try:
            async with asyncio.timeout(self._start_limit.total_seconds()):
                made, self._registered = await _in_thread(self._introduce)
        except TimeoutError as error:
            seconds = self._start_limit.total_seconds()
            raise ExtensionError(f"plugin {self.key} could not be loaded: it took longer than {seconds:g} s") from error
        return made

    def _introduce(self) -> tuple[Registrations, Registered]:
        loaded = loading.load(self._found, self._settings)
        if loaded.registrations is None:
            raise ExtensionError(loaded.error or f"plugin {self.key} could not be loaded")
        return loaded.registrations, interface.registered(loaded.registrations, loaded.warnings)


class _Local:
    """The services of one call, asked for from the hook's thread; agents run in the dispatcher's loop."""

    def __init__(self, key: str, flight: RunningCall, loop: asyncio.AbstractEventLoop) -> None:
        self._key = key
        self._flight = flight
        self._loop = loop

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        asked = AgentRequest(number=0, prompt=prompt, files=tuple(files), stage=stage, model=model)
        with self._explained("run_agent"):
            return await asyncio.wrap_future(
                asyncio.run_coroutine_threadsafe(self._flight.run_agent(asked), self._loop)
            )

    def read_events(
        self, *, types: Sequence[str] | None, since_id: str | None, limit: int
    ) -> tuple[Sequence[Event], str | None]:
        with self._explained("read_events"):
            return self._flight.services.read_events(types=types, since_id=since_id, limit=limit)

    def read_plan(self, plan_id: str) -> str:
        with self._explained("read_plan"):
            return self._flight.services.read_plan(plan_id)

    @contextlib.contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise ExtensionError(f"plugin {self._key}: {name}: {error}") from error


async def _in_thread(work: Callable[[], T]) -> T:
    """Return the function's result; it runs in a daemon thread, so that the program can end while it hangs."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():  # nothing waits for it any more
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(cast("T", result))

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001 - it is raised where the future is awaited
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="plugin hook", daemon=True).start()
    return await future
