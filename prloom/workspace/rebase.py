"""Rebase a plan's branch onto its base when that was asked for: all of its commits, those of people too.

Without a conflict nothing but the result is seen. With one, git's own rebase is stopped in the worktree, so that a
worker can resolve the conflict as anyone would; prloom goes on with it or takes everything back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prloom.core.text.naming import is_branch_name, printable
from prloom.core.work.inspection import DEFAULT_JUNK
from prloom.errors import WorkspaceError
from prloom.workspace import (
    backup_refs,
    checkout,
    commits,
    git,
    rebase_stop,
    remote,
    replay,
    repository,
    revisions,
    rewritten,
    snapshot,
    undo,
    worktree_files,
)
from prloom.workspace.checkout import Checkout
from prloom.workspace.commits import Commit
from prloom.workspace.rebase_stop import RebaseStopped
from prloom.workspace.replay import ReplayedCommits
from prloom.workspace.repository import Repository
from prloom.workspace.rewritten import Rewrite

_OLD, _ONTO = "refs/prloom/rebase-old/", "refs/prloom/rebase-onto/"
"""Where the old tip of a branch, and what it is rebased onto, are kept while the rebase is stopped."""

_MERGED = 2  # parents of a merge, or more
_SETTINGS = (
    ("rebase.updateRefs", "false"),  # else branches of others are moved too
    ("rebase.autoStash", "false"),
    ("rebase.rebaseMerges", "false"),
    ("rerere.enabled", "false"),  # else an earlier resolution is taken over unseen
    ("merge.conflictStyle", "merge"),
)


@dataclass(frozen=True)
class RebaseDone:
    """The branch was moved from `old` to `tip`; they are the same where nothing was to be done."""

    old: str
    tip: str


def start(
    repo: Repository, worktree: Path, branch: str, *, onto: str, junk: Sequence[str] = DEFAULT_JUNK
) -> RebaseDone | RebaseStopped:
    """Rebase the branch onto the commit `onto`; the worktree must have no changes of its own.

    Author, date and message of each commit stay, and merges are left out, as `git rebase` does. Raises WorkspaceError.
    """
    found = stopped(repo, worktree, branch)
    if found is not None:
        return found
    if is_begun(repo, branch):  # it was ended by a worker or a person, or the call that began it was stopped
        abort(repo, worktree, branch, junk=junk)
    old = _tip(repo, branch)
    if remote.is_ancestor(repo, onto, old):
        return RebaseDone(old, old)
    picked = tuple(commits.between(repo, onto, old))[::-1]
    made = replay.replay(repo, picked, onto)
    if isinstance(made, ReplayedCommits):
        backup_refs.keep_ref(repo, "rebased", f"heads/{branch}", old)
        rewritten.note(repo, branch, Rewrite(old, made.tip))
        commits.advance(repo, worktree, branch, to=made.tip, expected=old, junk=junk)
        return RebaseDone(old, made.tip)
    git.run(["update-ref", f"{_ONTO}{branch}", onto], cwd=repo.root)
    git.run(["update-ref", f"{_OLD}{branch}", old], cwd=repo.root)
    place = snapshot.require(repo, worktree)
    _git_rebase(place, ["--no-verify", "--no-autosquash", "--onto", onto, onto])
    return _outcome(repo, worktree, branch, junk, old=old, onto=onto)


def is_begun(repo: Repository, branch: str) -> bool:
    """Whether a rebase was begun that was neither ended nor taken back."""
    return _noted(repo, _ONTO, branch) is not None


def stopped(repo: Repository, worktree: Path, branch: str) -> RebaseStopped | None:
    """Return where a rebase has stopped in the worktree; None if it is no longer as prloom left it."""
    given = rebase_stop.noted(repo, branch)
    stop = None
    if given is not None:
        stop = rebase_stop.read(repo, given)
    if stop is None or not rebase_stop.is_stopped(repo, worktree, stop):
        return None
    return stop


def continue_(
    repo: Repository, worktree: Path, branch: str, *, resolution: str, junk: Sequence[str] = DEFAULT_JUNK
) -> RebaseDone | RebaseStopped | None:
    """Go on with the rebase to its end or the next conflict, with exactly the files of a resolution of this one.

    Returns None where the rebase is no longer stopped there: a call that was stopped may have gone on with it, or
    somebody has. Then `start` finds out what is to be done.
    """
    stop = rebase_stop.resolved(repo, resolution)
    if stop is None or rebase_stop.noted(repo, branch) != stop.given:
        return None
    place = snapshot.require(repo, worktree)
    if not rebase_stop.is_stopped(repo, worktree, stop):
        if (place.git_dir / rebase_stop.FOLDER).exists() or _tip(repo, branch) == stop.old:
            return None
        # It has ended, and the call was stopped.
        return _outcome(repo, worktree, branch, junk, old=stop.old, onto=stop.onto)
    made = replay.resolved(repo, stop.commit, tree=resolution, parent=stop.head)
    git.run(["update-ref", "--no-deref", "HEAD", made], cwd=place.path, git_dir=place.git_dir)
    worktree_files.write(place, made, junk=junk)
    worktree_files.forget_pick(place)
    _git_rebase(place, ["--continue"])
    return _outcome(repo, worktree, branch, junk, old=stop.old, onto=stop.onto)


def abort(repo: Repository, worktree: Path, branch: str, *, junk: Sequence[str] = DEFAULT_JUNK) -> str:
    """Take a rebase back: branch and files are what they were before it. Return the branch's tip; again does the same.

    Where somebody but a worker has moved the branch, it stays where it is.
    """
    old = _old_tip(repo, branch)
    tip = repository.branch_sha(repo, branch)
    place = snapshot.require(repo, worktree)
    head = checkout.head(place)
    found = snapshot.take(repo, worktree, head, junk=junk)
    if not found.is_empty:
        backup_refs.keep_tree(repo, "rebase", found.base, found.tree)
    if head not in {old, tip}:
        backup_refs.keep_ref(repo, "rebase", "HEAD", head)
    if tip is not None and tip != old:
        backup_refs.keep_ref(repo, "rebase", f"heads/{branch}", tip)
        if undo.moved_by_worker(repo, f"refs/heads/{branch}"):
            commits.move(repo, branch, to=old, expected=tip)
        else:
            _note_peoples(repo, branch, old, tip)
            old = tip
    worktree_files.note_move(place, found.base, old)  # so that `recover` ends what may be stopped from here on
    commits.restore(repo, worktree, old, branch=branch, junk=junk)
    _forget(repo, branch)
    return old


def _note_peoples(repo: Repository, branch: str, old: str, tip: str) -> None:
    """Note that a person has ended the requested rebase, if that is so, so that the outcome may be pushed."""
    onto = _noted(repo, _ONTO, branch)
    if onto is not None and remote.is_ancestor(repo, onto, tip):
        rewritten.note(repo, branch, Rewrite(old, onto))  # all that is on top of that is the person's


def _outcome(
    repo: Repository, worktree: Path, branch: str, junk: Sequence[str], *, old: str, onto: str
) -> RebaseDone | RebaseStopped:
    """Return what git's rebase has come to in the worktree, once all of it is noted."""
    stop = rebase_stop.note(repo, worktree, branch, old=old, onto=onto)
    if stop is not None:
        return stop
    found = _tip(repo, branch)
    tip = found
    if found != old:
        tip = _verified(repo, onto, old, found)
        backup_refs.keep_ref(repo, "rebased", f"heads/{branch}", old)
        rewritten.note(repo, branch, Rewrite(old, tip))
    if tip == found:
        commits.restore(repo, worktree, tip, branch=branch, junk=junk)
    else:
        commits.advance(repo, worktree, branch, to=tip, expected=found, junk=junk)
    _forget(repo, branch)
    return RebaseDone(old, tip)


