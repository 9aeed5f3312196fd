"""Execute a plugin's module and let it register; say in one line what a plugin raised."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from prloom.api import hooks
from prloom.api.manifest import Manifest
from prloom.api.plugin import PluginContext, Registrations
from prloom.errors import ExtensionError, leaves
from prloom.extensions import inputs, keys
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.model.record import Json


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin after its registration: what it registered, or the error that it ended with."""

    key: str
    registrations: Registrations | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()


def load(found: DiscoveredPlugin, values: Mapping[str, Json]) -> LoadedPlugin:
    """Execute the plugin and let it register; `values` are its table of `[plugins.settings.<name>]`.

    Whatever the plugin raises, `SystemExit` included, becomes its error; only what a person interrupts is passed on.
    """
    before = _modules(found)
    try:
        return _registered(found, values)
    except BaseException as error:
        _restore(found, before)
        if is_interrupt(error):
            raise
        if isinstance(error, ExtensionError):
            text = str(error)
        else:
            text = describe_error(error)
        if text.startswith(f"plugin {found.key}"):
            named = text
        else:
            named = f"plugin {found.key} could not be loaded: {text}"
        return LoadedPlugin(found.key, error=named, warnings=found.warnings)


def _registered(found: DiscoveredPlugin, values: Mapping[str, Json]) -> LoadedPlugin:
    if found.error is not None:
        raise ExtensionError(found.error)
    if found.is_tools_only:
        return LoadedPlugin(found.key, Registrations(), warnings=tuple(found.warnings))
    module, register = _entry(found)
    manifest = found.manifest or Manifest(name=found.key)
    config, warnings = inputs.config(found.key, module, values)
    ctx = PluginContext(found.key, manifest, config, folder=_folder(found, module))
    result = register(ctx)
    if inspect.isawaitable(result):
        _discard(result)
        raise ExtensionError(f"plugin {found.key}: register must be a plain function, not an async one")
    made = ctx.registrations
    # A copy: what the plugin registers later, from a thread say, does not count.
    kept = Registrations(list(made.hooks), list(made.commands), list(made.tools), list(made.skills))
    warned = (*found.warnings, *warnings, *made.warnings, *_broken_promises(found.key, manifest, kept))
    return LoadedPlugin(found.key, kept, warnings=warned)


def _entry(found: DiscoveredPlugin) -> tuple[ModuleType, Callable[[PluginContext], Any]]:
    """Execute the plugin's module and return it with its `register`."""
    if found.entry_point is None:
        module: Any = execute(keys.module_name(found.key), found.code)
        register = getattr(module, "register", None)
    else:
        name, _, attribute = found.entry_point.partition(":")
        module = register = importlib.import_module(name.strip())
        for part in filter(None, attribute.strip().split(".")):
            register = getattr(register, part)
        if not callable(register):
            register = getattr(register, "register", None)
    if register is None:
        raise ExtensionError(f"plugin {found.key} has no register; add `def register(ctx):` to {_written_in(found)}")
    if not callable(register):
        raise ExtensionError(f"plugin {found.key}: register is {register!r}; make it a function register(ctx)")
    return module, register


def execute(name: str, file: Path, *, bundled: bool = False) -> ModuleType:
    """Execute a file as the module of this name, which is in `sys.modules` before it runs.

    An `__init__.py` becomes a package, so that relative imports find its neighbours. Only of what comes with prloom
    (`bundled`) does Python keep the bytecode. Raises what the code raises.
    """
    parent_name, _, last = name.rpartition(".")
    parent = sys.modules.get(parent_name)
    if parent is None:
        parent = sys.modules[parent_name] = ModuleType(parent_name, "The extensions that prloom has loaded.")
        parent.__path__ = []
    folder = None
    if file.name == "__init__.py":
        folder = [str(file.parent)]
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folder)
    if spec is None or spec.loader is None:
        raise ExtensionError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _bytecode(kept=bundled):
        spec.loader.exec_module(module)
    setattr(parent, last, module)
    return module


