"""Say which plans are lost: adopted, not given up, and not in their worktrees; and how each is recovered."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from prloom.engine.bus import adopted
from prloom.engine.views.status_schema import LostPlan
from prloom.model.plan import Adopted
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths


def plans(repository: RepositoryPaths) -> tuple[LostPlan, ...]:
    """Return the lost plans by their ids."""
    return tuple(_of(repository, found) for found in adopted.lost(repository))


def recovery(found: Adopted) -> str:
    """Return the command that adopts a lost plan again, under its id."""
    plan = found.plan
    if plan.pr is None:
        subject = ["--branch", plan.branch]
    else:
        subject = [str(plan.pr)]
    if plan.preset is None:
        preset = []
    else:
        preset = ["--preset", plan.preset]
    return " ".join(map(quote, ["prloom", "adopt", *subject, "--plan", plan.id, *preset]))


def _of(repository: RepositoryPaths, found: Adopted) -> LostPlan:
    plan = found.plan
    moved = Path(found.worktree, *paths.LOCAL, paths.PLAN_STATE).exists()
    return LostPlan(
        id=plan.id,
        title=plan.title,
        branch=plan.branch,
        pr=plan.pr,
        worktree=found.worktree,
        reason=_reason(repository, found, moved=moved),
        recover=None if moved else recovery(found),
        counts=found.counts,
        counted_at=found.counted_at,
    )


def _reason(repository: RepositoryPaths, found: Adopted, *, moved: bool) -> str:
    if moved:
        home = Path(found.worktree).parent
        return f"its worktree is in {home}, and worktrees_dir is {repository.worktrees}; change one of the two"
    if Path(found.worktree).is_dir():
        return f"its files were removed from its worktree {found.worktree}"
    return f"its worktree {found.worktree} was removed"
