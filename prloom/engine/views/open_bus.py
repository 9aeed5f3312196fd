"""Open a bus for reading, and say where it stands by now."""

from __future__ import annotations

from prloom.engine.bus import replay
from prloom.engine.views import snapshot
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir


def open_bus(repository: RepositoryPaths, plan_id: str) -> SafeDir | None:
    """Return the folder of a plan's bus, or of the repository's own (""); None if there is none yet."""
    if plan_id:
        root = repository.worktree(plan_id)
    else:
        root = repository.root
    return SafeDir.open(root, *paths.LOCAL, paths.BUS)


def state(bus: SafeDir) -> DispatchState:
    """Return where the bus stands, with every decision folded in."""
    return replay.current(bus, snapshot.saved(bus))
