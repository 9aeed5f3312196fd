"""Load the bridges that the configuration names."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from prloom.config.bridges import BridgeSection, CustomBridgeSection
from prloom.config.models import Config
from prloom.errors import WorkspaceError
from prloom.extensions import bridges
from prloom.extensions.bridges import LoadedBridges
from prloom.workspace import repository


def load(root: Path, config: Config, *, only: str | None = None) -> LoadedBridges:
    """Return the bridges that the configuration names; a bridge may look where `origin` of this repository is.

    With `only`, the code of the other bridges is not executed.
    """
    return bridges.load(_tables(config), repo_root=root, remote=partial(_origin, root), only=only)


def enabled(config: Config) -> tuple[str, ...]:
    """Return the names of the bridges that `load` loads; none of their code is executed."""
    return bridges.enabled(_tables(config))


def _tables(config: Config) -> dict[str, dict[str, object]]:
    return {name: _table(section) for name, section in config.bridges.named().items()}


def _origin(root: Path) -> str | None:
    try:
        return repository.origin_url(repository.find(root))
    except WorkspaceError:
        return None


def _table(section: BridgeSection) -> dict[str, object]:
    """Return a bridge's table; where a bridge of your own has no poll interval there, the one in its code counts."""
    table: dict[str, object] = {"enabled": section.enabled, **section.settings}
    if "poll_interval" in section.model_fields_set or not isinstance(section, CustomBridgeSection):
        table["poll_interval"] = section.poll_interval
    if isinstance(section, CustomBridgeSection):
        table["module"] = section.module
    return table
