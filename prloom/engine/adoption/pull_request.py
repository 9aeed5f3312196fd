"""Begin to look after a pull request of a forge: ask for it, fetch its branch, and adopt that."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime

from prloom.api.bridge import BridgeContext
from prloom.api.forge import Forge, PullRequest
from prloom.config.models import Config
from prloom.core import bounds
from prloom.engine import assembly
from prloom.engine.adoption import adopt
from prloom.engine.bus import plans
from prloom.engine.polling.network import Network
from prloom.errors import PrloomError
from prloom.extensions.bridges import LoadedBridge, LoadedBridges
from prloom.model.plan import Plan
from prloom.model.record import Timestamp
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import repository
from prloom.workspace.repository import Repository


async def adopt_pull_request(
    repo: Repository,
    config: Config,
    number: int,
    *,
    plan_id: str | None,
    preset: str | None,
    environ: Mapping[str, str],
    now: datetime,
) -> Plan:
    """Look after a pull request and return its plan. To adopt it is to vouch for its title and body as they are now.

    Raises PrloomError where no forge is known, it has no such pull request, or that is over.
    """
    loaded = assembly.load_bridges(repo.root, config)
    forge = _only_forge(loaded)
    found = await _open_pull_request(repo, loaded, forge, number, environ=environ, now=now)
    branch = await asyncio.to_thread(
        repository.fetch_pull_request, repo, branch=found.branch, ref=found.ref, number=number, fork=found.fork
    )
    plan = Plan(
        id=plan_id or adopt.default_id(plans.locate(repo.root, config.worktrees_dir), number, branch),
        branch=branch,
        title=bounds.title(found.title),
        pr=number,
        forge=forge.targets[0],
        url=found.url,
        preset=preset,
        created_at=Timestamp.of(now),
    )
    return await asyncio.to_thread(adopt.adopt, repo, config, plan, body=found.body)


def _only_forge(loaded: LoadedBridges) -> LoadedBridge:
    """Return the bridge to the forge; raises PrloomError where there is none, or several."""
    forges = [bridge for bridge in loaded.loaded if isinstance(bridge.bridge, Forge)]
    if len(forges) == 1:
        return forges[0]
    if forges:
        names = ", ".join(bridge.name for bridge in forges)
        raise PrloomError(f"several bridges connect to a forge ({names}); disable all but one in prloom.toml")
    raise PrloomError("no bridge to a forge is enabled; adopt the branch with `prloom adopt --branch B`")


async def _open_pull_request(
    repo: Repository,
    loaded: LoadedBridges,
    forge: LoadedBridge,
    number: int,
    *,
    environ: Mapping[str, str],
    now: datetime,
) -> PullRequest:
    """Ask the forge for the pull request; raises PrloomError where it cannot be looked after."""
    state = SafeDir.open(repo.root, *paths.LOCAL, paths.BUS, paths.BUS_STATE)
    network = Network(loaded, environ, lambda: now, state)
    context = BridgeContext(repo_root=repo.root, plans=(), now=now, http=network.client(forge.name))
    assert isinstance(forge.bridge, Forge)  # noqa: S101 - it was chosen for that
    try:
        found = await forge.bridge.pull_request(context, number)
    finally:
        await network.close()
        if state is not None:
            state.close()
    if found is None:
        raise PrloomError(f"{forge.name} has no pull request #{number}, or the token has no access to it")
    if found.state != "open":
        raise PrloomError(f"pull request #{number} is {found.state}; it cannot be adopted")
    return found
