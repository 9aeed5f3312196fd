"""Find the refs beside which git cannot have another one, `a` beside `a/b`, and remove those that are out of date."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from prloom.core.work import push_results
from prloom.errors import WorkspaceError
from prloom.workspace import git

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

BRANCHES = "refs/heads/"

_LIST_LIMIT = timedelta(seconds=30)


def above(branch: str) -> tuple[str, ...]:
    """Return the names that are the folders of a branch's name."""
    parts = branch.split("/")
    return tuple("/".join(parts[:count]) for count in range(1, len(parts)))


def in_the_way(branch: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of the names beside which git cannot have a branch."""
    folders = above(branch)
    return tuple(name for name in names if name in folders or name.startswith(f"{branch}/"))


def beside(root: Path, branch: str, under: str = BRANCHES) -> tuple[str, ...]:
    """Return the names of the refs below `under` beside which git cannot have a ref of the branch's name there."""
    asked = [f"{under}{branch}/", *(f"{under}{each}" for each in above(branch))]
    listed = git.run(["for-each-ref", "--format=%(refname)", *asked], cwd=root).out.splitlines()
    return in_the_way(branch, (name.removeprefix(under) for name in listed))


def remove(root: Path, branch: str, under: str) -> None:
    """Remove the refs below `under` that keep one of the branch's name from being made."""
    for name in beside(root, branch, under):
        git.run(["update-ref", "-d", f"{under}{name}"], cwd=root)


def listed_at(root: Path, branch: str, remote: str) -> tuple[str, ...]:
    """Return the remote's branches of this name, and those beside which git cannot have it; raises WorkspaceError."""
    asked = [f"{BRANCHES}{each}" for each in (branch, *above(branch), f"{branch}/*")]
    argv = ["ls-remote", "--heads", "--end-of-options", remote, *asked]
    lines = git.run(argv, cwd=root, limit=_LIST_LIMIT).out.splitlines()
    names = [line.partition("\t")[2].removeprefix(BRANCHES) for line in lines]
    # git also lists what only ends like that
    return tuple(name for name in names if name == branch or in_the_way(branch, (name,)))


def remove_stale(root: Path, branch: str, remote: str, err: str) -> bool:
    """Remove the remote-tracking branches because of which a fetch of a branch failed with this error.

    They stay where the remote still has them. Return whether any was removed.
    """
    if push_results.name_conflict(err) is None:
        return False
    under = f"refs/remotes/{remote}/"
    stale = beside(root, branch, under)
    try:
        there = listed_at(root, branch, remote)
    except WorkspaceError:
        return False
    gone = [name for name in stale if name not in there]
    for name in gone:
        git.run(["update-ref", "-d", f"{under}{name}"], cwd=root)
    return bool(gone)
