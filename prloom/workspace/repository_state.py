"""Record what a repository has outside a plan's worktree, and say what has changed since: refs, settings, checkouts.

The state is a record, so that a run can be judged by it even if prloom ended while the run went on.
"""

from __future__ import annotations

import base64
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from prloom.core.text.naming import printable
from prloom.core.work import repository_changes, worker_identity
from prloom.core.work.repository_changes import CheckoutState, Difference, FileState, RepositoryState
from prloom.errors import WorkspaceError
from prloom.model.own_folder import OWN_FOLDER
from prloom.workspace import checkout, git, repository, root, snapshot
from prloom.workspace.checkout import Checkout
from prloom.workspace.new_branches import NOTES
from prloom.workspace.repository import Repository

OWN_REFS = "refs/prloom/"
"""Where prloom keeps refs of its own."""

OF_REBASES = tuple(f"{OWN_REFS}{name}/" for name in ("rewritten-old", "rewritten-new", "rebase-old", "rebase-onto"))
"""Those, by branch, that say what a rebase may replace on the remote; prloom moves none of them while a worker runs."""

_FILES = (
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "shallow",
)
_WORKTREE_FILES = ("HEAD", "commondir", "gitdir", "config.worktree", "info/sparse-checkout")
_LEADING = re.compile(r"worktrees/[^/]+/(?:HEAD|commondir|gitdir)")  # without them the worktree is not found
_CONFIGS = ("config", "config.worktree")
_NOT_HOOKS = (".sample", ".kept-by-prloom")
_OTHERS = 0o077  # whatever the umask, only its owner may read or change what prloom writes
_LARGEST = 1_000_000  # bytes of a file whose content is recorded


def record(repo: Repository, worktree: Path) -> RepositoryState:
    """Return the state of the repository around a plan's worktree; raises WorkspaceError.

    The name under which a worker's git is to work is written too, since what it does is judged by that.
    """
    _write_identity(repo)
    own = snapshot.require(repo, worktree)
    # The refs come first: a branch that prloom is making is noted until its worktree is marked as that of a plan.
    refs, new = _refs(repo)
    others = [each for each in checkout.linked(repo.git_dir) if each.path != own.path]
    plans = [each for each in others if root.is_plans(each)]
    people = [repository.main_checkout(repo), *(each for each in others if each not in plans and each.path.is_dir())]
    branch = checkout.branch(own)
    return RepositoryState(
        branch=None if branch is None else _text(branch),
        head=_head(own),
        refs=refs,
        plan_branches=tuple(sorted(new | {name for each in plans if (name := checkout.branch(each))})),
        settings=_all_settings(repo),
        files=dict(_files(repo, own)),
        checkouts={_text(str(each.path)): _checkout(each) for each in people},
    )


def since(repo: Repository, worktree: Path, before: RepositoryState, *, branch: str) -> tuple[Difference, ...]:
    """Return what differs from an earlier state, for the plan with this branch; raises WorkspaceError.

    Where git can no longer read its settings, or no longer finds the worktree, only that is returned.
    """
    unreadable = repository_changes.unreadable(before.settings, _all_settings(repo))
    leading = {name: state for name, state in before.files.items() if _LEADING.fullmatch(name)}
    lost = repository_changes.unreadable(
        leading, {name: _leading(repo, name, state) for name, state in leading.items()}
    )
    return (*unreadable, *lost) or repository_changes.differences(before, record(repo, worktree), branch=branch)


def _leading(repo: Repository, name: str, before: FileState) -> FileState | None:
    """Return a file by which git finds a worktree; None where it was changed, but for the branch that HEAD names."""
    now = _file(repo.git_dir / name)
    if now is not None and name.endswith("/HEAD") and checkout.is_git_dir((repo.git_dir / name).parent):
        return now
    if now == before:
        return now
    return None


def _all_settings(repo: Repository) -> dict[str, dict[str, tuple[str, ...]] | None]:
    return {name: _settings(repo.git_dir / name) for name in _CONFIGS}


