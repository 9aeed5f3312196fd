"""Find and load the bridges: those that come with prloom, and those that prloom.toml names."""

from __future__ import annotations

import inspect
import logging
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple, Protocol

from prloom import bundled
from prloom.api.bridge import Acknowledges, Bridge, UsesOrigin
from prloom.api.forge import Forge
from prloom.config import durations
from prloom.config.bridges import BridgeSection
from prloom.config.problems import InvalidValue
from prloom.errors import ExtensionError
from prloom.extensions import bridge_calls, bridge_shape, inputs, keys, loading
from prloom.model.action import React
from prloom.model.event import Event
from prloom.model.record import Json

log = logging.getLogger(__name__)

POLL_INTERVAL = BridgeSection().poll_interval
"""How often a source is asked where neither the configuration nor the bridge says it."""

PRLOOMS_KEYS = BridgeSection.common_keys()
"""Keys of a bridge's table that are prloom's, not the bridge's."""

BUNDLED_SOURCE = "bundled"
"""The source of a bridge that comes with prloom; that of any other is its `module`, as it is configured."""

Settings = Mapping[str, Json]


@dataclass(frozen=True)
class LoadedBridge:
    """A bridge that can be used. `name` is that of its table in the configuration, which is unique."""

    name: str
    source: str
    bridge: Bridge
    targets: tuple[str, ...]
    poll_interval: timedelta


class FailedBridge(NamedTuple):
    """A bridge that cannot be used, and one line that says why."""

    name: str
    error: str


@dataclass(frozen=True)
class LoadedBridges:
    """What became of every bridge that was found or configured."""

    loaded: tuple[LoadedBridge, ...] = ()
    failed: tuple[FailedBridge, ...] = ()
    disabled: tuple[str, ...] = ()

    def claimant(self, target: str) -> LoadedBridge | None:
        """Return the bridge that delivers to this target, or None if none does."""
        return next((bridge for bridge in self.loaded if target in bridge.targets), None)

    def forges(self) -> tuple[LoadedBridge, ...]:
        """Return the bridges that connect to a forge and can be used now."""
        return tuple(each for each in self.loaded if isinstance(each.bridge, Forge) and _is_usable(each, each.bridge))

    def only_forge(self) -> LoadedBridge | None:
        """Return the one bridge that connects to a forge and can be used; None where there is none, or several."""
        forges = self.forges()
        if len(forges) == 1:
            return forges[0]
        return None

    def acknowledgement(self, event: Event) -> React | None:
        """Return the sign by which an event is acknowledged, from the bridge that its answers go through, if any."""
        if event.reply_to is None:
            bridge = None
        else:
            bridge = self.claimant(event.reply_to.target)
        if bridge is None or not isinstance(bridge.bridge, Acknowledges):
            return None
        try:
            sign = bridge_calls.run("acknowledgement", partial(bridge.bridge.acknowledgement, event))
        except ExtensionError as error:
            log.warning("bridge %s: %s; %s is not acknowledged", bridge.name, error, event.id)
            return None
        if isinstance(sign, React):
            return sign
        return None


def _is_usable(loaded: LoadedBridge, forge: Forge) -> bool:
    try:
        return bridge_calls.run("unavailable", forge.unavailable) is None
    except ExtensionError as error:
        log.warning("bridge %s: %s; its forge is not used", loaded.name, error)
        return False


@dataclass(frozen=True)
class _Candidate:
    """A bridge before its code has run. `file` is where its code is to be; None: there is none."""

    name: str
    source: str
    settings: Settings
    file: Path | None


def load(
    tables: Mapping[str, Settings],
    *,
    repo_root: Path,
    shipped: Path | None = None,
    remote: Callable[[], str | None] = lambda: None,
    only: str | None = None,
) -> LoadedBridges:
    """Load every bridge that is not disabled; `tables` are the tables of `[bridges]` by name, defaults included.

    `remote` returns the address of the git remote `origin`; it is called if a bridge wants to know the address.
    With `only`, the code of the other bridges is not executed.

    A bridge that cannot be loaded is listed as failed and the others go on; of a disabled one nothing is executed.
    Raises ExtensionError where two claim one target: it would be unclear which of them an action is for.
    """
    candidates = _candidates(tables, repo_root, shipped or bundled.folder("bridges"))
    enabled = [candidate for candidate in candidates if candidate.settings.get("enabled", True)]
    slugs = Counter(keys.slug(candidate.name) for candidate in enabled)
    loaded: list[LoadedBridge] = []
    failed: list[FailedBridge] = []
    for candidate in enabled:
        if only not in {None, candidate.name}:
            continue
        alone = slugs[keys.slug(candidate.name)] == 1
        try:
            loaded.append(bridge_calls.run("loading it", partial(_load, candidate, repo_root, remote, alone=alone)))
        except ExtensionError as error:
            _forget(_module_name(candidate.name))
            failed.append(FailedBridge(candidate.name, _one_line(f"bridge {_named(candidate)}: {error}")))
    refuse_shared_targets(loaded)
    disabled = tuple(candidate.name for candidate in candidates if candidate not in enabled)
    return LoadedBridges(tuple(loaded), tuple(failed), disabled)


def enabled(tables: Mapping[str, Settings]) -> tuple[str, ...]:
    """Return the names of the bridges that are not disabled; none of their code is executed."""
    candidates = _candidates(tables, Path(), bundled.folder("bridges"))
    return tuple(each.name for each in candidates if each.settings.get("enabled", True))


