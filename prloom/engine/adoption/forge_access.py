"""Give a command access to the forge: its bridge, and a client with the token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from prloom.api.bridge import BridgeContext, Permissions
from prloom.api.forge import Forge
from prloom.config.models import Config
from prloom.engine import configured_bridges
from prloom.engine.polling.network import Network
from prloom.errors import PrloomError
from prloom.extensions.bridges import LoadedBridge, LoadedBridges
from prloom.extensions.checked_forge import CheckedForge
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace.repository import Repository


@dataclass(frozen=True)
class ConnectedForge:
    """A forge, the target by which actions go to it, and what a call of it needs.

    `permissions` is its bridge where that knows what an account may do, else None.
    """

    name: str
    target: str
    forge: Forge
    context: BridgeContext
    permissions: Permissions | None = None


@asynccontextmanager
async def connect(
    repo: Repository, config: Config, environ: Mapping[str, str], now: datetime
) -> AsyncIterator[ConnectedForge]:
    """Give access to the only forge; raises PrloomError where there is none, or several."""
    loaded = configured_bridges.load(repo.root, config)
    found = only_forge(loaded)
    assert isinstance(found.bridge, Forge)  # noqa: S101 - it was chosen for that
    state = SafeDir.open(repo.root, *paths.LOCAL, paths.BUS, paths.BUS_STATE)
    network = Network(loaded, environ, lambda: now, state)
    context = BridgeContext(repo_root=repo.root, plans=(), now=now, http=network.client(found.name))
    permissions = None
    if isinstance(found.bridge, Permissions):
        permissions = found.bridge
    try:
        yield ConnectedForge(found.name, found.targets[0], CheckedForge(found.bridge), context, permissions)
    finally:
        await network.close()
        if state is not None:
            state.close()


def only_forge(loaded: LoadedBridges) -> LoadedBridge:
    """Return the only bridge to a forge; raises PrloomError where there is none, or several."""
    # Where none can be used, the one that is there says why.
    forges = loaded.forges() or [bridge for bridge in loaded.loaded if isinstance(bridge.bridge, Forge)]
    if len(forges) == 1:
        return forges[0]
    if forges:
        names = ", ".join(bridge.name for bridge in forges)
        raise PrloomError(f"several bridges connect to a forge ({names}); disable all but one in prloom.toml")
    raise PrloomError("no bridge to a forge is enabled; adopt the branch with `prloom adopt --branch B`")
