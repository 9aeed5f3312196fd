"""List the plans that were adopted and are not where they should be, and say how each is recovered."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from msgspec import UNSET

from prloom.engine.bus import adopted
from prloom.engine.views.status_schema import LostPlan
from prloom.model.plan import Adopted
from prloom.storage import file_stamp, paths
from prloom.storage.paths import RepositoryPaths


def every(repository: RepositoryPaths, present: Collection[str] | None = None) -> tuple[LostPlan, ...]:
    """Return the lost plans by their ids; `present` are the ids of those that are there, where they are known."""
    return tuple(_lost_plan(repository, found) for found in adopted.lost(repository, present))


def recovery(found: Adopted) -> str:
    """Return the command that adopts a lost plan again, under its id."""
    from shlex import quote  # noqa: PLC0415 - hardly any plan is lost

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


def _lost_plan(repository: RepositoryPaths, found: Adopted) -> LostPlan:
    plan = found.plan
    moved = Path(found.worktree, *paths.LOCAL, paths.PLAN_STATE).exists()
    recover = None
    if not moved:
        recover = recovery(found)
    return LostPlan(
        id=plan.id,
        title=plan.title,
        branch=plan.branch,
        pr=plan.pr,
        worktree=found.worktree,
        reason=_loss_reason(repository, found, moved=moved),
        recover=recover,
        counts=found.counts,
        counted_at=found.counted_at,
        since=found.counted_at or plan.created_at or file_stamp.changed_at(repository.worktrees) or UNSET,
    )


def _loss_reason(repository: RepositoryPaths, found: Adopted, *, moved: bool) -> str:
    if moved:
        home = Path(found.worktree).parent
        return f"its worktree is in {home}, and worktrees_dir is {repository.worktrees}; change one of the two"
    if Path(found.worktree).is_dir():
        return f"its files were removed from its worktree {found.worktree}"
    return f"its worktree {found.worktree} was removed"
