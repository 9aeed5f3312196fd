"""Remember a requested rebase that the remote does not have yet: the one case in which a push takes commits away."""

from __future__ import annotations

from dataclasses import dataclass

from prloom.workspace import checkout, git
from prloom.workspace.repository import Repository

_OLD, _NEW = "refs/prloom/rewritten-old/", "refs/prloom/rewritten-new/"


@dataclass(frozen=True)
class Rewrite:
    """The tip of a branch before its rebase, and after it."""

    old: str
    new: str


def note(repo: Repository, branch: str, rewrite: Rewrite) -> None:
    """Note that a branch is about to be rewritten; an older tip that the remote may have stays noted."""
    before = read(repo, branch)
    old = rewrite.old
    if before is not None and before.new == rewrite.old:
        old = before.old
    git.run(["update-ref", f"{_OLD}{branch}", old], cwd=repo.root)
    git.run(["update-ref", f"{_NEW}{branch}", rewrite.new], cwd=repo.root)


def read(repo: Repository, branch: str) -> Rewrite | None:
    """Return the rewrite that the remote does not have yet; None if there is none."""
    old, new = (checkout.ref(repo.git_dir, f"{prefix}{branch}") for prefix in (_OLD, _NEW))
    if old is None or new is None:
        return None
    return Rewrite(old, new)


def take_back(repo: Repository, branch: str, tip: str) -> None:
    """Take note that the branch is back at `tip`, where it was before its last rewrite; earlier ones stay noted."""
    before = read(repo, branch)
    if before is None or before.old == tip:
        forget(repo, branch)
    else:
        git.run(["update-ref", f"{_NEW}{branch}", tip], cwd=repo.root)


def forget(repo: Repository, branch: str) -> None:
    """Forget a rewrite, since the remote has it now, or it was given up."""
    if all(checkout.ref(repo.git_dir, f"{prefix}{branch}") is None for prefix in (_OLD, _NEW)):
        return
    deleted = f"delete {_NEW}{branch}\ndelete {_OLD}{branch}\n"
    git.run(["update-ref", "--stdin"], cwd=repo.root, stdin=deleted.encode())
