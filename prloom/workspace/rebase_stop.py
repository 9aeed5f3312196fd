"""Note where a rebase has stopped at a conflict, with the files as whoever resolves it was given them.

The note is a commit, so that its id stands for all of it: what a worker does in the worktree, or to the note's ref,
changes nothing in a note whose id is known.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

import msgspec
from msgspec.structs import replace

from prloom.errors import WorkspaceError
from prloom.model import record
from prloom.model.record import Record
from prloom.workspace import backup_refs, checkout, git, revisions, snapshot, trees
from prloom.workspace.checkout import Checkout
from prloom.workspace.private_index import private_index
from prloom.workspace.repository import Repository
from prloom.workspace.trees import SUBMODULE

FOLDER = "rebase-merge"
"""Where git keeps an unfinished rebase, in the worktree's own git directory."""

_REF = "refs/prloom/rebase-stop/"
_RESOLVED = "resolved"
_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


class RebaseStopped(Record, frozen=True):
    """The rebase of a branch at `old` onto the commit `onto` has stopped at a `commit` that conflicts in these files.

    `head` is the commit that it was to be put on: the base, and what was rebased so far. `given` is the note, whose
    tree has the files as git has left them, with the marks of the conflict. `state` is a digest of git's own notes.
    """

    old: str
    onto: str
    head: str
    commit: str
    paths: tuple[str, ...]
    state: str
    given: str = ""


def note(repo: Repository, worktree: Path, branch: str, *, old: str, onto: str) -> RebaseStopped | None:
    """Note where git's rebase has just stopped in the worktree; return None if it has not."""
    place = snapshot.require(repo, worktree)
    commit = _stopped_at(repo, place)
    if commit is None:
        return None
    unmerged = _unmerged(place)
    paths = tuple(dict.fromkeys(path for path, _ in unmerged))
    stop = RebaseStopped(old, onto, checkout.head(place), commit, paths, _state(place))
    parents = [part for each in (stop.head, commit, old, onto) for part in ("-p", each)]
    given = _commit(repo, _files(place, unmerged), parents, msgspec.json.encode(record.to_wire(stop)).decode())
    git.run(["update-ref", f"{_REF}{branch}", given], cwd=repo.root)
    return read(repo, given)


def noted(repo: Repository, branch: str) -> str | None:
    """Return the latest note of a branch; None if there is none."""
    return revisions.commit_of(repo.root, f"{_REF}{branch}")


def put_back(repo: Repository, branch: str, given: str) -> None:
    """Have the branch's ref lead to a note again, wherever it leads by now."""
    git.run(["update-ref", "--no-deref", f"{_REF}{branch}", given], cwd=repo.root)


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


def is_stopped(repo: Repository, worktree: Path, stop: RebaseStopped) -> bool:
    """Whether the rebase is stopped in the worktree as it was noted; what HEAD and the files are does not matter."""
    place = snapshot.require(repo, worktree)
    return _stopped_at(repo, place) == stop.commit and _state(place) == stop.state


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


def _stopped_at(repo: Repository, place: Checkout) -> str | None:
    """Return the commit at which git says that it has stopped, if it has."""
    said = checkout.read(place.git_dir / FOLDER / "stopped-sha")
    if said is None:
        return None
    return revisions.commit_of(repo.root, said, external=True)


def _unmerged(place: Checkout) -> list[tuple[str, str]]:
    """Return each entry of a path in conflict in the worktree's index: the path, and its mode, object and side."""
    entries = git.run(["ls-files", "-z", "--unmerged"], cwd=place.path, git_dir=place.git_dir).out.split("\0")
    parts = [entry.partition("\t") for entry in entries if entry]
    return [(path, about) for about, _, path in parts]


def _files(place: Checkout, unmerged: list[tuple[str, str]]) -> str:
    """Return the worktree's files as a tree: git's index, with the files of the paths in conflict as they are."""
    paths = list(dict.fromkeys(path for path, _ in unmerged))
    folders = [path for path in paths if (place.path / path).is_dir() and not (place.path / path).is_symlink()]
    with private_index(place) as index:
        shutil.copy2(place.git_dir / "index", index.file)
        index.update(["--force-remove"], folders)
        index.update(["--add", "--remove"], [path for path in paths if path not in folders])
        for path, about in unmerged:
            mode, sha, side = about.split()
            if path in folders and side == "2" and int(mode, 8) == SUBMODULE:  # as the base has it
                index.run(["update-index", "--add", "--cacheinfo", f"{mode},{sha},{path}"])
        return index.write_tree()


def _state(place: Checkout) -> str:
    """Return a digest of all that git has noted of the rebase, which says what is picked and run next."""
    digest = hashlib.sha256()
    folder = place.git_dir / FOLDER
    for path in sorted(folder.rglob("*")):
        digest.update(os.fsencode(path.relative_to(folder)) + b"\0")
        if stat.S_ISREG(path.lstat().st_mode):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        else:
            digest.update(b"no file")
    return digest.hexdigest()


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
