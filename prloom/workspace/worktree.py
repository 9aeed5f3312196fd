"""Make, look at and remove the git worktrees in which plans are worked on."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import repeat
from typing import TYPE_CHECKING

from prloom import flock
from prloom.core.text.naming import is_branch_name, printable
from prloom.core.work.inspection import DEFAULT_JUNK
from prloom.errors import WorkspaceError
from prloom.model.own_folder import OWN_FOLDER
from prloom.workspace import checkout, checks, git, made_branches, ref_names, repository, root

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prloom.workspace.checkout import Checkout
    from prloom.workspace.repository import Repository

CHECKOUT_LIMIT = timedelta(minutes=10)
"""How long writing a commit's files may take."""

_MAKING = "prloom is making this worktree"
_FOLDER_MODE = 0o700
_PAUSE = 0.05  # seconds
_MOST_COMPARED = 5_000  # branches


def create(repo: Repository, path: Path, branch: str) -> str:
    """Make the worktree of a branch at path and return the SHA that is checked out; one that is there is kept.

    A branch that was only fetched from origin gets a local one that tracks it. What the branch commits is looked at
    before any of it is written. Raises WorkspaceError, and leaves nothing behind, where it cannot or must not be made.
    """
    if path.is_symlink():
        raise WorkspaceError(f"{printable(str(path))} is a symbolic link; remove it and try again")
    path = path.resolve()
    local = repository.branch_sha(repo, branch)
    sha = local or repository.remote_sha(repo, branch)
    if sha is None:
        raise WorkspaceError(_not_found(repo, branch))
    with _exclusive_lock(path.parent):
        there = _is_there(repo, path, branch)
        if not there:
            _refuse_if_held(repo, path, branch)
        _refuse_if_harmful(repo, sha, branch)
        _exclude(repo, path)
        if there:
            made = head(repo, path)
        else:
            if local is None:
                _refuse_if_unnameable(repo, branch)
            made = _make(repo, path, branch, sha, track=local is None)
        root.mark_as_plans(_at(repo, path))
        return made


def note_plan(repo: Repository, path: Path, note: str) -> None:
    """Note in git's own folder for a worktree of which plan it is; raises WorkspaceError."""
    root.mark_as_plans(_at(repo, path), note)


def remove(
    repo: Repository,
    path: Path,
    *,
    with_branch: bool = False,
    lose_work: bool = False,
    junk: Sequence[str] = DEFAULT_JUNK,
) -> None:
    """Remove the worktree at path, and its branch if asked to; refuse where work would be lost, unless `lose_work`.

    prloom's own folder in it, and what git ignores, go with it. Raises WorkspaceError with what is there.
    """
    worktree = _at(repo, path)
    branch, sha = None, ""
    if with_branch:
        branch, sha = checkout.branch(worktree), checkout.head(worktree)
    if lose_work:
        _refuse_where_locked(worktree, path)
    else:
        refuse_to_lose_work(repo, path, but=branch, junk=junk)
    # git's own look for changes would go into submodules, and take prloom's folder for one where it is not excluded.
    git.run(["worktree", "remove", "--force", "--", worktree.path], cwd=repo.root, limit=CHECKOUT_LIMIT)
    if branch is not None:
        made_branches.delete(repo, branch, sha)


def forget_gone(repo: Repository, path: Path) -> None:
    """Take a worktree whose folder is gone off git's list; raises WorkspaceError where commits would be lost."""
    found = checkout.registered(repo.git_dir, path)
    if found is not None and not found.path.exists():
        _forget(repo, found)


def refuse_to_lose_work(
    repo: Repository,
    path: Path,
    *,
    but: str | None = None,
    merged_into: str | None = None,
    junk: Sequence[str] = DEFAULT_JUNK,
) -> None:
    """Raise WorkspaceError where the worktree is locked, or holds work that is nowhere else but on branch `but`.

    New files that are `junk` are no work. Commits count as saved, too, where the commit `merged_into` has all that they
    change.
    """
    worktree = _at(repo, path)
    _refuse_where_locked(worktree, path)
    if found := checks.unsaved_work(worktree, repo.root, but=but, merged_into=merged_into, junk=junk):
        what = "; ".join(found)
        raise WorkspaceError(
            f"{printable(str(path))} holds work that is nowhere else ({what}); push or discard it first"
        )


