"""Keep what a branch commits from passing for prloom's own files."""

from __future__ import annotations

from pathlib import Path

from prloom.errors import WorkspaceError
from prloom.workspace import checkout, repository, tree
from prloom.workspace.checkout import Checkout
from prloom.workspace.repository import Repository


class Guard:
    """Looks at what a worktree's commit has where prloom keeps its files, whenever the worktree's HEAD has moved.

    git overwrites ignored files without a word, so a commit may bring a `prloom/.local` of its own at any time. Without
    a repository there is nothing to guard against.
    """

    def __init__(self, root: Path | None) -> None:
        self._repository = None if root is None else _find(root)
        self._checked: dict[Path, tuple[str, str | None]] = {}

    def problem(self, worktree: Path) -> str | None:
        """Return why the worktree's files must not be read or written, or None; costs two small reads as a rule."""
        if self._repository is None:
            return None
        found = checkout.registered(self._repository.git_dir, worktree)
        if found is None:
            return f"{worktree} is no worktree of this repository any more; adopt the branch again"
        head = checkout.head(found)
        if self._checked.get(worktree, ("", None))[0] != head:
            self._checked[worktree] = (head, self._look(self._repository, found, head))
        return self._checked[worktree][1]

    def _look(self, repo: Repository, found: Checkout, head: str) -> str | None:
        committed = tree.committed_state(repo, head)
        if committed is None:
            return None
        return (
            f"commit {head[:12]} of {found.path.name} brings {committed}; take it out of the branch, then adopt again"
        )


def _find(root: Path) -> Repository | None:
    """Return the repository; None where there is none."""
    try:
        return repository.find(root)
    except WorkspaceError:
        return None
