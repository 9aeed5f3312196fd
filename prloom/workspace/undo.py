"""Undo what a run has done to the repository beside the files of its worktree, so that nothing of it is lost.

The plan's branch goes back to where it was. So do the refs of which the reflog says that the run has moved them: an
agent's git works under a name of its own (`worker_identity`). What a person may have done meanwhile, in a checkout or
to a ref, stays; git's settings and the files that steer it go back in any case, since they decide what git runs.
"""

from __future__ import annotations

import base64
import os
import stat
from contextlib import suppress
from pathlib import Path

from prloom.core.text.naming import printable
from prloom.core.work import worker_identity
from prloom.core.work.repository_changes import Difference, FileState, RepositoryState
from prloom.errors import WorkspaceError
from prloom.workspace import backup_refs, checkout, git, repository_state, snapshot
from prloom.workspace.repository import Repository

_ADDED = ".kept-by-prloom"
_MOVED_BACK = "prloom: undo what a run has done"
_MOST_READ = 1_000_000  # bytes at the end of a reflog


def undo(
    repo: Repository,
    worktree: Path,
    before: RepositoryState,
    *,
    branch: str,
    todo: str,
    found: tuple[Difference, ...] | None = None,
) -> tuple[str, ...]:
    """Undo what a run has done since `before`, and return a sentence for each thing; again does nothing more.

    `found` is what `repository_state.since` has returned just now; without it, that is asked here.

    What the plan's branch or a moved ref led to is kept under `refs/prloom/kept-refs/<todo>/`, and a file that steers
    git under its name with `.kept-by-prloom`. The files of the worktree stay as they are. Where it was without a
    branch, a rebase is stopped there, and it stays so. Raises WorkspaceError.
    """
    done = []
    if found is None:
        found = repository_state.since(repo, worktree, before, branch=branch)
    broken = [_undo_file(repo, each, before.files.get(each.name)) for each in found if each.kind == "unreadable"]
    if broken:
        found = repository_state.since(repo, worktree, before, branch=branch)
    switched: tuple[str, ...] = ()
    if before.branch is not None:
        switched = _switch_back(repo, worktree, branch, todo)
    for each in found:
        own = each.name == f"refs/heads/{branch}" or each.name.startswith(repository_state.OF_REBASES)
        if each.kind == "file":
            done.append(_undo_file(repo, each, before.files.get(each.name)))
        elif each.kind == "setting":
            done.append(_undo_setting(repo, each, before))
        elif own or (each.name.startswith("refs/") and moved_by_worker(repo, each.name)):
            done.append(_undo_ref(repo, each, todo))
    return (*broken, *switched, *done)


def _switch_back(repo: Repository, worktree: Path, branch: str, todo: str) -> tuple[str, ...]:
    """Have the worktree on its branch again, by its name only: neither its index nor its files are touched."""
    place = snapshot.require(repo, worktree)
    if checkout.branch(place) == branch:
        return ()
    with suppress(WorkspaceError):  # a branch without a commit has nothing to keep
        backup_refs.keep_ref(repo, todo, "HEAD", checkout.head(place))
    git.run(["symbolic-ref", "HEAD", f"refs/heads/{branch}"], cwd=place.path, git_dir=place.git_dir)
    return (f"the worktree was switched back to branch {printable(branch)}",)


def _undo_ref(repo: Repository, difference: Difference, todo: str) -> str:
    ref, old, new = difference.name, difference.before, difference.after
    if new is not None:
        backup_refs.keep_ref(repo, todo, ref, new)
    nothing = "0" * len(new or old or "")
    if old is None:
        git.run(["update-ref", "--no-deref", "-d", ref, new or nothing], cwd=repo.root)
    else:
        git.run(["update-ref", "--no-deref", "-m", _MOVED_BACK, ref, old, new or nothing], cwd=repo.root)
    return f"{difference.text}; this was undone"


def moved_by_worker(repo: Repository, ref: str) -> bool:
    """Whether the reflog says that a worker was the last to move a ref."""
    try:
        with (repo.git_dir / "logs" / ref).open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(-min(file.tell(), _MOST_READ), os.SEEK_CUR)
            lines = file.read().splitlines()
    except OSError:
        return False
    return bool(lines) and worker_identity.is_in(lines[-1])


def _undo_setting(repo: Repository, difference: Difference, before: RepositoryState) -> str:
    name, _, key = difference.name.partition(":")
    file = repo.git_dir / name
    old = (before.settings.get(name) or {}).get(key)
    edit = ["config", "--file", str(file)]
    if difference.after is not None:
        git.run([*edit, "--unset-all", key], cwd=Path("/"), codes=(0, 5))
    for value in old or ():
        git.run([*edit, "--add", key, value], cwd=Path("/"))
    return f"{difference.text}; this was undone"


def _undo_file(repo: Repository, difference: Difference, old: FileState | None) -> str:
    file = repo.git_dir / difference.name
    try:
        if os.path.lexists(file):
            file.replace(_free_name(file))
        if old is not None and stat.S_ISLNK(old.mode):
            file.symlink_to(old.content)
        elif old is not None:
            _write(file, old)
    except OSError as error:
        raise WorkspaceError(f"{printable(str(file))} cannot be put back: {printable(str(error))}") from error
    return f"{difference.text}; this was undone"


def _free_name(file: Path) -> Path:
    names = (file.with_name(f"{file.name}{_ADDED}{number or ''}") for number in range(1_000))
    return next(each for each in names if not os.path.lexists(each))


def _write(file: Path, state: FileState) -> None:
    file.parent.mkdir(exist_ok=True)
    with file.open("xb") as opened:
        opened.write(base64.b64decode(state.content))
        opened.flush()
        os.fsync(opened.fileno())
    file.chmod(stat.S_IMODE(state.mode))