def _verified(repo: Repository, onto: str, old: str, tip: str) -> str:
    """Return the tip with the operator as committer of all; raise WorkspaceError where it is no rebase of the old one.

    A worker may have ended the rebase itself, and must not have rewritten what people did.
    """
    before = [replay.authorship(repo, each) for each in _without_merges(repo, onto, old)]
    made = _without_merges(repo, onto, tip)
    remaining = iter(before)
    if not remote.is_ancestor(repo, onto, tip) or not all(replay.authorship(repo, each) in remaining for each in made):
        raise WorkspaceError(f"the rebase has changed author, date or message of commits; abort it ({tip[:10]})")
    again = replay.replay(repo, made, onto)
    if not isinstance(again, ReplayedCommits):
        raise WorkspaceError(f"the rebased commits do not apply to {onto[:10]}; abort the rebase")
    return again.tip


def _without_merges(repo: Repository, base: str, tip: str) -> list[Commit]:
    return [each for each in commits.between(repo, base, tip) if len(each.parents) < _MERGED][::-1]


def _git_rebase(place: Checkout, argv: Sequence[str]) -> None:
    """Run git's rebase; that it stops at a conflict is no failure."""
    ended = git.run(
        ["rebase", *argv],
        cwd=place.path,
        git_dir=place.git_dir,
        settings=_SETTINGS,
        codes=range(-255, 256),
        limit=git.LONG_LIMIT,
    )
    if ended.code and not (place.git_dir / rebase_stop.FOLDER / "stopped-sha").exists():
        reason = git.reason(ended.err, ended.code)
        raise WorkspaceError(f"git rebase failed in {printable(str(place.path))}: {reason}")


def _tip(repo: Repository, branch: str) -> str:
    tip = repository.branch_sha(repo, branch)
    if tip is None:
        raise WorkspaceError(f"branch {printable(branch)} no longer exists; restore it, or forget the plan")
    return tip


def _old_tip(repo: Repository, branch: str) -> str:
    """Return what the branch led to before its rebase; where that was not noted, it was not moved."""
    if not is_branch_name(branch):
        raise WorkspaceError(f"'{printable(branch)}' is not a valid name for a branch")
    return _noted(repo, _OLD, branch) or _tip(repo, branch)


def _noted(repo: Repository, prefix: str, branch: str) -> str | None:
    return revisions.commit_of(repo.root, f"{prefix}{branch}")


def _forget(repo: Repository, branch: str) -> None:
    rebase_stop.forget(repo, branch)
    for prefix in (_OLD, _ONTO):
        git.run(["update-ref", "-d", f"{prefix}{branch}"], cwd=repo.root)
