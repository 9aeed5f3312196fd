"""Commit or stash the changes that a person made in a plan's worktree, so that the work on the plan can go on."""

from __future__ import annotations

from pathlib import Path

from prloom.core.naming import printable
from prloom.errors import PrloomError
from prloom.model.state import DispatchState
from prloom.workspace import checks, commits, git, snapshot, worktree
from prloom.workspace.repository import Repository
from prloom.workspace.snapshot import WorktreeSnapshot

_NAMED = 5


def require_no_worker(plan_id: str, state: DispatchState) -> None:
    """Raise PrloomError where a worker is at work in the worktree: the changes there are its own."""
    if state.work is not None and state.work.phase == "running":
        raise PrloomError(
            f"a worker is at work on plan {plan_id}, and the changes in its worktree are its own; wait until it ends"
        )


def commit(repo: Repository, path: Path, *, branch: str, plan_id: str) -> str | None:
    """Commit what is in the worktree as the operator, and return the commit; None where nothing was changed."""
    taken = _take(repo, path, branch)
    if taken.is_empty:
        return None
    message = f"Save changes made by hand\n\nThey were in the worktree of plan {plan_id}.\n"
    return commits.commit(repo, path, tree=taken.tree, parent=taken.base, message=message, branch=branch)


def stash(repo: Repository, path: Path, *, branch: str, plan_id: str) -> str | None:
    """Put what is in the worktree into git's stash, as it was on its commit, and return that; None if there is nothing.

    `git stash pop` brings it back, also the files that git did not know.
    """
    taken = _take(repo, path, branch)
    if taken.is_empty:
        return None
    tip = taken.base
    same = git.run(["rev-parse", "--verify", f"{tip}^{{tree}}"], cwd=repo.root).out.strip()
    index = commits.make(repo, tree=same, parent=tip, message=f"index on {printable(branch)}\n")
    what = f"Changes made by hand in plan {plan_id}"
    argv = ["commit-tree", "-p", tip, "-p", index, "-m", what, taken.tree]
    made = git.run(argv, cwd=repo.root).out.strip()
    git.run(["stash", "store", "-m", what, made], cwd=repo.root)
    commits.restore(repo, path, tip, branch=branch)
    return made


def _take(repo: Repository, path: Path, branch: str) -> WorktreeSnapshot:
    present = worktree.branch(repo, path)
    if present != branch:
        where = "is on no branch" if present is None else f"is on branch {printable(present)}"
        raise PrloomError(
            f"{printable(str(path))} {where}; end what is unfinished there, and go back with "
            f"`git switch {printable(branch)}`"
        )
    unfinished = checks.unfinished(snapshot.require(repo, path))
    if unfinished is not None:
        raise PrloomError(f"{printable(str(path))} has an unfinished {unfinished}; end that first, and try again")
    taken = snapshot.take(repo, path, worktree.head(repo, path), max_file=0)
    stuck = [each for each in taken.paths if each.problem is not None]
    if stuck:
        named = ", ".join(f"{printable(each.path)} ({each.problem})" for each in stuck[:_NAMED])
        raise PrloomError(f"{printable(str(path))} has what git cannot keep: {named}; move it away and try again")
    return taken
