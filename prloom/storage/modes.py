"""Keep prloom's own folders and files to their owner, also those that the umask or an earlier version left open."""

from __future__ import annotations

import os
from contextlib import suppress

from prloom.storage import paths

FILE = 0o600
FOLDER = 0o700
_OTHERS = 0o077
_WORKTREES = "worktrees"
_EDITED = frozenset({paths.PLAN_TEXT, paths.REVIEW})  # by people too; they keep the mode that they are given


def close_folder(fd: int, path: str) -> int:
    """Take the rights of others off an open folder if it is prloom's own, and return the descriptor."""
    if is_private_folder(path) and os.fstat(fd).st_mode & _OTHERS:
        with suppress(OSError):  # it is another user's
            os.fchmod(fd, FOLDER)
    return fd


def close_file(fd: int, mode: int, folder: str, name: str) -> None:
    """Take the rights of others off an open file of that mode if it is prloom's own."""
    if mode & _OTHERS and name not in _EDITED and has_private_files(folder):
        with suppress(OSError):  # likewise
            os.fchmod(fd, FILE)


def is_private_folder(path: str) -> bool:
    """Whether a folder is prloom's own: all in a local folder, but of the worktrees in it no more than their roots."""
    below = _below_local(path)
    return below is not None and (below[:1] != [_WORKTREES] or len(below) <= len([_WORKTREES, "<plan>"]))


def has_private_files(path: str) -> bool:
    """Whether the files in a folder are prloom's own."""
    below = _below_local(path)
    return below is not None and below[:1] != [_WORKTREES]


def _below_local(path: str) -> list[str] | None:
    """Return the components below the innermost local folder of a path; None if the path is in none."""
    local = "/".join(("", *paths.LOCAL, ""))
    _, found, below = f"{path}/".rpartition(local)
    if found:
        return [part for part in below.split("/") if part]
    return None
