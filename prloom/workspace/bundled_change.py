"""Begin a run on another machine with a commit that the remote has, and apply to the worktree what comes back.

What comes back is applied only if the worktree is still as it was when the run began. From the moment that this is
known, a ref says so: a call that was stopped in the middle is ended by the next one, and nothing is lost with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prloom.core.work.inspection import DEFAULT_JUNK
from prloom.errors import WorkspaceError
from prloom.workspace import backup_refs, bundle, commits, git, revisions, run_refs, snapshot, worktree
from prloom.workspace.repository import Repository

_APPLYING = "refs/prloom/applying"


class WorktreeChangedError(WorkspaceError):
    """The worktree is no longer as it was when the run began, so that its change cannot be applied."""


def begin(repo: Repository, *, ref: str, base: str, tree: str | None = None) -> str:
    """Return the commit that a run on another machine begins with, which the remote has, or gets under this ref.

    It is `base`, or a commit of prloom's own that has `tree` on it. Raises WorkspaceError where the remote does not
    take it.
    """
    commit = base
    if tree is not None:
        commit = run_refs.commit_tree(repo, base=base, tree=tree)
    if not run_refs.is_at_remote(repo, commit):
        run_refs.publish(repo, ref, commit)
    return commit


def apply(
    repo: Repository,
    place: Path,
    *,
    run: str,
    base: str,
    commit: str,
    branch: str,
    junk: Sequence[str] = DEFAULT_JUNK,
) -> None:
    """Make the files of the worktree those of a run's bundle, which was received; again does nothing more.

    `commit` is what the run began with, on `base`, which the branch is at. Raises WorktreeChangedError where the
    worktree or the branch is no longer as it was then.
    """
    received = bundle.find(repo, run)
    if received is None:
        raise WorkspaceError(f"the bundle of run {run} was not received")
    now = snapshot.take(repo, place, base, junk=junk, max_file=0).tree
    if now == received.tree:
        return
    was = revisions.tree_of(repo.root, commit)
    if _is_applying(repo, run):
        backup_refs.keep_tree(repo, run, base, now)
    elif now != was or worktree.head(repo, place) != base:
        raise WorktreeChangedError(
            f"the worktree of branch {branch} was changed while run {run} was under way, so that its change cannot be "
            "applied"
        )
    git.run(["update-ref", f"{_APPLYING}/{run}", commit], cwd=repo.root)
    commits.restore(repo, place, received.tree, branch=branch, junk=junk)


def forget(repo: Repository, run: str) -> None:
    """Forget the bundle of a run that is over, whatever came of it."""
    bundle.drop(repo, run)
    git.run(["update-ref", "-d", f"{_APPLYING}/{run}"], cwd=repo.root)


def _is_applying(repo: Repository, run: str) -> bool:
    return bool(git.run(["for-each-ref", f"{_APPLYING}/{run}"], cwd=repo.root).out)
