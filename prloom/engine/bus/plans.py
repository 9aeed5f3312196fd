"""Find the plans of a repository, and read and write the `state.json` of each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from prloom.config import layers
from prloom.errors import StorageError
from prloom.model import record
from prloom.model.plan import Plan
from prloom.storage import file_stamp, paths
from prloom.storage.document import Document
from prloom.storage.file_stamp import FileStamp
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

_FEW = 8
"""Plans that are listed each time: it costs next to nothing."""
_CALLS = 60
"""After so many calls, the plans are listed even if the folder is unchanged."""


def locate(root: Path, worktrees_dir: Path) -> RepositoryPaths:
    """Return the paths of the repository whose main checkout is `root`; `worktrees_dir` is as it was configured."""
    return RepositoryPaths(root, layers.absolute_folder(root, worktrees_dir))


def ids(repository: RepositoryPaths) -> tuple[str, ...]:
    """Return the ids of the adopted plans: the worktrees that have a `state.json`, by name."""
    try:
        with os.scandir(repository.worktrees) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StorageError(f"cannot read {repository.worktrees}: {error.strerror}; check its permissions") from error
    home, state = os.fspath(repository.worktrees), "/".join((*paths.LOCAL, paths.PLAN_STATE))
    return tuple(name for name in names if os.path.lexists(f"{home}/{name}/{state}"))


class PlanListing:
    """The ids of the adopted plans, listed anew when the folder of the worktrees has changed, or after a while."""

    def __init__(self, repository: RepositoryPaths) -> None:
        self._repository = repository
        self._home = os.fspath(repository.worktrees)
        self._ids: tuple[str, ...] = ()
        self._stamp: FileStamp | None = None
        self._calls = 0

    def ids(self) -> tuple[str, ...]:
        """Return the ids as `ids` does; that a plan among many lost its `state.json` is noticed within 60 calls."""
        self._calls += 1
        stamp = self._folder_stamp()
        if stamp is None or stamp != self._stamp or len(self._ids) <= _FEW or self._calls >= _CALLS:
            self._ids = ids(self._repository)
            # A worktree is made before its plan: where one has none, it may get one without a change of the folder.
            whole = stamp is not None and len(self._ids) == _subfolders(self._home)
            if whole:
                self._stamp = stamp
            else:
                self._stamp = None
            self._calls = 0
        return self._ids

    def _folder_stamp(self) -> FileStamp | None:
        """Return the stamp of the folder; None if its last change is too recent to notice a further one."""
        try:
            found = os.stat(self._home)  # noqa: PTH116 - in each tick
        except OSError:
            return None
        if file_stamp.is_settled(found.st_mtime, time.time()):
            return file_stamp.of(found)
        return None


def _subfolders(home: str) -> int:
    with os.scandir(home) as entries:
        return sum(entry.is_dir(follow_symlinks=False) for entry in entries)


def load(local: SafeDir) -> Plan:
    """Return the plan of a worktree's `prloom/.local`; raises StorageError where `state.json` cannot be used."""
    document = Document(local, paths.PLAN_STATE)
    found = document.peek()
    if found.value is None:
        reason = found.reason or "it does not exist"
        raise StorageError(f"{document.path} cannot be read: {reason}; adopt its branch or pull request again")
    try:
        return record.from_wire(Plan, found.value)
    except msgspec.ValidationError as error:
        raise StorageError(
            f"{document.path} cannot be used: {error}; fix it, or adopt its branch or pull request again"
        ) from error


def save(local: SafeDir, plan: Plan) -> None:
    """Write a plan's `state.json`."""
    Document(local, paths.PLAN_STATE).save(record.to_wire(plan))


def change(local: SafeDir, plan: Plan, edit: Callable[[Plan], Plan]) -> Plan:
    """Return the plan as edited; it is written only where that changes it."""
    changed = edit(plan)
    if changed != plan:
        save(local, changed)
    return changed
