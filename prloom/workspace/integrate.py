"""Bring what others pushed to a plan's branch into its worktree: fast-forward, or rebase prloom's own commits onto it.

A person's commit is never rewritten, and one that a person has removed from the remote is not brought back.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prloom.core.text.naming import printable
from prloom.core.work import commit_message
from prloom.errors import WorkspaceError
from prloom.workspace import backup_refs, checks, commits, remote, replay, repository, rewritten
from prloom.workspace.commits import Commit
from prloom.workspace.replay import ReplayConflict
from prloom.workspace.repository import Repository
from prloom.workspace.rewritten import Rewrite


@dataclass(frozen=True)
class UpToDate:
    """The branch has all that the remote has; `ahead` is how many commits the remote has not."""

    tip: str
    ahead: int


@dataclass(frozen=True)
class FastForwarded:
    """The branch was moved to the remote's tip."""

    old: str
    tip: str


@dataclass(frozen=True)
class Rebased:
    """prloom's commits were made again on the remote's tip: the new one of each, None where nothing was left of it."""

    old: str
    tip: str
    new: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class CommitConflict:
    """A commit of prloom's conflicts with the remote's in these files; nothing was changed."""

    commit: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class PeoplesCommits:
    """The branch and the remote differ, and commits of people would have to be rewritten; nothing was changed."""

    commits: tuple[str, ...]


Integrated = UpToDate | FastForwarded | Rebased | CommitConflict | PeoplesCommits


def integrate(
    repo: Repository,
    worktree: Path,
    branch: str,
    *,
    theirs: str,
    before: str | None,
    sign: bool = False,
) -> Integrated:
    """Bring the remote's tip `theirs` into the branch; `before` is what the remote had when prloom last looked.

    Raises WorkspaceError where the branch is gone, or what was pushed would replace prloom's own files, and
    WorktreeInTheWayError where a person has changed the same files in the worktree.
    """
    ours = repository.branch_sha(repo, branch)
    if ours is None:
        raise WorkspaceError(f"branch {printable(branch)} no longer exists; restore it, or forget the plan")
    rewrite = _rewrite(repo, branch, ours)
    if rewrite is not None and remote.is_ancestor(repo, theirs, rewrite.old):
        return UpToDate(ours, sum(1 for _ in commits.between(repo, theirs, ours)))
    removed = _removed(repo, theirs, before)
    own = tuple(each for each in commits.between(repo, theirs, ours) if each.sha not in removed)
    if rewrite is not None:  # something was pushed since the rebase: that is given up, and what came after it stays
        own = tuple(each for each in commits.between(repo, rewrite.new, ours) if each.sha not in removed)
    if rewrite is None and not removed and remote.is_ancestor(repo, theirs, ours):
        done: Integrated = UpToDate(ours, len(own))
    else:
        _refuse_harmful(repo, theirs, branch)
        done = _bring_in(repo, worktree, branch, ours=ours, theirs=theirs, own=own, sign=sign)
    if not isinstance(done, CommitConflict | PeoplesCommits):
        remote.note(repo, branch, theirs)
        rewritten.forget(repo, branch)
    return done


def _rewrite(repo: Repository, branch: str, ours: str) -> Rewrite | None:
    """Return the requested rebase of which the branch is the outcome, if the remote does not have it yet."""
    found = rewritten.read(repo, branch)
    if found is not None and remote.is_ancestor(repo, found.new, ours):
        return found
    return None


def _bring_in(
    repo: Repository,
    worktree: Path,
    branch: str,
    *,
    ours: str,
    theirs: str,
    own: tuple[Commit, ...],
    sign: bool,
) -> Integrated:
    if remote.is_ancestor(repo, ours, theirs):
        commits.advance(repo, worktree, branch, to=theirs, expected=ours)
        return FastForwarded(ours, theirs)
    people = tuple(each.sha for each in own if not commit_message.is_prlooms(each.message))
    if people:
        return PeoplesCommits(people)
    made = replay.replay(repo, own[::-1], theirs, sign=sign)
    if isinstance(made, ReplayConflict):
        return CommitConflict(made.commit, made.paths)
    backup_refs.keep_ref(repo, "rebased", f"heads/{branch}", ours)
    commits.advance(repo, worktree, branch, to=made.tip, expected=ours)
    return Rebased(ours, made.tip, made.new)


def _removed(repo: Repository, theirs: str, before: str | None) -> frozenset[str]:
    """Return the commits that the remote had before and has no more: somebody has taken them away."""
    if before is None:
        return frozenset()
    return frozenset(each.sha for each in commits.between(repo, theirs, before))


def _refuse_harmful(repo: Repository, theirs: str, branch: str) -> None:
    found = checks.committed_state(repo, theirs)
    if found is not None:
        raise WorkspaceError(
            f"branch {printable(branch)} of the remote contains {found}, where prloom keeps its own files; "
            "remove it from the branch and try again"
        )
