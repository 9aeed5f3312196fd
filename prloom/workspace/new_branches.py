"""Note the branches that prloom itself is making, so that no worker that runs meanwhile is blamed for them.

A note is a ref beside the branch. It is there before the branch, and goes when the branch's worktree is marked as that
of a plan; where prloom is killed in between, it stays until the branch's worktree is made.
"""

from __future__ import annotations

from typing import Final

from prloom.workspace import git
from prloom.workspace.repository import Repository

NOTES: Final = "refs/prloom/new/"


def note(repo: Repository, branch: str, sha: str) -> None:
    """Note that a branch is about to be made at a commit."""
    git.run(["update-ref", f"{NOTES}{branch}", sha], cwd=repo.root)


def is_noted(repo: Repository, branch: str) -> bool:
    """Whether prloom was making a branch when it was killed."""
    asked = ["rev-parse", "--verify", "--quiet", f"{NOTES}{branch}"]
    return git.run(asked, cwd=repo.root, codes=(0, 1)).code == 0


def forget(repo: Repository, branch: str) -> None:
    """Take the note of a branch away; none is no error."""
    if is_noted(repo, branch):
        git.run(["update-ref", "-d", f"{NOTES}{branch}"], cwd=repo.root)
