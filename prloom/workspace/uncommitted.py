"""What a worktree has that is not committed: name it, stash it, or commit it, when an operator says so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prloom.core.text.naming import printable
from prloom.core.work.inspection import DEFAULT_JUNK
from prloom.errors import WorkspaceError
from prloom.workspace import checkout, commits, git, snapshot
from prloom.workspace.repository import Repository
from prloom.workspace.snapshot import WorktreeSnapshot
from prloom.workspace.trees import SUBMODULE

_NAMED = 3


def paths(repo: Repository, worktree: Path, *, junk: Sequence[str] = DEFAULT_JUNK) -> tuple[str, ...]:
    """Return the paths that the worktree changes in its commit; what git ignores and junk are none."""
    head = checkout.head(snapshot.require(repo, worktree))
    return tuple(each.path for each in snapshot.take(repo, worktree, head, junk=junk).paths)


def stash(repo: Repository, worktree: Path, message: str, *, junk: Sequence[str] = DEFAULT_JUNK) -> str | None:
    """Put what is not committed onto git's stash, new files too, and leave the worktree clean.

    Return the commit that the stash holds; None if there was nothing. `git stash apply` brings it back. Raises
    WorkspaceError, and changes nothing, where something could not be kept.
    """
    taken = _whole(repo, worktree, junk)
    if taken.is_empty:
        return None
    place = snapshot.require(repo, worktree)
    branch = checkout.branch(place)
    # A stash is a commit of the files, with the commit that they change and a commit of the index as its parents.
    index = commits.make(repo, tree=f"{taken.base}^{{tree}}", parent=taken.base, message="index\n")
    argv = ["commit-tree", "-p", taken.base, "-p", index, "-m", message, taken.tree]
    made = git.run(argv, cwd=repo.root).out.strip()
    git.run(["stash", "store", "--message", f"On {branch}: {message}", made], cwd=repo.root)
    commits.restore(repo, worktree, taken.base, branch=branch or "", junk=junk)
    return made


def commit_all(
    repo: Repository,
    worktree: Path,
    message: str,
    *,
    branch: str,
    junk: Sequence[str] = DEFAULT_JUNK,
    sign: bool = False,
) -> str | None:
    """Commit what is not committed as the operator's own work, without prloom's trailers; None if there was nothing.

    Raises WorkspaceError, and changes nothing, where something could not be committed.
    """
    taken = _whole(repo, worktree, junk)
    if taken.is_empty:
        return None
    text = message.rstrip() + "\n"
    return commits.commit(repo, worktree, tree=taken.tree, parent=taken.base, message=text, branch=branch, sign=sign)


def _whole(repo: Repository, worktree: Path, junk: Sequence[str]) -> WorktreeSnapshot:
    """Return all that is not committed, however big; raise WorkspaceError where a tree cannot have it."""
    place = snapshot.require(repo, worktree)
    operations = checkout.unfinished(place)
    if operations or checkout.branch(place) is None:
        what = next(iter(operations), "checkout without a branch")
        raise WorkspaceError(f"there is an unfinished {what} in {printable(str(worktree))}; finish or abort it first")
    taken = snapshot.take(repo, worktree, checkout.head(place), junk=junk, max_file=0)
    require_whole(taken, worktree)
    return taken


def require_whole(taken: WorktreeSnapshot, folder: Path) -> None:
    """Raise WorkspaceError where a tree cannot have all that was changed in a folder, such as a repository in it."""
    left = [printable(each.path) for each in taken.paths if each.problem or each.path in _repositories(taken)]
    if left:
        names = ", ".join(left[:_NAMED])
        raise WorkspaceError(f"git cannot keep {names} in {printable(str(folder))}; move it away and try again")


def _repositories(taken: WorktreeSnapshot) -> frozenset[str]:
    return frozenset(each.path for each in taken.paths if each.mode == SUBMODULE and each.status == "added")
