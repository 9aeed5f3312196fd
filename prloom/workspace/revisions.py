"""Look up commits and trees of a repository by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.workspace import git

if TYPE_CHECKING:
    from pathlib import Path


def commit_of(cwd: Path, name: str, *, external: bool = False) -> str | None:
    """Return the full SHA of the commit that a name leads to; None if there is none.

    An `external` name is from a file that others may have written: it may be anything, and none is an error.
    """
    asked, codes = ["rev-parse", "--verify", "--quiet"], [0, 1]
    if external:
        asked.append("--end-of-options")
        codes.append(128)
    return git.run([*asked, f"{name}^{{commit}}"], cwd=cwd, codes=codes).out.strip() or None


def tree_of(cwd: Path, name: str) -> str:
    """Return the full SHA of the tree of a commit, or of a tree by its name; raises WorkspaceError if there is none."""
    return git.run(["rev-parse", "--verify", f"{name}^{{tree}}"], cwd=cwd).out.strip()


def merge_base(cwd: Path, one: str, other: str) -> str | None:
    """Return the latest commit that two commits share; None if they share none."""
    return git.run(["merge-base", one, other], cwd=cwd, codes=(0, 1)).out.strip() or None
