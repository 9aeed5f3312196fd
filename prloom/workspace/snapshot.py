"""Write the files of a worktree as a tree, without its index, and say what was changed since a commit.

The tree is all that git does not ignore, but for junk and prloom's own files. It is made through an index of prloom's
own: an agent may have marked files in the worktree's index so that git does not see their changes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prloom.core.text.naming import printable
from prloom.core.text.path_patterns import folded
from prloom.core.work.inspection import DEFAULT_JUNK, DEFAULT_MAX_FILE
from prloom.errors import WorkspaceError
from prloom.workspace import checkout, trees
from prloom.workspace.checkout import Checkout
from prloom.workspace.private_index import private_index
from prloom.workspace.repository import Repository
from prloom.workspace.trees import LINK, SUBMODULE

ChangeStatus = Literal["added", "modified", "deleted"]
FileProblem = Literal["too_big", "unreadable", "special", "refused"]


@dataclass(frozen=True)
class ChangedPath:
    """A path that a change touches; with a `problem`, its content is not in the tree, which has what was there before.

    `mode` is as git has it (0 where it was deleted), `size` in bytes. A submodule or another repository has the mode
    0o160000.
    """

    path: str
    status: ChangeStatus
    mode: int
    size: int
    link_target: str | None = None
    problem: FileProblem | None = None


@dataclass(frozen=True)
class WorktreeSnapshot:
    """The files of a worktree as a tree, and what they change in the commit `base`.

    `lines` is how many lines are added and removed; `links` are all symbolic links of the tree with their targets.
    """

    base: str
    tree: str
    paths: tuple[ChangedPath, ...]
    lines: int
    links: Mapping[str, str]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was changed."""
        return not self.paths


def take(
    repo: Repository,
    worktree: Path,
    base: str,
    *,
    junk: Sequence[str] = DEFAULT_JUNK,
    max_file: int = DEFAULT_MAX_FILE,
) -> WorktreeSnapshot:
    """Write the worktree's files as a tree, and return it with what it changes in the commit `base`.

    The worktree and its index stay as they are. A new or changed file of more than `max_file` bytes (0: no limit) is
    reported and not read. What cannot be in a tree (a pipe, a socket) is reported where it replaces something, and is
    invisible, as to git, where it does not. Raises WorkspaceError.
    """
    place = require(repo, worktree)
    with private_index(place) as index:
        skipped = index.read(base)
        before = dict(index.files)
        modified, new = index.compare(junk=junk)
        sorter = _Sorter(place, before, modified=modified, skipped=skipped, max_file=max_file)
        for path in before:
            sorter.sort_tracked(path)
        index.update(["--force-remove"], sorter.removed)
        if sorter.removed:  # git lists nothing within what is a file to the index
            _, new = index.compare(junk=junk)
        for path in new:
            sorter.sort_untracked(path)
        index.update(["--add", "--replace"], sorter.readable)
        tree = index.write_tree()
    differs = trees.difference(repo, base, tree)
    kept = {path: sha for path, (mode, sha) in before.items() if mode == LINK and path not in differs.ids}
    new_links = {each.path: differs.ids[each.path] for each in differs.changes if each.mode == LINK}
    links = trees.targets(repo, {**kept, **new_links})
    problems = {each.path: each for each in sorter.problems}
    paths = [_changed_path(each, links) for each in differs.changes]
    found = {**{each.path: each for each in paths}, **problems}
    return WorktreeSnapshot(
        base,
        tree,
        tuple(found[path] for path in sorted(found)),
        differs.lines,
        links,
    )


def of_tree(repo: Repository, base: str, tree: str) -> WorktreeSnapshot:
    """Return a tree with what it changes in the commit `base`, as `take` does for files; raises WorkspaceError."""
    links, differs = trees.link_targets(repo, tree), trees.difference(repo, base, tree)
    paths = tuple(_changed_path(each, links) for each in differs.changes)
    return WorktreeSnapshot(base, tree, paths, differs.lines, links)


def require(repo: Repository, worktree: Path) -> Checkout:
    """Return the worktree, or the clone, that prloom has made; raises WorkspaceError where it is not there."""
    found = checkout.clone(repo.git_dir, worktree) or checkout.registered(repo.git_dir, worktree)
    if found is None or not found.path.is_dir():
        raise WorkspaceError(f"{printable(str(worktree))} is not a worktree of {printable(str(repo.root))}")
    return found


