"""Find a plugin, and run its hooks for a test: in this process, so that a debugger works, or in one of its own."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar

import msgspec

from prloom import bundled
from prloom.api import Json, Manifest, PluginContext, context
from prloom.api.context import Services
from prloom.api.plugin import Registrations
from prloom.errors import ExtensionError
from prloom.extensions import calling, discovery, inputs, loading
from prloom.extensions.discovery import DiscoveredPlugin, PluginPaths
from prloom.extensions.host import interface
from prloom.extensions.host.interface import PluginHost, Registered
from prloom.extensions.jsonrpc import RpcError
from prloom.model import record
from prloom.model.hook import HookCall, Outcome

T = TypeVar("T")
Register = Callable[[PluginContext], Any]
_ROUNDS = 20  # of the event loop: a chunk of output takes about four from the pipe to the log
_NOWHERE = ModuleType("nowhere")


class Runner(Protocol):
    """Runs one plugin; a call ends in its outcome, or in an ExtensionError that says what went wrong."""

    key: str

    def start(self) -> Registered:
        """Load the plugin, if it is not loaded, and return what it registered; raises ExtensionError."""

    def run(self, call: HookCall, services: Services, limit: timedelta | None = None) -> Outcome:
        """Run one hook and return all that it requested; raises ExtensionError. `limit` is by default that of hooks."""

    def stop(self) -> None:
        """End the plugin."""


class DirectRunner:
    """A plugin in this thread: what it raises is the cause of the error, and a breakpoint in it works."""

    def __init__(self, key: str, load: Callable[[], tuple[Registrations, tuple[str, ...]]]) -> None:
        self.key = key
        self._load = load
        self._made: Registrations | None = None
        self._warnings: tuple[str, ...] = ()

    def start(self) -> Registered:
        """Load the plugin, if it is not loaded, and return what it registered; raises ExtensionError."""
        return interface.registered(self._loaded(), self._warnings)

    def run(self, call: HookCall, services: Services, limit: timedelta | None = None) -> Outcome:
        """Run one hook, however long it takes; raises ExtensionError, whose cause is what the plugin raised."""
        made = self._loaded()
        own = record.decode(HookCall, msgspec.json.encode(call))  # the plugin may change what it is given
        return _outside_loops(lambda: calling.run_hook(self.key, made, own, services))

    def stop(self) -> None:
        """Forget the plugin."""
        self._made = None

    def _loaded(self) -> Registrations:
        if self._made is None:
            self._made, self._warnings = self._load()
        return self._made


class HostedRunner:
    """A plugin in one of the dispatcher's hosts, with an event loop that runs while a call does."""

    def __init__(self, host: PluginHost, limit: timedelta = timedelta(seconds=30)) -> None:
        self.key = host.key
        self._host = host
        self._limit = limit
        self._loop = asyncio.Runner()
        self._registered: Registered | None = None

    def start(self) -> Registered:
        """Start the host for the first time, and return what the plugin registered; raises ExtensionError."""
        if self._registered is None:
            self._registered = self._loop.run(_with_output(self._host.start()))
        return self._registered

    def run(self, call: HookCall, services: Services, limit: timedelta | None = None) -> Outcome:
        """Run one hook in the host; raises HookFailed."""
        return self._loop.run(_with_output(self._host.run(call, services, limit or self._limit)))

    def stop(self) -> None:
        """End the host and the loop."""
        self._loop.run(self._host.stop())
        self._loop.close()


async def _with_output(work: Awaitable[T]) -> T:
    """Return what the work returns, once the loop has read what the plugin printed before that."""
    try:
        return await work
    finally:
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)


def find_plugin(path: str | Path) -> DiscoveredPlugin:
    """Return the plugin whose folder or `.py` file this is (an `__init__.py` stands for its folder).

    None of its code is run. Raises ExtensionError where there is no plugin.
    """
    file = Path(path).absolute()
    if file.name == "__init__.py":
        file = file.parent
    if not file.exists():
        raise ExtensionError(f"there is no {file}; give the folder of a plugin, or its .py file")
    paths = PluginPaths(project=file.parent, installed=False)
    if file.parent == bundled.folder("plugins"):
        paths = PluginPaths(bundled=file.parent, installed=False)
    for found in discovery.discover(paths):
        if Path(found.path) == file:
            return found
    raise ExtensionError(f"{file} is not a plugin; it needs an __init__.py with `def register(ctx):`")


def of_folder(found: DiscoveredPlugin, values: Mapping[str, Json]) -> DirectRunner:
    """Return the runner of a plugin that lies in a folder or a file; `values` are its settings."""

    def load() -> tuple[Registrations, tuple[str, ...]]:
        loaded = loading.load(found, values)
        if loaded.registrations is None:
            raise ExtensionError(loaded.error or f"plugin {found.key} could not be loaded")
        return loaded.registrations, loaded.warnings

    return DirectRunner(found.key, load)


def of_function(register: Register, values: Mapping[str, Json], key: str) -> DirectRunner:
    """Return the runner of a plugin that is a `register` function; the `Config` of its module checks the settings."""

    def load() -> tuple[Registrations, tuple[str, ...]]:
        module = sys.modules.get(getattr(register, "__module__", ""), _NOWHERE)
        config, warnings = inputs.config(key, module, values)
        file = getattr(module, "__file__", None)  # what is typed in at a prompt has none
        if file:
            folder = Path(file).parent
        else:
            folder = Path()
        ctx = PluginContext(key, Manifest(name=key), config, folder=folder)
        register(ctx)
        return ctx.registrations, (*warnings, *ctx.registrations.warnings)

    return DirectRunner(key, load)


def _outside_loops(work: Callable[[], T]) -> T:
    """Return what the function returns; where this thread has an event loop running, in another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is waited for
            errors.append(error)

    thread = threading.Thread(target=run, name="plugin hook")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


class _CaptureHandler(logging.Handler):
    """Keeps each record, and passes on those that would have been logged without it."""

    def __init__(self, log: logging.Logger) -> None:
        super().__init__(logging.DEBUG)
        self._log = log
        self._usual = log.getEffectiveLevel()
        # What comes from a process names the plugin again.
        self._prefix = f"plugin {log.name.removeprefix(context.LOGGERS)}: "
        self.lines: list[str] = []

    def emit(self, entry: logging.LogRecord) -> None:
        self.lines.append(f"{entry.levelname.lower()}: {entry.getMessage().removeprefix(self._prefix)}")
        if entry.levelno >= self._usual and self._log.parent is not None:
            self._log.parent.callHandlers(entry)


@contextmanager
def capture(key: str) -> Iterator[list[str]]:
    """Capture what the plugin of this key logs meanwhile, each record as `level: message`."""
    log = context.plugin_logger(key)
    handler, level, propagate = _CaptureHandler(log), log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield handler.lines
    finally:
        log.propagate = propagate
        log.setLevel(level)
        log.removeHandler(handler)


def frames(error: BaseException) -> tuple[str, ...]:
    """Return the last steps through the plugin's own code that led to an error, in whichever process they were."""
    step: BaseException | None = error
    while step is not None:
        if isinstance(step, RpcError) and step.data:
            return tuple(str(line) for line in step.data)
        if found := loading.plugin_frames(step):
            return found
        step = step.__cause__
    return ()