@contextlib.contextmanager
def _bytecode(*, kept: bool) -> Iterator[None]:
    """Let Python write no `__pycache__` into the operator's checkout while an extension is imported, unless `kept`."""
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = before or not kept
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _own(found: DiscoveredPlugin) -> str:
    if found.entry_point:
        return found.entry_point.partition(":")[0].strip()
    return keys.module_name(found.key)


def _modules(found: DiscoveredPlugin) -> dict[str, ModuleType]:
    """Return what `sys.modules` has of the plugin; what an earlier load left there is taken out, to be loaded anew."""
    name = _own(found)
    # A copy: other threads import meanwhile, and `list(sys.modules.items())` can collect garbage, which may import too.
    there = {key: module for key, module in sys.modules.copy().items() if key == name or key.startswith(f"{name}.")}
    if found.entry_point is None:
        for key in there:
            del sys.modules[key]
    return there


def _restore(found: DiscoveredPlugin, before: Mapping[str, ModuleType]) -> None:
    """Leave `sys.modules` as if the plugin had never been loaded."""
    name = _own(found)
    for key in [key for key in sys.modules.copy() if key == name or key.startswith(f"{name}.")]:
        del sys.modules[key]
    sys.modules.update(before)


def _folder(found: DiscoveredPlugin, module: ModuleType) -> Path:
    if found.entry_point is None:
        return found.code.parent
    if module.__file__:
        return Path(module.__file__).parent
    return Path()


def _written_in(found: DiscoveredPlugin) -> str:
    if found.entry_point is None:
        return str(found.code)
    return found.entry_point


def _discard(result: object) -> None:
    if inspect.iscoroutine(result):
        result.close()  # so that Python does not warn of a coroutine that was never awaited


def _broken_promises(key: str, manifest: Manifest, made: Registrations) -> list[str]:
    """Return a warning for each thing that the manifest announces and `register` did not register."""
    promised_hooks = set(filter(None, map(hooks.canonical, manifest.provides_hooks)))
    if manifest.background is not None:
        promised_hooks = set()  # the daemon answers those that the code does not register
    promises = (
        ("hook", promised_hooks, {h.name for h in made.hooks}),
        ("command", {n.removeprefix("/") for n in manifest.provides_commands}, {c.name for c in made.commands}),
        ("tool", set(manifest.provides_tools), {tool.name for tool in made.tools}),
    )
    return [
        f"plugin {key}: its manifest lists the {what} {name!r}, but the plugin did not register it"
        for what, promised, kept in promises
        for name in sorted(promised - kept)
    ]


_LONGEST = 500  # characters of an exception's text: it may quote a whole comment


def describe_error(error: BaseException) -> str:
    """Return the exception's type, its text and the plugin's line that it came from; of a group, those of the first."""
    error = next(leaves(error), error)
    text = type(error).__name__
    said = " ".join(_said(error).split())
    if said:
        text += f": {said if len(said) <= _LONGEST else said[: _LONGEST - 1] + '…'}"
    own = plugin_frames(error)
    if own:
        return f"{text} ({own[-1]})"
    return text


def plugin_frames(error: BaseException, *, most: int = 5) -> tuple[str, ...]:
    """Return the last steps through the plugin's own code, each as `file, line N, in function`."""
    steps = list(_steps(error.__traceback__))
    own = [step for module, step in steps if module.startswith(f"{keys.PACKAGE}.")]
    return tuple(own[-most:])


def is_interrupt(error: BaseException) -> bool:
    """Whether a person interrupted the program, and the extension's code did not raise the error itself.

    A person only reaches the main thread. There the handler of the signal raises the error: Python's own has no frame,
    so that nothing shows who it was; that of asyncio has one.
    """
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        return True
    raised_in = [frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return raised_in[-1:] == ["asyncio.runners"]


def _steps(trace: TracebackType | None) -> list[tuple[str, str]]:
    found = []
    for frame, line in traceback.walk_tb(trace):
        code = frame.f_code
        module = str(frame.f_globals.get("__name__", ""))
        found.append((module, f"{Path(code.co_filename).name}, line {line}, in {code.co_name}"))
    return found


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception's own __str__ may raise anything
        return "(its text cannot be shown)"
