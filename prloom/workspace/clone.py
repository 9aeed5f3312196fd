"""Make and renew the clone in which the agents of a plan work: a repository of its own, with the main one's objects.

All of the clone belongs to whoever works in it. prloom never runs git by what the clone's own `.git` says: it has a git
directory of its own for the same files, with an index, which reads the configuration of the main repository and writes
objects there. See "alternates" in gitrepository-layout(5).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from prloom.core.text.naming import printable
from prloom.core.text.path_patterns import PathPatterns
from prloom.core.work.inspection import DEFAULT_JUNK
from prloom.errors import WorkspaceError
from prloom.workspace import checkout, trees, worktree_files
from prloom.workspace.checkout import Checkout
from prloom.workspace.repository import Repository

_STALE = (
    "hooks",
    "worktrees",
    "config.worktree",
    "commondir",
    "shallow",
    *(f"{each}.lock" for each in ("index", "packed-refs", "config", "HEAD")),
)
"""What a worker, or a git of its that was killed, may have left in the clone's repository."""
_MODE = 0o700
_MESSAGE, _LONGEST_MESSAGE = "COMMIT_EDITMSG", 1 << 20
_FILLED_WITH, _SET_UP = "prloom-filled", "prloom-set-up"
_SPARSE = "info/sparse-checkout"
_OWN_SETTINGS = "config.worktree"
_SHA256 = 64  # characters of an id
_CONFIG = """[core]
\trepositoryformatversion = {version}
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
{more}[user]
\tname = prloom
\temail = prloom@localhost
[remote "origin"]
\tfetch = +refs/heads/*:refs/remotes/origin/*
"""
"""What the clone's git is told: who commits, and no address to fetch from or push to."""


@dataclass(frozen=True)
class CloneState:
    """What a clone is to have: the commit of its branch, its files, and another branch that it can compare with.

    `tree` are the files where they are not those of the commit. `base` is the name of the base branch. `like` is a
    worktree whose sparse checkout the clone takes over.
    """

    branch: str
    commit: str
    tree: str | None = None
    base: str | None = None
    like: Path | None = None


def exists(repo: Repository, path: Path) -> bool:
    """Whether a clone was made at this path, and is there."""
    found = checkout.clone(repo.git_dir, path)
    return found is not None and path.is_dir() and not path.is_symlink()


def filled_with(repo: Repository, path: Path) -> str | None:
    """Return the commit or the tree whose files the clone was given last; None where there is no clone."""
    if not exists(repo, path):
        return None
    return checkout.read(checkout.index_of_clone(path) / _FILLED_WITH)


def renew(repo: Repository, path: Path, state: CloneState, *, junk: Sequence[str] = DEFAULT_JUNK) -> None:
    """Make the clone if need be, and give it exactly this state; files that git ignores, and junk, stay.

    Whatever was done to its repository before, such as a commit or another configuration, is gone. Again does the same.
    """
    try:
        _renew(repo, path, state, junk)
    except (OSError, WorkspaceError):  # a worker has made it so that it cannot be written
        remove(path)
        try:
            _renew(repo, path, state, junk)
        except OSError as error:
            said = f"the clone {printable(str(path))} cannot be written: {printable(str(error))}"
            raise WorkspaceError(said) from error


def rewrite_repository(repo: Repository, path: Path, state: CloneState) -> None:
    """Write only the clone's own repository anew, whatever was done to it; its files stay. Raises WorkspaceError."""
    place = checkout.clone(repo.git_dir, path)
    if place is None:
        raise WorkspaceError(f"{printable(str(path))} is no clone of a plan")
    try:
        _write_repository(repo, place, state)
    except OSError as error:
        raise WorkspaceError(f"the clone {printable(str(path))} cannot be written: {printable(str(error))}") from error


def _renew(repo: Repository, path: Path, state: CloneState, junk: Sequence[str]) -> None:
    place = _folder(repo, path, state)
    worktree_files.refill(place, state.tree or state.commit, junk=junk)
    _write_repository(repo, place, state)
    (place.git_dir / _FILLED_WITH).write_text(state.tree or state.commit)


def setup_digest(repo: Repository, tree: str, commands: Sequence[str], patterns: Sequence[str]) -> str:
    """Return what stands for the commands of a set-up and the files of a tree that it depends on."""
    wanted = PathPatterns(tuple(patterns))
    files = [f"{each.sha} {each.path}" for each in trees.files(repo, tree) if wanted.find(each.path) is not None]
    return sha256("\0".join((*commands, *files)).encode("utf-8", "surrogateescape")).hexdigest()


def noted_setup(path: Path) -> str | None:
    """Return for what the clone was set up last; None where it was not."""
    return checkout.read(checkout.index_of_clone(path) / _SET_UP)


def note_setup(path: Path, digest: str) -> None:
    """Take note that the clone was set up."""
    (checkout.index_of_clone(path) / _SET_UP).write_text(digest)


def write_message(path: Path, message: str) -> str:
    """Write the message of a commit where hooks find it in the clone; return the file's path."""
    file = path / ".git" / _MESSAGE
    _replace(file, message.encode("utf-8", "surrogateescape"))
    return str(file)


