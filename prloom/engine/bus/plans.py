"""The plans of a repository: where they are, and what `state.json` says of each."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from prloom.errors import StorageError
from prloom.model import record
from prloom.model.plan import Plan
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.folder import Folder
from prloom.storage.paths import RepositoryPaths


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


def load(local: Folder) -> Plan:
    """Return the plan of a worktree's `prloom/.local`; raises StorageError where `state.json` cannot be used."""
    document = Document(local, paths.PLAN_STATE)
    found = document.peek()
    if found.value is None:
        reason = found.reason or "there is none"
        raise StorageError(f"{document.path} cannot be read: {reason}; adopt its branch or pull request again")
    try:
        return record.from_wire(Plan, found.value)
    except msgspec.ValidationError as error:
        raise StorageError(
            f"{document.path} cannot be used: {error}; mend it or adopt its branch or pull request again"
        ) from error


def save(local: Folder, plan: Plan) -> None:
    """Write a plan's `state.json`."""
    Document(local, paths.PLAN_STATE).save(record.to_wire(plan))


def change(local: Folder, plan: Plan, edit: Callable[[Plan], Plan]) -> Plan:
    """Return the plan as edited; it is written only where that changes it."""
    changed = edit(plan)
    if changed != plan:
        save(local, changed)
    return changed
