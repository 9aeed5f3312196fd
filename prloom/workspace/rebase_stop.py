"""Note where a rebase has stopped at a conflict, with the files as whoever resolves it is given them.

The note is a commit, so that its id stands for all of it. A ref keeps it while the rebase is not ended.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from prloom.errors import WorkspaceError
from prloom.model import record
from prloom.model.record import Record
from prloom.workspace import backup_refs, checkout, git, trees
from prloom.workspace.replay import ReplayConflict
from prloom.workspace.repository import Repository

_REF = "refs/prloom/rebase-stop/"
_RESOLVED = "resolved"
_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


class RebaseStopped(Record, frozen=True):
    """The rebase of a branch at `old` onto the commit `onto` has stopped at a `commit` that conflicts in these files.

    `head` is the commit that it was to be put on: the base, and what was rebased so far. `given` is the note, whose
    tree has the files as git has left them, with the marks of the conflict.
    """

    old: str
    onto: str
    head: str
    commit: str
    paths: tuple[str, ...]
    given: str = ""


def note(repo: Repository, branch: str, conflict: ReplayConflict, *, old: str, onto: str) -> RebaseStopped:
    """Note where a rebase has stopped."""
    stop = RebaseStopped(old, onto, conflict.head, conflict.commit, conflict.paths)
    parents = [part for each in (stop.head, stop.commit, old, onto) for part in ("-p", each)]
    given = _commit(repo, conflict.tree, parents, msgspec.json.encode(record.to_wire(stop)).decode())
    git.run(["update-ref", f"{_REF}{branch}", given], cwd=repo.root)
    return replace(stop, given=given)


def noted(repo: Repository, branch: str) -> RebaseStopped | None:
    """Return the latest note of a branch; None if there is none."""
    given = checkout.ref(repo.git_dir, f"{_REF}{branch}")
    return None if given is None else read(repo, given)


def forget(repo: Repository, branch: str) -> None:
    """Forget the note of a branch; nothing is no error."""
    git.run(["update-ref", "--no-deref", "-d", f"{_REF}{branch}"], cwd=repo.root)


def read(repo: Repository, given: str) -> RebaseStopped | None:
    """Return what a note says; None if the commit is none."""
    try:
        said = record.decode(RebaseStopped, _message(repo, given).encode())
    except msgspec.DecodeError:
        return None
    return replace(said, given=given)


def resolution(repo: Repository, stop: RebaseStopped, tree: str) -> str:
    """Return a commit that says that the conflict is resolved by a tree."""
    return _commit(repo, tree, ["-p", stop.given], _RESOLVED)


def resolved(repo: Repository, resolution: str) -> RebaseStopped | None:
    """Return the conflict that such a commit resolves; None if it is none."""
    if _message(repo, resolution).strip() != _RESOLVED:
        return None
    asked = ["rev-parse", "--verify", "--quiet", f"{resolution}^1"]
    return read(repo, git.run(asked, cwd=repo.root, codes=(0, 1)).out.strip())


def unresolved(repo: Repository, stop: RebaseStopped, tree: str) -> tuple[str, ...]:
    """Return those of the files in conflict that still have the marks of one in a tree."""
    texts = trees.texts(repo, tree, stop.paths)
    return tuple(path for path in stop.paths if _has_markers(texts.get(path, b"")))


def _commit(repo: Repository, tree: str, parents: list[str], message: str) -> str:
    argv = ["commit-tree", *parents, "-F", "-", tree]
    return git.run(argv, cwd=repo.root, stdin=message.encode(), variables=backup_refs.PRLOOM).out.strip()


def _message(repo: Repository, commit: str) -> str:
    try:
        said = git.run(["cat-file", "commit", commit], cwd=repo.root).out
    except WorkspaceError:
        return ""
    return said.partition("\n\n")[2]


def _has_markers(content: bytes) -> bool:
    lines = content.splitlines()
    return all(any(line.startswith(mark) for line in lines) for mark in _MARKERS)