def unsaved_work(repo: Repository, path: Path, *, junk: Sequence[str] = DEFAULT_JUNK) -> tuple[str, ...]:
    """Return what a worktree holds that is nowhere else, in words; raises WorkspaceError where it is none."""
    return tuple(checks.unsaved_work(_at(repo, path), repo.root, junk=junk))


def _refuse_where_locked(worktree: Checkout, path: Path) -> None:
    if (reason := checkout.locked(worktree)) is not None:
        raise WorkspaceError(
            f"{printable(str(path))} is locked ({printable(reason) or 'no reason was given'}); unlock it first"
        )


def head(repo: Repository, path: Path) -> str:
    """Return the full SHA of the commit that is checked out in a worktree; costs a few small reads."""
    return checkout.head(_at(repo, path))


def branch(repo: Repository, path: Path) -> str | None:
    """Return the branch that is checked out in a worktree; None on a detached HEAD."""
    return checkout.branch(_at(repo, path))


def is_dirty(repo: Repository, path: Path) -> bool:
    """Whether a worktree has changes that are not committed, or new files that are not ignored."""
    return bool(checks.uncommitted_paths(_at(repo, path)))


def _at(repo: Repository, path: Path) -> Checkout:
    found = checkout.registered(repo.git_dir, path)
    if found is None or not found.path.is_dir():
        raise WorkspaceError(
            f"{printable(str(path))} is not a worktree of {printable(str(repo.root))}; adopt its branch again"
        )
    return found


@contextmanager
def _exclusive_lock(folder: Path) -> Iterator[None]:
    """Let one process at a time make worktrees in a folder, so that a half-made one is known to be abandoned."""
    try:
        for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
            missing.mkdir(mode=_FOLDER_MODE, exist_ok=True)  # whatever the umask allows others
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise WorkspaceError(
            f"no worktree can be created in {printable(str(folder))}: {printable(str(error))}"
        ) from error
    try:
        _lock(opened, folder)
        yield
    finally:
        os.close(opened)


def _lock(opened: int, folder: Path) -> None:
    if not flock.lock_within(opened, CHECKOUT_LIMIT.total_seconds(), pauses=repeat(_PAUSE)):
        raise WorkspaceError(f"another prloom is working in {printable(str(folder))}; try again later")


def _is_there(repo: Repository, path: Path, branch: str) -> bool:
    """Whether the branch's worktree is there already; what an interrupted or removed one has left is cleared away."""
    found = checkout.registered(repo.git_dir, path)
    if found is not None and checkout.locked(found) == _MAKING:
        _discard(repo, path)
    elif found is not None and (path / ".git").exists():
        if checkout.has_branch(found, branch):
            return True
        there = checkout.branch(found)
        if there:
            checked_out = f"branch {printable(there)}"
        else:
            checked_out = f"commit {checkout.head(found)[:10]} without a branch"
        raise WorkspaceError(f"{printable(str(path))} is already a worktree, of {checked_out}; choose another plan id")
    elif found is not None:
        _forget(repo, found)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise WorkspaceError(f"{printable(str(path))} exists and is not a worktree of this repository; move it away")
    return False


def _refuse_if_held(repo: Repository, path: Path, branch: str) -> None:
    """Raise where another checkout holds the branch; forget one beside ours whose folder is gone."""
    for other in (repository.main_checkout(repo), *checkout.linked(repo.git_dir)):
        if not checkout.has_branch(other, branch):
            continue
        where = printable(str(other.path))
        if other.linked and not other.path.exists() and other.path.parent == path.parent:
            _forget(repo, other)
        elif other.linked and not other.path.exists():
            raise WorkspaceError(
                f"branch {printable(branch)} is registered as checked out in {where}, which is missing; "
                f"restore it, or remove the entry with `git worktree remove {where}`",
            )
        else:
            raise WorkspaceError(
                f"branch {printable(branch)} is checked out in {where}, and prloom needs it in its own worktree; "
                f"switch {where} to another branch, for instance with `git switch --detach`",
            )


def _refuse_if_harmful(repo: Repository, sha: str, branch: str) -> None:
    if found := checks.committed_state(repo, sha):
        raise WorkspaceError(
            f"branch {printable(branch)} contains {found}, where prloom keeps its own files; "
            "remove it from the branch and try again",
        )


