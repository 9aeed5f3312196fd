"""Keep what a branch commits from passing for prloom's own files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from prloom.storage import file_stamp
from prloom.storage.file_stamp import FileStamp
from prloom.workspace import checkout, checks, repository
from prloom.workspace.checkout import Checkout, NoCommitError
from prloom.workspace.repository import Repository

Stamps = tuple[FileStamp | None, ...]
"""The stamps of git's files: it replaces them, so that each new one has a number of its own."""


class CommitStamp(NamedTuple):
    """What was found of a worktree, as long as git's files about it are the same."""

    files: tuple[str, ...]
    stamps: Stamps
    problem: str | None


class WorktreeGuard:
    """Checks a worktree's commit for files where prloom keeps its own, whenever the worktree's HEAD has moved.

    git overwrites ignored files without a word, so a commit may bring a `prloom/.local` of its own at any time. Without
    a repository there is nothing to guard against. `without_branch` are the worktrees whose branch was deleted, as of
    their last check: that brings no file.
    """

    def __init__(self, root: Path | None) -> None:
        if root is None:
            self._repository = None
        else:
            self._repository = _find(root)
        self.without_branch: set[Path] = set()
        self._checked: dict[Path, CommitStamp] = {}
        self._commits: dict[Path, tuple[str, str | None]] = {}

    def problem(self, worktree: Path) -> str | None:
        """Return why the worktree's files must not be read or written, or None; as a rule it costs five stat calls.

        Raises WorkspaceError where git does not tell.
        """
        if self._repository is None:
            return None
        checked = self._checked.get(worktree)
        if checked is not None and _stamps(checked.files) == checked.stamps:
            return checked.problem
        self._checked.pop(worktree, None)
        files = _git_files(self._repository, worktree)
        stamps = _stamps(files)  # before the check: what changes meanwhile is checked again
        problem = self._check(self._repository, worktree)
        if files:
            self._checked[worktree] = CommitStamp(files, stamps, problem)
        return problem

    def _check(self, repo: Repository, worktree: Path) -> str | None:
        self.without_branch.discard(worktree)
        found = checkout.registered(repo.git_dir, worktree)
        if found is None:
            return f"{worktree} is no longer a worktree of this repository; adopt the branch again"
        try:
            head = checkout.head(found)
        except NoCommitError:
            self.without_branch.add(worktree)
            return None
        if self._commits.get(worktree, ("", None))[0] != head:
            self._commits[worktree] = head, _committed_problem(repo, found, head)
        return self._commits[worktree][1]


def _committed_problem(repo: Repository, found: Checkout, head: str) -> str | None:
    committed = checks.committed_state(repo, head)
    if committed is None:
        return None
    return f"commit {head[:12]} of {found.path.name} contains {committed}; remove it from the branch, then adopt again"


def _git_files(repo: Repository, worktree: Path) -> tuple[str, ...]:
    """Return git's files that say what is checked out in a worktree; none where others do, as in a table of refs."""
    found = checkout.registered(repo.git_dir, worktree)
    head = None
    if found is not None:
        head = checkout.read(found.git_dir / "HEAD")
    if found is None or head is None or head.endswith(".invalid"):
        return ()
    ref = head.removeprefix("ref: ")
    files = (worktree / ".git", found.git_dir / "HEAD", found.git_dir / "gitdir", repo.git_dir / "packed-refs")
    return tuple(map(str, (*files, repo.git_dir / ref)))


def _stamps(files: tuple[str, ...]) -> Stamps:
    return tuple(map(file_stamp.at, files))


def _find(root: Path) -> Repository | None:
    """Return the repository; None where there is none. One that cannot be used raises WorkspaceError."""
    if checkout.at(root) is None:
        return None
    return repository.find(root)
