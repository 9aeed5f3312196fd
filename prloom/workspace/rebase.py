"""Rebase a plan's branch onto its base when that was asked for: all of its commits, those of people too.

Without a conflict nothing but the result is seen. With one, git's own rebase stands in the worktree where it stopped,
so that a worker can resolve it as anyone would; prloom goes on with it or takes everything back.
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
    remote,
    replay,
    repository,
    rewritten,
    snapshot,
    worktree_files,
)
from prloom.workspace.checkout import Checkout
from prloom.workspace.commits import Commit
from prloom.workspace.replay import Replayed
from prloom.workspace.repository import Repository
from prloom.workspace.rewritten import Rewrite

_OLD, _ONTO = "refs/prloom/rebase-old/", "refs/prloom/rebase-onto/"
"""Where the old tip of a branch, and what it is rebased onto, are kept while the rebase is stopped."""

_MERGE = "rebase-merge"
_MERGED = 2  # parents of a merge, or more
_SETTINGS = (
    ("rebase.updateRefs", "false"),  # else branches of others are moved too
    ("rebase.autoStash", "false"),
    ("rebase.rebaseMerges", "false"),
    ("rerere.enabled", "false"),  # else an earlier resolution is taken over unseen
    ("merge.conflictStyle", "merge"),
)
_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


@dataclass(frozen=True)
class RebaseDone:
    """The branch was moved from `old` to `tip`; they are the same where nothing was to be done."""

    old: str
    tip: str


@dataclass(frozen=True)
class RebaseStopped:
    """The rebase has stopped in the worktree, at a commit that conflicts in these files; `old` is the branch's tip.

    `head` is what the worktree's files are to be compared with: the base, and what was rebased so far.
    """

    old: str
    head: str
    commit: str
    paths: tuple[str, ...]


def start(
    repo: Repository, worktree: Path, branch: str, *, onto: str, junk: Sequence[str] = DEFAULT_JUNK
) -> RebaseDone | RebaseStopped:
    """Rebase the branch onto the commit `onto`; the worktree must have no changes of its own.

    Author, date and message of each commit stay, and merges are left out, as `git rebase` does. Raises WorkspaceError.
    """
    found = stopped(repo, worktree, branch)
    if found is not None:
        return found
    old = _tip(repo, branch)
    begun = _noted(repo, _ONTO, branch)
    if begun is not None and remote.is_ancestor(repo, begun, old):
        return _outcome(repo, worktree, branch, _old_tip(repo, branch), junk)  # it ended, and the call was stopped
    _forget(repo, branch)
    if remote.is_ancestor(repo, onto, old):
        return RebaseDone(old, old)
    picked = tuple(commits.between(repo, onto, old))[::-1]
    made = replay.replay(repo, picked, onto)
    if isinstance(made, Replayed):
        backup_refs.keep_ref(repo, "rebased", f"heads/{branch}", old)
        rewritten.note(repo, branch, Rewrite(old, made.tip))
        commits.advance(repo, worktree, branch, to=made.tip, expected=old, junk=junk)
        return RebaseDone(old, made.tip)
    git.run(["update-ref", f"{_ONTO}{branch}", onto], cwd=repo.root)
    git.run(["update-ref", f"{_OLD}{branch}", old], cwd=repo.root)
    place = snapshot.require(repo, worktree)
    _git_rebase(place, ["--no-verify", "--no-autosquash", "--onto", onto, onto])
    return _outcome(repo, worktree, branch, old, junk)


def stopped(repo: Repository, worktree: Path, branch: str) -> RebaseStopped | None:
    """Return where a rebase has stopped in the worktree; None if there is none."""
    place = snapshot.require(repo, worktree)
    folder = place.git_dir / _MERGE
    commit = checkout.read(folder / "stopped-sha")
    if not folder.is_dir() or commit is None:
        return None
    full = git.run(["rev-parse", "--verify", f"{commit}^{{commit}}"], cwd=repo.root).out.strip()
    unmerged = git.run(["ls-files", "-z", "--unmerged"], cwd=place.path, git_dir=place.git_dir).out.split("\0")
    paths = dict.fromkeys(entry.partition("\t")[2] for entry in unmerged if entry)
    return RebaseStopped(_old_tip(repo, branch), checkout.head(place), full, tuple(paths))


def unresolved(repo: Repository, worktree: Path, stop: RebaseStopped) -> tuple[str, ...]:
    """Return those of the files in conflict that still have the marks of one."""
    place = snapshot.require(repo, worktree)
    return tuple(path for path in stop.paths if _has_markers(place.path / path))


def continue_(
    repo: Repository, worktree: Path, branch: str, *, junk: Sequence[str] = DEFAULT_JUNK
) -> RebaseDone | RebaseStopped:
    """Take the worktree's files for the resolution, and go on with the rebase to its end or the next conflict.

    A rebase that was ended already, by a worker or a call that was stopped, is done. Raises WorkspaceError where files
    still have the marks of a conflict.
    """
    old = _old_tip(repo, branch)
    stop = stopped(repo, worktree, branch)
    if stop is None:
        return _outcome(repo, worktree, branch, old, junk)
    left = unresolved(repo, worktree, stop)
    if left:
        names = ", ".join(printable(path) for path in left)
        raise WorkspaceError(f"the conflict is not resolved in {names}; remove its marks and try again")
    place = snapshot.require(repo, worktree)
    tree = snapshot.take(repo, worktree, stop.head, junk=junk, max_file=0).tree
    git.run(["read-tree", "--reset", tree], cwd=place.path, git_dir=place.git_dir, limit=git.LONG_LIMIT)
    if tree == git.run(["rev-parse", f"{stop.head}^{{tree}}"], cwd=repo.root).out.strip():
        _git_rebase(place, ["--skip"])  # nothing is left of the commit
    else:
        _git_rebase(place, ["--continue"])
    return _outcome(repo, worktree, branch, old, junk)


def abort(repo: Repository, worktree: Path, branch: str, *, junk: Sequence[str] = DEFAULT_JUNK) -> str:
    """Take a rebase back: branch and files are what they were before it. Return the old tip; again does the same."""
    old = _old_tip(repo, branch)
    tip = repository.branch_sha(repo, branch)
    place = snapshot.require(repo, worktree)
    found = snapshot.take(repo, worktree, checkout.head(place), junk=junk)
    if not found.is_empty:
        backup_refs.keep_tree(repo, "rebase", found.base, found.tree)
    if tip is not None and tip != old:
        backup_refs.keep_ref(repo, "rebase", f"heads/{branch}", tip)
        commits.move(repo, branch, to=old, expected=tip)
    worktree_files.note_move(place, found.base, old)  # so that `recover` ends what may be stopped from here on
    commits.restore(repo, worktree, old, branch=branch, junk=junk)
    _forget(repo, branch)
    return old


def _outcome(
    repo: Repository, worktree: Path, branch: str, old: str, junk: Sequence[str]
) -> RebaseDone | RebaseStopped:
    stop = stopped(repo, worktree, branch)
    if stop is not None:
        return stop
    found = _tip(repo, branch)
    onto = _noted(repo, _ONTO, branch)
    tip = found
    if onto is not None and found != old:
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
    if not isinstance(again, Replayed):
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
    if ended.code and not (place.git_dir / _MERGE / "stopped-sha").exists():
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
    asked = ["rev-parse", "--verify", "--quiet", f"{prefix}{branch}^{{commit}}"]
    return git.run(asked, cwd=repo.root, codes=(0, 1)).out.strip() or None


def _forget(repo: Repository, branch: str) -> None:
    for prefix in (_OLD, _ONTO):
        git.run(["update-ref", "-d", f"{prefix}{branch}"], cwd=repo.root)


def _has_markers(path: Path) -> bool:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return False
    return all(any(line.startswith(mark) for line in lines) for mark in _MARKERS)
