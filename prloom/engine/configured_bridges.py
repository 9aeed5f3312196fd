"""Load the bridges that the configuration names."""

from __future__ import annotations

from pathlib import Path

from prloom.config.models import BridgeSection, Config, CustomBridgeSection
from prloom.core.text import naming
from prloom.errors import WorkspaceError
from prloom.extensions import bridges
from prloom.extensions.bridges import LoadedBridges
from prloom.workspace import repository


def load(root: Path, config: Config) -> LoadedBridges:
    """Return the bridges that the configuration names."""
    tables = {name: _table(section) for name, section in config.bridges.named().items()}
    if "github" in tables and not tables["github"].get("repo"):
        tables["github"]["repo"] = _repository_at_origin(root, config.bridges.github.api_url)
    return bridges.load(tables, repo_root=root)


def _repository_at_origin(root: Path, api_url: str) -> str:
    """Return `owner/name` of the repository if origin is on GitHub, else an empty text: the bridge is idle."""
    try:
        url = repository.origin_url(repository.find(root))
    except WorkspaceError:
        return ""
    if url:
        return naming.owner_and_name(url, api_url) or ""
    return ""


def _table(section: BridgeSection) -> dict[str, object]:
    """Return a bridge's table; where a bridge of your own has no poll interval there, the one in its code counts."""
    table: dict[str, object] = {"enabled": section.enabled, **section.settings}
    if "poll_interval" in section.model_fields_set or not isinstance(section, CustomBridgeSection):
        table["poll_interval"] = section.poll_interval
    if isinstance(section, CustomBridgeSection):
        table["module"] = section.module
    return table
