"""Remember which tools a person has allowed for a plan once and for all; in the main checkout, out of the worktree."""

from __future__ import annotations

from prloom.model.record import Json
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

_Key = tuple[str, str, str]


class AllowedTools:
    """The tools that need no more confirmation: by plan, plugin and name."""

    def __init__(self, local: SafeDir) -> None:
        self._document = Document(local.make_sub(paths.BUS, paths.BUS_STATE), paths.ALLOWED_TOOLS)
        self._allowed = _read(self._document.load().value)

    def has(self, plan_id: str, plugin: str, tool: str) -> bool:
        """Whether a tool of a plugin is allowed for a plan."""
        return (plan_id, plugin, tool) in self._allowed

    def add(self, plan_id: str, plugin: str, tool: str) -> None:
        """Allow a tool of a plugin for a plan from now on; raises StorageError."""
        allowed = {*self._allowed, (plan_id, plugin, tool)}
        entries = [{"plan": plan, "plugin": key, "tool": name} for plan, key, name in sorted(allowed)]
        self._document.save({"allowed": entries})
        self._allowed = allowed


def _read(value: dict[str, Json] | None) -> set[_Key]:
    listed = (value or {}).get("allowed")
    if not isinstance(listed, list):
        return set()
    found = set()
    for each in listed:
        if isinstance(each, dict):
            key = (each.get("plan"), each.get("plugin"), each.get("tool"))
            if all(isinstance(part, str) for part in key):
                found.add(key)
    return found  # type: ignore[return-value]
