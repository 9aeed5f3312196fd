"""Commit or stash what a plan's worktree has that is not committed, as the operator's own work."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from prloom.config.models import Config
from prloom.core.text.naming import printable
from prloom.core.work import work_results
from prloom.engine.bus import plans
from prloom.engine.operator import emit
from prloom.engine.views import snapshot as plan_snapshot
from prloom.errors import PrloomError, WorkspaceError
from prloom.model.plan import Plan
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.workspace import (
    backup_refs,
    checkout,
    clone,
    repository,
    signing,
    snapshot,
    trees,
    uncommitted,
    worktree,
    worktree_update,
)
from prloom.workspace.checkout import Checkout
from prloom.workspace.clone import CloneState
from prloom.workspace.snapshot import WorktreeSnapshot

How = Literal["commit", "stash"]


def settle(where: RepositoryPaths, config: Config, plan_id: str, how: How) -> str | None:
    """Commit or stash the changes in a plan's worktree; return the commit that has them, or None if there are none.

    Raises PrloomError where the dispatcher may use the worktree meanwhile.
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
    sign = signing.wanted(repo, config.for_preset(plan.preset).work.sign)
    return uncommitted.commit_all(repo, path, "Save changes made by hand", branch=plan.branch, junk=junk, sign=sign)


def refuse_where_still_there(where: RepositoryPaths, config: Config, plan_id: str) -> None:
    """Raise PrloomError where the changes that block a plan are still in its worktree: it would be blocked again."""
    plan, state = _open(where, plan_id)
    work = state.work
    if state.block is None or state.block.cause != "worktree" or work is None or not work.base or not work.tree:
        return
    junk, repo = config.for_preset(plan.preset).work.junk, repository.find(where.root)
    to_come = {each.path for each in trees.changed(repo, work.base, work.tree)}
    changed = [path for path in uncommitted.paths(repo, where.worktree(plan_id), junk=junk) if path in to_come]
    if changed:
        raise PrloomError(
            f"the worktree of plan {plan_id} still has changes in files that the next commit changes: "
            f"{work_results.named(changed)}; `prloom resume {plan_id} --commit` keeps them on the branch, and "
            f"`prloom resume {plan_id} --stash` puts them away"
        )


def bring_from_clone(where: RepositoryPaths, config: Config, plan_id: str) -> bool:
    """Bring what a person has changed in the plan's clone into its worktree, where it is theirs to commit.

    Return whether there was something. While a TODO is worked on, it is part of that, and stays.
    """
    plan, state = _open(where, plan_id)
    repo, path = repository.find(where.root), where.clone(plan_id)
    head = repository.branch_sha(repo, plan.branch)
    if state.work is not None or head is None or not clone.exists(repo, path):
        return False
    junk = config.for_preset(plan.preset).work.junk
    taken = snapshot.take(repo, path, checkout.head(snapshot.require(repo, path)), junk=junk, max_file=0)
    if taken.is_empty:
        return False
    kept = backup_refs.keep_tree(repo, plan_id, taken.base, taken.tree)
    place = snapshot.require(repo, where.worktree(plan_id))
    try:
        _bring(place, plan.branch, taken, path)
    except WorkspaceError as error:
        raise PrloomError(
            f"what was changed in plan {plan_id} is not in its worktree, but kept as commit {kept}: {error}; "
            f"to bring it there, run `git cherry-pick --no-commit {kept}` in {printable(str(place.path))}"
        ) from error
    clone.renew(repo, path, clone_state(where, config, plan, head), junk=junk)
    return True


def _bring(place: Checkout, branch: str, taken: WorktreeSnapshot, origin: Path) -> None:
    uncommitted.require_whole(taken, origin)
    if checkout.branch(place) != branch:
        raise WorkspaceError("the worktree is not on the plan's branch")
    worktree_update.require_possible(place, branch, taken.base, taken.tree)
    worktree_update.update(place, branch, taken.base, taken.tree)


def clone_state(where: RepositoryPaths, config: Config, plan: Plan, commit: str) -> CloneState:
    """Return what a plan's clone is to have at a commit."""
    base = plan.pr_base or config.for_preset(plan.preset).base_branch
    return CloneState(plan.branch, commit, base=base, like=where.worktree(plan.id))


def _open(where: RepositoryPaths, plan_id: str) -> tuple[Plan, DispatchState]:
    """Return a plan and its state after all its decisions."""
    with emit.open_local(where, plan_id) as local, local.make_sub(paths.BUS) as bus:
        return plans.load(local), plan_snapshot.current_state(bus)


def _refuse_while_in_use(plan_id: str, now: DispatchState) -> None:
    if now.block is None and not now.paused:
        raise PrloomError(
            f"plan {plan_id} is neither blocked nor paused, so its worktree may be in use; "
            f"pause it first: `prloom pause {plan_id}`"
        )
