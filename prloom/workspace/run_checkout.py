"""The repository of a worker machine: it fetches commits of the remote, and each run has a worktree of its own in it.

It is apart from the checkout in which the worker was started, whose branches, settings and hooks agents thus do not
see. Its branches are prloom's own, one for each run, and are never pushed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import repeat
from pathlib import Path

from prloom import flock
from prloom.core.text.naming import printable
from prloom.errors import WorkspaceError
from prloom.workspace import bundle, checkout, fetching, git, worktree, worktree_files
from prloom.workspace.repository import FETCH_LIMIT, Repository

_REPOSITORY, _RUNS = "repository", "runs"
_BRANCHES = "refs/heads/run"
_LOCKED_AT_MOST = FETCH_LIMIT.total_seconds() * 2
_PAUSE = 0.05
_ADDRESS = "remote.origin.url"
_WHOLE = (("fetch.unpackLimit", "1"),)  # objects come at once or not at all: one that is here is here with all it needs


def open_at(folder: Path, url: str) -> Repository:
    """Return the repository of the machine in a folder, which is made if need be; raises WorkspaceError.

    `url` is where commits are fetched from: that of the remote of the checkout in which the worker was started.
    """
    place = folder / _REPOSITORY
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / _RUNS).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"{printable(str(place))} cannot be made: {error.strerror}") from error
    with locked(folder):
        if not checkout.is_git_dir(place / ".git"):
            git.run(["init", "--quiet", "--template=", "--initial-branch=none", "."], cwd=place)
        if git.run(["config", "--get-all", _ADDRESS], cwd=place, codes=(0, 1)).out.splitlines() != [url]:
            git.run(["config", "--replace-all", _ADDRESS, url], cwd=place)
    return Repository(place.resolve(), (place / ".git").resolve())


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time change the machine's repository: fetch, make or remove a worktree, look what moved."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not flock.lock_within(opened, _LOCKED_AT_MOST, pauses=repeat(_PAUSE)):
            raise WorkspaceError(f"another worker is busy in {printable(str(folder))}; try again later")
        yield
    finally:
        os.close(opened)


def fetch(repo: Repository, commit: str, *, plan_ref: str | None = None) -> None:
    """Fetch a commit from the remote, if the repository has not got it; raises WorkspaceError.

    A server that gives no commit by its id alone is asked for all branches, and for the ref of prloom's that is named.
    """
    if _has(repo, commit):
        return
    said = None
    named = () if plan_ref is None else (f"+{plan_ref}:refs/prloom/fetched",)
    for wanted in ((commit,), named, ("+refs/heads/*:refs/remotes/origin/*",)):
        if not wanted:
            continue
        argv = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options", "origin", *wanted]
        try:
            fetching.run(argv, cwd=repo.root, git_dir=repo.git_dir, limit=FETCH_LIMIT, settings=_WHOLE)
        except WorkspaceError as error:
            said = error
        if _has(repo, commit):
            return
    reason = "the remote has no branch that leads to it"
    if said is not None:
        reason = str(said)
    raise WorkspaceError(f"commit {printable(commit[:12])} cannot be fetched: {reason}")


def branch(run: str) -> str:
    """Return the name of a run's branch."""
    return f"{_BRANCHES.removeprefix('refs/heads/')}/{run}"


def create(repo: Repository, run: str, commit: str) -> Path:
    """Make the worktree of a run at a commit that was fetched, and return its folder; raises WorkspaceError."""
    bundle.ref(run)  # the run's id becomes a path
    path = repo.root.parent / _RUNS / run
    remove(repo, run)  # of an attempt on this machine that was broken off
    git.run(["update-ref", f"refs/heads/{branch(run)}", commit], cwd=repo.root)
    try:
        worktree.create(repo, path, branch(run))
    except WorkspaceError:
        _forget(repo, run)
        raise
    return path


def remove(repo: Repository, run: str) -> None:
    """Remove the worktree of a run and all that led to its commits; none is no error. Raises WorkspaceError."""
    bundle.ref(run)
    path = repo.root.parent / _RUNS / run
    if checkout.registered(repo.git_dir, path) is not None:
        argv = ["worktree", "remove", "--force", "--force", "--", str(path)]
        with suppress(WorkspaceError):  # an agent may have broken what makes it a worktree
            git.run(argv, cwd=repo.root, limit=worktree.CHECKOUT_LIMIT)
    _remove_folder(path)
    left = checkout.registered(repo.git_dir, path)
    if left is not None:
        _remove_folder(left.git_dir)
    _forget(repo, run)


def runs(repo: Repository) -> tuple[str, ...]:
    """Return the runs that have a worktree here, by their ids."""
    try:
        return tuple(sorted(each.name for each in (repo.root.parent / _RUNS).iterdir() if each.is_dir()))
    except FileNotFoundError:
        return ()


def _forget(repo: Repository, run: str) -> None:
    listed = git.run(
        ["for-each-ref", "--format=%(refname)", f"refs/heads/{branch(run)}", f"refs/prloom/kept-refs/{run}/"],
        cwd=repo.root,
    )
    for name in listed.out.splitlines():
        git.run(["update-ref", "--no-deref", "-d", name], cwd=repo.root)


def _has(repo: Repository, commit: str) -> bool:
    return git.run(["cat-file", "-e", f"{commit}^{{commit}}"], cwd=repo.root, codes=(0, 1, 128)).code == 0


def _remove_folder(path: Path) -> None:
    try:
        if path.exists():
            worktree_files.remove_folder(path)
    except OSError as error:
        raise WorkspaceError(f"{printable(str(path))} cannot be removed: {printable(str(error))}") from error
