"""Put events on a plan's bus by hand, as a source would."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from prloom.core import admission
from prloom.engine.bus import entries, plans
from prloom.engine.bus.worktree_guard import WorktreeGuard
from prloom.engine.views import search
from prloom.errors import PrloomError
from prloom.model.event import Event
from prloom.model.plan import Plan
from prloom.storage import paths
from prloom.storage.journal import Journal
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir


def plan(repository: RepositoryPaths, plan_id: str) -> Plan:
    """Return what is known of a plan; raises PrloomError where it cannot be read."""
    with _local(repository, plan_id) as local:
        return plans.load(local)


def append(repository: RepositoryPaths, plan_id: str, events: Sequence[Event], now: datetime) -> None:
    """Append events to a plan's bus, all or none; raises PrloomError where one of the ids is known already."""
    with _local(repository, plan_id) as local, local.make_sub(paths.BUS) as bus:
        for event in events:
            if search.find_event(bus, event.id, None) is not None:
                raise PrloomError(
                    f"plan {plan_id} already has an event {event.id}, so nothing was appended; "
                    f"`prloom why` shows what happened to it"
                )
        entries.append(Journal(bus, paths.EVENTS), [admission.shortened(event) for event in events], now)


def _local(repository: RepositoryPaths, plan_id: str) -> SafeDir:
    worktree = repository.worktree(plan_id)
    problem = WorktreeGuard(repository.root).problem(worktree)
    if problem is not None:
        raise PrloomError(problem)
    local = SafeDir.open(worktree, *paths.LOCAL)
    if local is None:
        raise PrloomError(f"there is no {worktree.joinpath(*paths.LOCAL)}; adopt its branch or pull request again")
    return local
