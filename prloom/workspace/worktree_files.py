"""Write the files and the index of a worktree as a tree has them, whatever an agent has left of both."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from prloom.core.text.naming import printable
from prloom.errors import WorkspaceError
from prloom.workspace import checkout
from prloom.workspace.checkout import Checkout
from prloom.workspace.private_index import private_index

# What an unfinished operation keeps in the git directory of a worktree: see `wt_status_get_state` in git's wt-status.c.
_OPERATIONS = ("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE")
_OPERATION_FOLDERS = ("rebase-merge", "rebase-apply", "sequencer")

_MOVE = "prloom-move"
_WRITABLE = 0o700


OPERATIONS = (*_OPERATIONS, *_OPERATION_FOLDERS)
"""The names of all that an unfinished operation keeps in a git directory."""


def write(worktree: Checkout, tree: str, *, junk: Sequence[str]) -> None:
    """Make index and files match a commit or a tree; files that git ignores, junk and prloom's own stay.

    The index is made anew, beside the worktree's own, and takes its place in the end.
    """
    with private_index(worktree) as index:
        index.read_afresh(tree)
        index.run(["read-tree", "--reset", "-u", "--no-recurse-submodules", tree])
        for path in index.compare(junk=junk)[1]:
            _remove(worktree.path, path.rstrip("/"))
        (worktree.git_dir / "index.lock").unlink(missing_ok=True)  # of a git that was killed
        index.file.replace(worktree.git_dir / "index")


def refill(clone: Checkout, tree: str, *, junk: Sequence[str]) -> None:
    """Do what `write` does for a clone of prloom's own, by its index, in which nobody else writes.

    Files that are as the index knows them are not read again.
    """
    with private_index(clone) as index:
        try:
            index.begin_with_own()
            index.run(["read-tree", "--reset", "-u", "--no-recurse-submodules", tree])
        except (OSError, WorkspaceError):  # there is none yet, or it is broken
            write(clone, tree, junk=junk)
            return
        for path in index.compare(junk=junk)[1]:
            _remove(clone.path, path.rstrip("/"))
        index.file.replace(clone.git_dir / "index")


def forget_operations(worktree: Checkout) -> None:
    """Forget an unfinished merge, rebase or pick, as `git rebase --quit` and its kin do: no file is touched."""
    for name in _OPERATIONS:
        (worktree.git_dir / name).unlink(missing_ok=True)
    for name in _OPERATION_FOLDERS:
        if (worktree.git_dir / name).is_dir():
            shutil.rmtree(worktree.git_dir / name)


def note_move(worktree: Checkout, old: str, new: str) -> None:
    """Note that the worktree is about to be moved from one commit to another: until then its files may be of both."""
    temporary = worktree.git_dir / f"{_MOVE}.tmp"
    with temporary.open("w") as file:
        file.write(f"{old} {new}\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(worktree.git_dir / _MOVE)


def noted_move(worktree: Checkout) -> tuple[str, ...] | None:
    """Return the two commits of a move that was not ended; None if there is none."""
    text = checkout.read(worktree.git_dir / _MOVE)
    if text is None:
        return None
    return tuple(text.split())


def forget_move(worktree: Checkout) -> None:
    """Take note that the worktree's files are those of its commit again."""
    (worktree.git_dir / _MOVE).unlink(missing_ok=True)


def repair_link(worktree: Checkout) -> None:
    """Have `.git` in the worktree lead to its git directory again, where an agent has removed or replaced it."""
    link = worktree.path / ".git"
    found = checkout.at(worktree.path)
    if found is not None and found.git_dir == worktree.git_dir and not link.is_symlink():
        return
    if link.is_dir() and not link.is_symlink():
        remove_folder(link)
    temporary = worktree.git_dir / "prloom-link"
    temporary.write_bytes(b"gitdir: " + os.fsencode(worktree.git_dir) + b"\n")
    try:
        link.unlink(missing_ok=True)
        shutil.move(temporary, link)
    except OSError as error:
        raise WorkspaceError(f"{printable(str(link))} cannot be repaired: {printable(str(error))}") from error


def _remove(root: Path, path: str) -> None:
    """Remove a file, or a repository, and the folders that it leaves empty; raises WorkspaceError.

    Git has listed the path, so that none of the folders above it is a symbolic link.
    """
    place = root / path
    try:
        if place.is_dir() and not place.is_symlink():
            remove_folder(place)
        else:
            place.unlink(missing_ok=True)
    except OSError as error:
        raise WorkspaceError(f"{printable(str(place))} cannot be removed: {printable(str(error))}") from error
    with suppress(OSError):  # not empty
        for folder in place.parents:
            if folder == root:
                break
            folder.rmdir()


def remove_folder(folder: Path) -> None:
    """Remove a folder whatever its permissions are."""
    try:
        shutil.rmtree(folder)
    except PermissionError:
        folder.chmod(_WRITABLE)
        for above, names, _ in os.walk(folder):  # each folder is opened after it was changed here
            for name in names:
                if not Path(above, name).is_symlink():
                    Path(above, name).chmod(_WRITABLE)
        shutil.rmtree(folder)
