"""Rebase a plan's branch onto its base when that was asked for: all of its commits, those of people too.

Only objects are made, and the branch is moved when all of it is done. At a conflict, the files with git's marks are
noted as a commit (`rebase_stop`), from which the rebase goes on once they are resolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prloom.core.text.naming import printable
from prloom.core.work.inspection import DEFAULT_JUNK
from prloom.errors import WorkspaceError
from prloom.workspace import (
    backup_refs,
    commits,
    git,
    rebase_stop,
    remote,
    replay,
    repository,
    rewritten,
    snapshot,
)
from prloom.workspace.commits import Commit
from prloom.workspace.rebase_stop import RebaseStopped
from prloom.workspace.replay import ReplayConflict
from prloom.workspace.repository import Repository
from prloom.workspace.rewritten import Rewrite

_OF_EARLIER_VERSIONS = ("refs/prloom/rebase-old/", "refs/prloom/rebase-onto/")
"""What earlier versions of prloom noted while git's own rebase was stopped in the worktree."""


@dataclass(frozen=True)
class RebaseDone:
    """The branch was moved from `old` to `tip`; they are the same where nothing was to be done."""

    old: str
    tip: str


def start(
    repo: Repository, worktree: Path, branch: str, *, onto: str, sign: bool = False
) -> RebaseDone | RebaseStopped:
    """Rebase the branch onto the commit `onto`.

    Author, date and message of each commit stay, and merges are left out, as `git rebase` does. Raises WorkspaceError.
    """
    old, stopped = _tip(repo, branch), rebase_stop.noted(repo, branch)
    if stopped is not None and stopped.old == old:
        return stopped
    if remote.is_ancestor(repo, onto, old):
        return RebaseDone(old, old)
    return _go_on(repo, worktree, branch, _picked(repo, onto, old), old=old, onto=onto, head=onto, sign=sign)


def continue_(
    repo: Repository, worktree: Path, branch: str, *, given: str, sign: bool = False
) -> RebaseDone | RebaseStopped | None:
    """Go on with a rebase that has stopped: with the files of a resolution, or where none was found, at its conflict.

    `given` is the commit of either. Returns None where the branch was moved since: then `start` begins again.
    """
    stop = rebase_stop.read(repo, given)
    resolution = rebase_stop.resolved(repo, given)
    found = stop or resolution
    if found is None or _tip(repo, branch) != found.old:
        return None
    if resolution is None:
        return stop
    made = replay.resolved(repo, found.commit, tree=given, parent=found.head, sign=sign)
    picked = _picked(repo, found.onto, found.old)
    done = next((number for number, each in enumerate(picked, 1) if each.sha == found.commit), len(picked))
    return _go_on(repo, worktree, branch, picked[done:], old=found.old, onto=found.onto, head=made, sign=sign)


def end_earlier_versions(repo: Repository, worktree: Path, branch: str, *, junk: Sequence[str] = DEFAULT_JUNK) -> None:
    """Take back a rebase that an earlier version of prloom has left stopped in the worktree; its files are kept."""
    asked = ["for-each-ref", "--format=%(refname)", *(f"{prefix}{branch}" for prefix in _OF_EARLIER_VERSIONS)]
    for ref in git.run(asked, cwd=repo.root).out.splitlines():
        tip = _tip(repo, branch)
        taken = snapshot.take(repo, worktree, tip, junk=junk)
        if not taken.is_empty:
            backup_refs.keep_tree(repo, "rebase", tip, taken.tree)
        commits.restore(repo, worktree, tip, branch=branch, junk=junk)
        git.run(["update-ref", "-d", ref], cwd=repo.root)


def _go_on(
    repo: Repository,
    worktree: Path,
    branch: str,
    picked: Sequence[Commit],
    *,
    old: str,
    onto: str,
    head: str,
    sign: bool,
) -> RebaseDone | RebaseStopped:
    made = replay.replay(repo, picked, head, sign=sign)
    if isinstance(made, ReplayConflict):
        return rebase_stop.note(repo, branch, made, old=old, onto=onto)
    backup_refs.keep_ref(repo, "rebased", f"heads/{branch}", old)
    rewritten.note(repo, branch, Rewrite(old, made.tip))
    commits.advance(repo, worktree, branch, to=made.tip, expected=old)
    rebase_stop.forget(repo, branch)
    return RebaseDone(old, made.tip)


def _picked(repo: Repository, onto: str, old: str) -> tuple[Commit, ...]:
    return tuple(commits.between(repo, onto, old))[::-1]


def _tip(repo: Repository, branch: str) -> str:
    tip = repository.branch_sha(repo, branch)
    if tip is None:
        raise WorkspaceError(f"branch {printable(branch)} no longer exists; restore it, or forget the plan")
    return tip