def read_message(path: Path) -> str:
    """Return the message as hooks have left it; raises WorkspaceError where it is not to be read."""
    try:
        fd = os.open(path / ".git" / _MESSAGE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as opened:
            return opened.read(_LONGEST_MESSAGE).decode("utf-8", "replace")
    except OSError as error:
        raise WorkspaceError(f"the message of the commit cannot be read: {printable(str(error))}") from error


def remove(path: Path) -> None:
    """Remove a clone and prloom's own index of it; none is no error. Raises WorkspaceError."""
    try:
        for folder in (path, checkout.index_of_clone(path)):
            if folder.is_symlink():
                folder.unlink()
            elif folder.exists():
                worktree_files.remove_folder(folder)
    except OSError as error:
        raise WorkspaceError(f"{printable(str(path))} cannot be removed: {printable(str(error))}") from error


def _folder(repo: Repository, path: Path, state: CloneState) -> Checkout:
    """Return the clone's folder with prloom's own git directory for it, both of which are made if need be."""
    if path.is_symlink():
        path.unlink()
    path.mkdir(mode=_MODE, parents=True, exist_ok=True)
    own = checkout.index_of_clone(path)
    (own / "info").mkdir(mode=_MODE, parents=True, exist_ok=True)
    common = os.fsencode(repo.git_dir) + b"\n"
    if _content(own / "commondir") != common:
        (own / "commondir").write_bytes(common)
    (own / "HEAD").write_text(f"{state.commit}\n")
    if state.like is not None:
        _take_over_sparse(repo, state.like, own)
    return Checkout(path, own, repo.git_dir)


def _take_over_sparse(repo: Repository, like: Path, own: Path) -> None:
    found = checkout.registered(repo.git_dir, like)
    for name in (_SPARSE, _OWN_SETTINGS):
        if found is not None and (found.git_dir / name).exists():
            shutil.copyfile(found.git_dir / name, own / name)
        else:
            (own / name).unlink(missing_ok=True)


def _write_repository(repo: Repository, place: Checkout, state: CloneState) -> None:
    """Write what the clone's own `.git` says anew; its objects, its modules and what a person installed there stay."""
    folder = place.path / ".git"
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        folder.unlink()
    for name in ("refs", "info", "objects", "objects/info"):
        _real_folder(folder, name)
    for name in ("heads", "remotes", "tags"):
        _cleared(folder / "refs" / name)
        (folder / "refs" / name).mkdir()
    for name in worktree_files.OPERATIONS:
        _cleared(folder / name)
    objects = os.fsencode(repo.git_dir / "objects")
    sparse, is_sha256 = (place.git_dir / _SPARSE).exists(), len(state.commit) == _SHA256
    files: dict[str, bytes] = {
        "objects/info/alternates": objects + b"\n",
        "config": _CONFIG.format(
            version=int(is_sha256),
            more="\tsparseCheckout = true\n" * sparse + "[extensions]\n\tobjectFormat = sha256\n" * is_sha256,
        ).encode(),
        "packed-refs": _packed_refs(repo, state),
        "info/exclude": _content(repo.git_dir / "info/exclude"),
        "index": _content(place.git_dir / "index"),
        "HEAD": f"ref: refs/heads/{state.branch}\n".encode("utf-8", "surrogateescape"),  # last: now it is a repository
    }
    if sparse:
        files[_SPARSE] = _content(place.git_dir / _SPARSE)
    if (repo.git_dir / "shallow").exists():
        files["shallow"] = _content(repo.git_dir / "shallow")
    for name in _STALE:
        _cleared(folder / name)
    for name, content in files.items():
        _replace(folder / name, content)


def _real_folder(folder: Path, name: str) -> None:
    place = folder / name
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        place.unlink()
    place.mkdir(parents=True, exist_ok=True)


def _cleared(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        worktree_files.remove_folder(place)
    else:
        with suppress(FileNotFoundError):
            place.unlink()


def _replace(file: Path, content: bytes) -> None:
    """Write a file in place of whatever is there; a link is not followed."""
    _cleared(file)
    with file.open("xb") as opened:
        opened.write(content)


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def _packed_refs(repo: Repository, state: CloneState) -> bytes:
    """Return the file of refs: the plan's branch and its base, as they are at origin or here, and all tags."""
    names = [f"refs/remotes/origin/{name}" for name in (state.branch, state.base) if name]
    if state.base:
        names.append(f"refs/heads/{state.base}")
    found = {name: sha for name in names if (sha := checkout.ref(repo.git_dir, name)) is not None}
    return _as_file(_refs({**checkout.refs_below(repo.git_dir, "refs/tags/"), **found}, state))


def _refs(found: Mapping[str, str], state: CloneState) -> dict[str, str]:
    refs = {name: sha for name, sha in found.items() if name.startswith("refs/tags/")}
    for name in filter(None, (state.branch, state.base)):
        here = state.commit if name == state.branch else found.get(f"refs/heads/{name}")
        sha = found.get(f"refs/remotes/origin/{name}") or here
        if sha is not None:
            refs[f"refs/remotes/origin/{name}"] = sha
    refs[f"refs/heads/{state.branch}"] = state.commit
    return refs


def _as_file(refs: Mapping[str, str]) -> bytes:
    lines = ["# pack-refs with: sorted ", *(f"{refs[name]} {name}" for name in sorted(refs))]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
