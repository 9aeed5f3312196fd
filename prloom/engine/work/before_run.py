"""Remember the state of the repository before a worker runs, in the main checkout, to find what the worker moved."""

from __future__ import annotations

from pathlib import Path

import msgspec

from prloom.agents.agent import Remote
from prloom.core.work.repository_changes import RepositoryState
from prloom.model import record
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir


def save(root: Path, plan_id: str, state: RepositoryState) -> None:
    """Remember the state before a plan's worker runs; it is there after a crash, too."""
    with SafeDir.make(root, *paths.LOCAL, paths.BEFORE_RUN) as folder:
        Document(folder, f"{plan_id}.json").save(record.to_wire(state))


def load(root: Path, plan_id: str) -> RepositoryState | None:
    """Return the state before the latest run of a plan's worker; None where that is not known."""
    folder = SafeDir.open(root, *paths.LOCAL, paths.BEFORE_RUN)
    if folder is None:
        return None
    with folder:
        value = Document(folder, f"{plan_id}.json").load().value
    try:
        return None if value is None else record.from_wire(RepositoryState, value)
    except msgspec.ValidationError:
        return None


def remotes(state: RepositoryState) -> tuple[Remote, ...]:
    """Return the remotes that the repository's configuration names, to which a worker must not push."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for settings in state.settings.values():
        for key, values in (settings or {}).items():
            section, _, rest = key.partition(".")
            name, _, variable = rest.rpartition(".")
            if section == "remote" and variable in {"url", "pushurl"}:
                found.setdefault(name, {})[variable] = values
    return tuple(Remote(urls=each.get("url", ()), push_urls=each.get("pushurl", ())) for each in found.values())
