"""Commit or stash what a plan's worktree has that is not committed, as the operator's own work."""

from __future__ import annotations

from typing import Literal

from prloom.config.models import Config
from prloom.core.text.naming import printable
from prloom.core.text.shown_text import to_run
from prloom.core.work import work_results
from prloom.engine.bus import plans
from prloom.engine.operator import emit
from prloom.engine.views import snapshot
from prloom.errors import PrloomError
from prloom.model.plan import Plan
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.workspace import repository, uncommitted, worktree

How = Literal["commit", "stash"]

_BEFORE_A_WORKER = ("taken", "prepared")
"""Phases of the work in which what is in the worktree is no worker's."""


def settle(where: RepositoryPaths, config: Config, plan_id: str, how: How) -> str | None:
    """Commit or stash the changes in a plan's worktree; return the commit that has them, or None if there are none.

    Raises PrloomError where the dispatcher may use the worktree meanwhile, or where a worker has changed it.
    """
    plan, state = _open(where, plan_id)
    _refuse_while_in_use(plan_id, state)
    junk = config.for_preset(plan.preset).work.junk
    repo, path = repository.find(where.root), where.worktree(plan_id)
    present = worktree.branch(repo, path)
    if present != plan.branch:
        raise PrloomError(
            f"the worktree of plan {plan_id} is on {printable(present or 'no branch')}; end what is unfinished there, "
            f"and go back with `git switch {printable(plan.branch)}` in {printable(str(path))}"
        )
    if how == "stash":
        return uncommitted.stash(repo, path, f"prloom resume {plan_id} --stash", junk=junk)
    return uncommitted.commit_all(repo, path, "Save changes made by hand", branch=plan.branch, junk=junk)


def refuse_where_still_there(where: RepositoryPaths, config: Config, plan_id: str) -> None:
    """Raise PrloomError where the changes that block a plan are still in its worktree: it would be blocked again."""
    plan, state = _open(where, plan_id)
    if state.block is None or state.block.cause != "worktree":
        return
    junk = config.for_preset(plan.preset).work.junk
    changed = uncommitted.paths(repository.find(where.root), where.worktree(plan_id), junk=junk)
    if changed:
        raise PrloomError(
            f"the worktree of plan {plan_id} still has changes that prloom did not make: "
            f"{work_results.named(changed)}; `prloom resume {plan_id} --commit` keeps them on the branch, and "
            f"`prloom resume {plan_id} --stash` puts them away"
        )


def _open(where: RepositoryPaths, plan_id: str) -> tuple[Plan, DispatchState]:
    """Return a plan and its state after all its decisions."""
    with emit.open_local(where, plan_id) as local, local.make_sub(paths.BUS) as bus:
        return plans.load(local), snapshot.current_state(bus)


def _refuse_while_in_use(plan_id: str, now: DispatchState) -> None:
    if now.block is None and not now.paused:
        raise PrloomError(
            f"plan {plan_id} is neither blocked nor paused, so its worktree may be in use; "
            f"pause it first: `prloom pause {plan_id}`"
        )
    if now.work is not None and now.work.phase not in _BEFORE_A_WORKER:
        raise PrloomError(
            f"the worktree of plan {plan_id} has the change of a worker for the TODO {printable(now.work.id)}; "
            f"resume the plan without --commit and --stash, or drop the TODO first: "
            f"{to_run('todo', plan_id, 'drop', now.work.id)}"
        )
