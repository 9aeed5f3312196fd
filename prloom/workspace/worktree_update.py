"""Bring a plan's worktree from one commit of its branch to the next, beside what a person has changed there.

A file that the person changed and the commit does not, stays as it is. Where both change a file, nothing is moved: the
error names it. See "Two Tree Merge" in git-read-tree(1) for what git carries over.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from prloom.core.text.naming import printable
from prloom.errors import WorkspaceError
from prloom.workspace import checkout, git
from prloom.workspace.checkout import Checkout
from prloom.workspace.private_index import private_index

_NAMED = 5
_Entry = tuple[str, str]
"""The mode and the id of what is at a path."""
_SUBMODULE = "160000"
_NOTHING: _Entry = ("000000", "")
_FOLDER: _Entry = ("040000", "")


class WorktreeInTheWayError(WorkspaceError):
    """A person has changed files of the worktree that the next commit changes too, or has an operation open there."""


def require_possible(place: Checkout, branch: str, old: str, new: str) -> None:
    """Raise WorktreeInTheWayError where the worktree cannot be brought to `new` beside a person's changes."""
    if checkout.branch(place) != branch:
        operations = checkout.unfinished(place)
        if operations and checkout.has_branch(place, branch):
            raise WorktreeInTheWayError(f"a {operations[0]} of the branch is under way in the worktree; end it there")
        return
    before, after = _entries(place, old, new)
    is_there = all(_is_as_before(place, path, before) for path in before)
    if is_there and _merge(place, old, new, dry=True):
        return
    theirs, _ = _compared(place, before, after)
    if theirs:
        names = ", ".join(printable(path) for path in theirs[:_NAMED])
        more = f" and {len(theirs) - _NAMED} more" if len(theirs) > _NAMED else ""
        raise WorktreeInTheWayError(f"the worktree has changes in files that the next commit changes: {names}{more}")


def update(place: Checkout, branch: str, old: str, new: str) -> None:
    """Bring files and index from the commit `old` to `new`; a call that was stopped is ended by calling it again.

    What a person has changed meanwhile in one of the files stays, as a change of the new commit.
    """
    if checkout.branch(place) != branch or _merge(place, old, new):
        return
    before, after = _entries(place, old, new)
    theirs, done = _compared(place, before, after)
    lines = [f"{after[path][0]} {after[path][1] or '0' * len(old)}\t{path}\0" for path in (*theirs, *done)]
    given = "".join(lines).encode("utf-8", "surrogateescape")
    git.run(["update-index", "-z", "--index-info"], cwd=place.path, git_dir=place.git_dir, stdin=given)
    git.run(["update-index", "-q", "--refresh"], cwd=place.path, git_dir=place.git_dir, codes=(0, 1))
    git.run(["read-tree", "-m", "-u", old, new], cwd=place.path, git_dir=place.git_dir, limit=git.LONG_LIMIT)


def _is_as_before(place: Checkout, path: str, before: Mapping[str, _Entry]) -> bool:
    """Whether there is something at a path where the commit before has something; folders are looked into."""
    file = place.path / path
    if before[path] != _NOTHING or not file.is_dir() or file.is_symlink():
        return os.path.lexists(file) == (before[path] != _NOTHING)
    found = {each.relative_to(place.path).as_posix() for each in file.rglob("*") if not each.is_dir()}
    return found <= before.keys()  # a folder that the next commit replaces, with nothing of a person's in it


def _merge(place: Checkout, old: str, new: str, *, dry: bool = False) -> bool:
    """Have git update the worktree, or only say whether it would; False where a file is in the way."""
    options = ("-n",) if dry else ()
    asked = ["read-tree", *options, "-m", "-u", old, new]
    ended = git.run(asked, cwd=place.path, git_dir=place.git_dir, limit=git.LONG_LIMIT, codes=range(256))
    return ended.code == 0


def _entries(place: Checkout, old: str, new: str) -> tuple[Mapping[str, _Entry], Mapping[str, _Entry]]:
    """Return what is at the paths that differ between two commits, in the one and in the other."""
    answer = git.run(["diff-tree", "-r", "-z", "--no-renames", old, new], cwd=place.path, git_dir=place.git_dir)
    words = answer.out.split("\0")
    before, after = {}, {}
    for about, path in zip(words[::2], words[1::2], strict=False):
        mode, new_mode, sha, new_sha, _ = about.removeprefix(":").split()
        before[path] = (mode, sha) if int(mode) else _NOTHING
        after[path] = (new_mode, new_sha) if int(new_mode) else _NOTHING
    return before, after


def _compared(
    place: Checkout, before: Mapping[str, _Entry], after: Mapping[str, _Entry]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of the paths a person has changed, in the index or the file, and which are as they are to be."""
    with private_index(place) as index:
        shutil.copy2(place.git_dir / "index", index.file)
        staged = index.entries()
        index.update(["--no-assume-unchanged"], [path for path in before if path in staged])
        folders = {path for path, (mode, _) in before.items() if mode != _SUBMODULE and (place.path / path).is_dir()}
        options = ["--add", "--remove", "--replace", "--ignore-skip-worktree-entries"]
        index.update(options, [path for path in before if path not in folders])
        found = index.entries()
    theirs, done = [], []
    for path, old in before.items():
        file = found.get(path, _NOTHING)
        if path in folders and after[path] != _NOTHING and not _is_as_before(place, path, before):
            file = _FOLDER
        if file == after[path]:
            done.append(path)
        elif file != old or staged.get(path, _NOTHING) != old:
            theirs.append(path)
    return tuple(theirs), tuple(done)