def _write_identity(repo: Repository) -> None:
    file = repo.root / worker_identity.FILE
    if checkout.read(file) == worker_identity.CONTENT.rstrip("\n") and not file.stat().st_mode & _OTHERS:
        return
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        for folder in (file.parent.parent, file.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        temporary.touch(mode=0o600)
        temporary.write_text(worker_identity.CONTENT, "utf-8")
        temporary.replace(file)
    except OSError as error:
        raise WorkspaceError(f"{printable(str(file))} cannot be written: {printable(str(error))}") from error


def _head(own: Checkout) -> str:
    try:
        return checkout.head(own)
    except WorkspaceError:  # an agent has switched to a branch that has no commit
        return ""


def _refs(repo: Repository) -> tuple[dict[str, str], set[str]]:
    """Return the commit of each ref that a worker may not move, and the branches that prloom is making."""
    answer = git.run(["for-each-ref", "--format=%(refname) %(objectname)"], cwd=repo.root).out
    pairs = [line.rpartition(" ") for line in answer.split("\n") if line]
    refs = {_text(name): sha for name, _, sha in pairs if name.startswith(OF_REBASES) or not name.startswith(OWN_REFS)}
    noted = {name.removeprefix(NOTES) for name, _, _ in pairs if name.startswith(NOTES)}
    return refs, noted


def _settings(file: Path) -> dict[str, tuple[str, ...]] | None:
    """Return what a file of git's configuration says, without what it includes; None where git cannot read it."""
    if not file.exists():
        return {}
    asked = ["config", "--file", str(file), "--null", "--list"]
    try:
        entries = git.run(asked, cwd=Path("/")).out.split("\0")
    except WorkspaceError:
        return None
    found: dict[str, tuple[str, ...]] = {}
    for entry in filter(None, entries):
        key, _, value = entry.partition("\n")
        found[_text(key)] = (*found.get(_text(key), ()), _text(value))
    return found


def _files(repo: Repository, own: Checkout) -> Iterator[tuple[str, FileState]]:
    """Yield the files that steer git, by their path below the git directory that all worktrees share."""
    folder = own.git_dir.relative_to(repo.git_dir).as_posix()
    hooks = repo.git_dir / "hooks"
    names = [*_FILES, *_CONFIGS, *(f"{folder}/{name}" for name in _WORKTREE_FILES)]
    if hooks.is_dir():
        names += [f"hooks/{each.name}" for each in hooks.iterdir() if not each.name.endswith(_NOT_HOOKS)]
    for name in sorted(names):
        state = _file(repo.git_dir / name)
        if state is not None:
            yield _text(name), state


def _file(path: Path) -> FileState | None:
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            return FileState(mode=found.st_mode, content=_text(str(path.readlink())))
        if not stat.S_ISREG(found.st_mode):
            return FileState(mode=found.st_mode, content="")
        with path.open("rb") as file:
            content = base64.b64encode(file.read(_LARGEST)).decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        return FileState(mode=0, content=error.strerror or "")
    return FileState(mode=found.st_mode, content=content)


def _checkout(place: Checkout) -> CheckoutState:
    """Return what a person's checkout is at, and each path that differs from that, with a stamp of what it holds."""
    head = _text(checkout.read(place.git_dir / "HEAD") or "")
    asked = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"]
    try:
        entries = git.run(asked, cwd=place.path, git_dir=place.git_dir, limit=git.LONG_LIMIT).out.split("\0")
    except WorkspaceError:  # its HEAD may lead to nothing; that is no matter of another plan's
        return CheckoutState(head=head, changed={})
    changed = {}
    for entry in filter(None, entries):
        code, path = entry[:2], entry[3:]
        if not path.startswith(f"{OWN_FOLDER}/"):
            changed[_text(path)] = f"{code} {_stamp(place.path / path)}"
    return CheckoutState(head=head, changed=changed)


def _stamp(path: Path) -> str:
    try:
        found = path.lstat()
    except OSError:
        return ""
    return f"{found.st_mode:o} {found.st_size} {found.st_mtime_ns}"


def _text(name: str) -> str:
    """Return a name so that JSON can hold it, which has no way to write bytes that are no UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
