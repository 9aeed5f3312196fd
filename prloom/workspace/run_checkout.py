"""The repository of a worker machine: it fetches commits of the remote, and each run has a clone of its own of it.

It is apart from the checkout in which the worker was started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path

from prloom import flock
from prloom.core.text.naming import printable
from prloom.errors import WorkspaceError
from prloom.model import own_folder
from prloom.workspace import bundle, checkout, checks, clone, fetching, git
from prloom.workspace.clone import CloneState
from prloom.workspace.repository import FETCH_LIMIT, Repository

_REPOSITORY, _BRANCH = "repository", "run"
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
        (folder / own_folder.CLONES).mkdir(mode=0o700, exist_ok=True)
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
    """Let one process at a time fetch into the machine's repository, or make or remove a clone of it."""
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


def create(repo: Repository, run: str, commit: str) -> Path:
    """Make the clone of a run at a commit that was fetched, and return its folder; raises WorkspaceError."""
    path = clone_of(repo, run)
    clone.remove(path)  # of an attempt on this machine that was broken off
    found = checks.committed_state(repo, commit)
    if found is not None:
        raise WorkspaceError(f"commit {printable(commit[:12])} contains {found}, where prloom keeps its own files")
    clone.renew(repo, path, CloneState(branch=_BRANCH, commit=commit))
    return path


def clone_of(repo: Repository, run: str) -> Path:
    """Return the folder of a run's clone; raises WorkspaceError for what is no id of a run."""
    bundle.ref(run)
    return repo.root.parent / own_folder.CLONES / run


def remove(repo: Repository, run: str) -> None:
    """Remove the clone of a run; none is no error. Raises WorkspaceError."""
    clone.remove(clone_of(repo, run))


def runs(repo: Repository) -> tuple[str, ...]:
    """Return the runs that have a clone here, by their ids."""
    try:
        return tuple(sorted(each.name for each in (repo.root.parent / own_folder.CLONES).iterdir() if each.is_dir()))
    except FileNotFoundError:
        return ()


def _has(repo: Repository, commit: str) -> bool:
    return git.run(["cat-file", "-e", f"{commit}^{{commit}}"], cwd=repo.root, codes=(0, 1, 128)).code == 0