class _Sorter:
    """Tell the paths whose content git may read from those that are reported instead."""

    def __init__(
        self,
        worktree: Checkout,
        before: Mapping[str, tuple[int, str]],
        *,
        modified: frozenset[str],
        skipped: frozenset[str],
        max_file: int,
    ) -> None:
        self._worktree = worktree
        self._before = before
        self._max_file = max_file
        self._modified = modified
        self._skipped = skipped
        self._folders: dict[str, bool] = {"": True}
        self.readable: list[str] = []
        self.removed: list[str] = []
        self.problems: list[ChangedPath] = []

    def sort_tracked(self, path: str) -> None:
        """Have git read what is at a path of the base commit, or take note that nothing is."""
        found = self._stat(path)
        before = self._before[path]
        if found is None:
            if path not in self._skipped:
                self.removed.append(path)
        elif stat.S_ISDIR(found.st_mode):
            if before[0] != SUBMODULE:
                self.removed.append(path)
            elif (self._worktree.path / path / ".git").exists():
                self.readable.append(path)
        elif path in self._modified and self._is_big(found):
            self._report(path, "modified", found, "too_big")
        elif path in self._modified:
            self._sort(path, "modified", found)

    def sort_untracked(self, path: str) -> None:
        """Have git read a new file; report a repository, and a name that git refuses."""
        if path.endswith("/") and self._is_worktree_of_its_own(path):
            return
        if path.endswith("/"):
            self.problems.append(ChangedPath(path.rstrip("/"), "added", SUBMODULE, 0))
            return
        found = self._stat(path)
        if found is None:
            return  # it has gone meanwhile
        if any(_is_refused(part) for part in path.split("/")):
            self._report(path, "added", found, "refused")
        elif self._is_big(found):
            self._report(path, "added", found, "too_big")
        else:
            self._sort(path, "added", found)

    def _is_worktree_of_its_own(self, path: str) -> bool:
        """Whether a repository within is a further worktree of the clone's, which is no part of a change."""
        link = checkout.read(self._worktree.path / path / ".git") or ""
        own = self._worktree.path / ".git" / "worktrees"
        return link.startswith("gitdir: ") and Path(link.removeprefix("gitdir: ")).is_relative_to(own)

    def _sort(self, path: str, status: ChangeStatus, found: os.stat_result) -> None:
        if stat.S_ISLNK(found.st_mode):
            self.readable.append(path)
        elif not stat.S_ISREG(found.st_mode):
            self._report(path, status, found, "special")
        elif not os.access(self._worktree.path / path, os.R_OK):
            self._report(path, status, found, "unreadable")
        else:
            self.readable.append(path)

    def _is_big(self, found: os.stat_result) -> bool:
        return bool(self._max_file) and stat.S_ISREG(found.st_mode) and found.st_size > self._max_file

    def _report(self, path: str, status: ChangeStatus, found: os.stat_result, problem: FileProblem) -> None:
        mode = 0o100644
        if found.st_mode & stat.S_IXUSR:
            mode = 0o100755
        self.problems.append(ChangedPath(path, status, mode, found.st_size, problem=problem))

    def _stat(self, path: str) -> os.stat_result | None:
        """Return what is at a path, none of whose folders may be a symbolic link; None if nothing is."""
        if not self._is_folder(path.rpartition("/")[0]):
            return None
        try:
            return os.lstat(self._worktree.path / path)
        except OSError:
            return None

    def _is_folder(self, path: str) -> bool:
        if path not in self._folders:
            place = self._worktree.path / path
            above = self._is_folder(path.rpartition("/")[0])
            self._folders[path] = above and place.is_dir() and not place.is_symlink()
        return self._folders[path]


def _is_refused(name: str) -> bool:
    """Whether git refuses a name, since some file system takes it for `.git`: see `verify_path` in its read-cache.c."""
    return folded(name) in {".git", "git~1"}


def _changed_path(change: trees.TreeChange, links: Mapping[str, str]) -> ChangedPath:
    link = None
    if change.mode == LINK:
        link = links.get(change.path)
    return ChangedPath(change.path, change.status, change.mode, change.size, link)