def _candidates(tables: Mapping[str, Settings], repo_root: Path, folder: Path | None) -> list[_Candidate]:
    shipped = {}
    if folder is not None:
        shipped = {name: package / "__init__.py" for name, package in bundled.packages(folder).items()}
    found = []
    for name in dict.fromkeys([*shipped, *tables]):
        settings = tables.get(name, {})
        module = settings.get("module")
        if module is not None:
            found.append(_Candidate(name, str(module), settings, repo_root / str(module)))
        else:
            found.append(_Candidate(name, BUNDLED_SOURCE, settings, shipped.get(name)))
    return found


def _load(candidate: _Candidate, repo_root: Path, remote: Callable[[], str | None], *, alone: bool) -> LoadedBridge:
    """Execute the bridge's module and make the bridge; whatever goes wrong is an ExtensionError."""
    if (wrong := keys.problem(candidate.name)) is not None:
        raise ExtensionError(wrong)
    if not alone:
        raise ExtensionError("another bridge's name differs only in '-' and '_'; rename one of the two")
    file = _code(candidate, repo_root)
    module = bridge_calls.run("its module", partial(_execute, candidate, file))
    create = getattr(module, "create", None)
    if not callable(create):
        raise ExtensionError(f"{file.name} has no create(config); add one that returns the bridge")
    config = bridge_calls.run("its Config", partial(_config, candidate, module))
    bridge = bridge_calls.run("create(config)", partial(create, config))
    targets = bridge_calls.run("the bridge", partial(bridge_shape.targets, bridge))
    if isinstance(bridge, UsesOrigin) and (url := remote()) is not None:
        bridge_calls.run("use_origin", partial(bridge.use_origin, url))
    interval = _interval(candidate.settings.get("poll_interval"), bridge)
    return LoadedBridge(candidate.name, candidate.source, bridge, targets, interval)


def _code(candidate: _Candidate, repo_root: Path) -> Path:
    """Return the file to execute: in the operator's own checkout, never in a pull request's worktree."""
    if candidate.file is None:
        raise ExtensionError('no bridge of this name comes with prloom; set its file with `module = "./FILE.py"`')
    if candidate.source == BUNDLED_SOURCE:
        return candidate.file
    path, root = candidate.file.resolve(), repo_root.resolve()
    if not path.is_relative_to(root):
        raise ExtensionError(f"its module {path} is outside the repository {root}; move it into the repository")
    between = [folder for folder in path.parents if folder.is_relative_to(root) and folder != root]
    if path.is_relative_to(root / "prloom" / ".local") or any(_is_worktree(folder) for folder in between):
        raise ExtensionError(f"its module {path} is in a plan's worktree; use the file in the main checkout")
    file = path
    if path.is_dir():
        file = path / "__init__.py"
    if not file.is_file():
        raise ExtensionError(f"there is no {file}; correct `module` in [bridges.{candidate.name}]")
    return file


def _is_worktree(folder: Path) -> bool:
    # A linked worktree has a file in the place of `.git` (gitrepository-layout(5)); a submodule's names no worktree.
    link = folder / ".git"
    return link.is_file() and "/worktrees/" in link.read_text("utf-8", "replace")


def _execute(candidate: _Candidate, file: Path) -> ModuleType:
    """Execute the module afresh, whatever Python remembers of an earlier load."""
    name = _module_name(candidate.name)
    _forget(name)
    return loading.execute(name, file, bundled=candidate.source == BUNDLED_SOURCE)


def _module_name(name: str) -> str:
    return f"{bridge_calls.PACKAGE}.{keys.slug(name)}"


def _forget(module_name: str) -> None:
    for known in [key for key in sys.modules.copy() if key == module_name or key.startswith(f"{module_name}.")]:
        del sys.modules[known]


def _config(candidate: _Candidate, module: ModuleType) -> Any:  # noqa: ANN401 - the bridge's own type
    """Return what `create` is given: the bridge's own `Config` (a pydantic model) if it has one, else a mapping."""
    own = {key: value for key, value in candidate.settings.items() if key not in PRLOOMS_KEYS}
    model = getattr(module, "Config", None)
    if model is None:
        return MappingProxyType(own)
    from pydantic import BaseModel, ValidationError  # noqa: PLC0415 - 70 ms that few bridges need

    if not (inspect.isclass(model) and issubclass(model, BaseModel)):
        raise ExtensionError("its Config is not a pydantic model; derive it from pydantic.BaseModel")
    try:
        return model.model_validate(own)
    except ValidationError as error:
        raise ExtensionError(f"[bridges.{candidate.name}] {inputs.problems(error, model)}") from error


def _interval(configured: Json, bridge: Bridge) -> timedelta:
    """Return how often to poll: as configured, or else as the bridge's own `poll_interval` says."""
    if configured is not None:
        wanted = configured
    else:
        wanted = getattr(bridge, "poll_interval", POLL_INTERVAL)
    try:
        return durations.parse(wanted)
    except InvalidValue as error:
        raise ExtensionError(f"poll_interval {error.what}; {error.now}") from error


class Claims(Protocol):
    """What is known of a bridge that claims targets; `source` says where its code is."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def targets(self) -> tuple[str, ...]: ...  # noqa: D102


def refuse_shared_targets(loaded: Sequence[Claims]) -> None:
    """Raise ExtensionError where two bridges claim one target."""
    claims: dict[str, Claims] = {}
    for bridge in loaded:
        for target in bridge.targets:
            rival = claims.setdefault(target, bridge)
            if rival is not bridge:
                raise ExtensionError(
                    f"the bridges {rival.name} ({rival.source}) and {bridge.name} ({bridge.source}) both claim the "
                    f"target {target!r}; disable one with `enabled = false` in [bridges.{bridge.name}]"
                )


def _named(candidate: _Candidate) -> str:
    if candidate.source == BUNDLED_SOURCE:
        return candidate.name
    return f"{candidate.name} ({candidate.source})"


def _one_line(text: str) -> str:
    """Return a text that may quote anything as one line without control characters."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(text.split()))