def _refuse_if_unnameable(repo: Repository, branch: str) -> None:
    """Raise where git cannot have a local branch of this name, because of another one."""
    for other in ref_names.beside(repo.root, branch):
        raise WorkspaceError(
            f"git cannot have a local branch {printable(branch)} beside {printable(other)}; "
            f"rename {printable(other)} with `git branch --move` and try again"
        )


def _exclude(repo: Repository, path: Path) -> None:
    local = repo.root / OWN_FOLDER
    repository.exclude(repo, local)
    if not path.is_relative_to(local):
        repository.exclude(repo, path)


def _make(repo: Repository, path: Path, branch: str, sha: str, *, track: bool) -> str:
    """Make the worktree, and the branch if it is to track origin's, or neither; return what is checked out."""
    if track:
        _track(repo, branch, sha)
    try:
        _add(repo, path, branch, sha)
        git.run(["worktree", "unlock", path], cwd=repo.root)
    except BaseException:
        with suppress(WorkspaceError):
            _discard(repo, path)
            if track:
                made_branches.delete(repo, branch, sha)
        raise
    return sha


def _add(repo: Repository, path: Path, branch: str, sha: str) -> None:
    """Register the worktree, give it its branch, and write the files; it stays locked until it is known to be whole.

    `git worktree add <path> <branch>` would do that at once, but takes a branch called `--output=x` for a commit.
    """
    add = ["worktree", "add", "--quiet", "--detach", "--no-checkout", "--lock", "--reason", _MAKING, "--"]
    git.run([*add, path, sha], cwd=repo.root)
    own = _at(repo, path).git_dir
    git.run(["symbolic-ref", "HEAD", f"refs/heads/{branch}"], cwd=path, git_dir=own)
    # `git reset --hard` would set the branch back if somebody has moved it meanwhile.
    git.run(["read-tree", "--reset", "-u", "--no-recurse-submodules", sha], cwd=path, git_dir=own, limit=CHECKOUT_LIMIT)
    if head(repo, path) != sha:  # and nobody has looked at what it leads to now
        raise WorkspaceError(f"branch {printable(branch)} changed while its worktree was created; try again")


def _discard(repo: Repository, path: Path) -> None:
    """Remove a worktree that was never finished: nobody but git has written in it."""
    found = checkout.registered(repo.git_dir, path)
    if found is not None and checkout.locked(found) == _MAKING:
        git.run(["worktree", "remove", "--force", "--force", "--", path], cwd=repo.root, limit=CHECKOUT_LIMIT)


def _forget(repo: Repository, gone: Checkout) -> None:
    """Take one worktree whose folder is gone off git's list, unless commits would be lost with it."""
    lost = () if checkout.branch(gone) else checks.unsaved_commits(repo.root, checkout.head(gone))
    if lost:
        raise WorkspaceError(
            f"the worktree at {printable(str(gone.path))} is missing, and only its entry in git refers to "
            f"{len(lost)} commits; keep them with `git branch NAME {lost[0]}` and try again",
        )
    git.run(["worktree", "remove", "--", gone.path], cwd=repo.root)


def _track(repo: Repository, branch: str, sha: str) -> None:
    git.run(["update-ref", f"refs/heads/{branch}", sha, "0" * len(sha)], cwd=repo.root)
    git.run(["config", f"branch.{branch}.remote", "origin"], cwd=repo.root)
    git.run(["config", f"branch.{branch}.merge", f"refs/heads/{branch}"], cwd=repo.root)


def _not_found(repo: Repository, branch: str) -> str:
    if not is_branch_name(branch):
        return f"'{printable(branch)}' is not a valid name for a branch"
    if not repository.has_commits(repo):
        return repository.without_commits(repo.root)
    names = ", ".join(printable(name) for name in _similar_branches(repo, branch))
    hint = "see `git branch --all`, or fetch it with `git fetch`"
    if names:
        hint = f"did you mean {names}?"
    return f"no branch {printable(branch)} in {printable(str(repo.root))}, neither here nor fetched from origin; {hint}"


def _similar_branches(repo: Repository, branch: str) -> list[str]:
    """Return the names, at most three, of local and fetched branches that a mistyped one may have meant."""
    from difflib import get_close_matches  # noqa: PLC0415 -- only for an error

    from prloom.workspace import objects  # noqa: PLC0415 -- likewise

    return get_close_matches(branch[:256], sorted(objects.branch_names(repo, most=_MOST_COMPARED)), n=3)
