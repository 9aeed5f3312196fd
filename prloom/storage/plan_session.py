"""Let either prloom work on a plan, or a person have its worktree to themselves, and say who does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

import msgspec

from prloom import flock
from prloom.errors import StorageError
from prloom.model import record
from prloom.model.record import Record, Timestamp
from prloom.storage import dispatcher_files, paths
from prloom.storage.safe_dir import SafeDir

SessionKind = Literal["shell", "agent"]

_MOMENT: Final = 1.0
"""Seconds for which a session waits until a step that is at its end is over."""


class PlanSession(Record, frozen=True, kw_only=True):
    """A person's session in the worktree of a plan, by the process that holds the lock."""

    kind: SessionKind
    pid: int
    start_time: int
    since: Timestamp


def take_for_work(root: Path, plan_id: str) -> int | None:
    """Return a descriptor that keeps sessions out until it is closed; None while a person has the worktree."""
    with SafeDir.make(root, *paths.LOCAL, paths.SESSIONS) as folder:
        fd = folder.open_to_append(_lock(plan_id))
    if flock.try_lock(fd, shared=True):
        return fd
    os.close(fd)
    return None


@contextmanager
def working(root: Path, plan_id: str) -> Iterator[bool]:
    """Keep sessions out until the block ends, which is told whether that is possible: not while there is one."""
    lock = take_for_work(root, plan_id)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)


@contextmanager
def reserved(root: Path, plan_id: str, kind: SessionKind, now: datetime) -> Iterator[None]:
    """Keep prloom from working on a plan, until the process ends; raises StorageError while prloom works there."""
    with SafeDir.make(root, *paths.LOCAL, paths.SESSIONS) as folder:
        fd = folder.open_to_append(_lock(plan_id))
        try:
            if not flock.lock_within(fd, _MOMENT):
                raise StorageError(_in_use(root, plan_id))
            pid = os.getpid()
            own = PlanSession(
                kind=kind, pid=pid, start_time=dispatcher_files.started(pid) or 0, since=Timestamp.of(now)
            )
            folder.replace(_owner(plan_id), msgspec.json.encode(record.to_wire(own)))
            try:
                yield
            finally:
                with suppress(StorageError):
                    folder.remove(_owner(plan_id))
        finally:
            os.close(fd)


def sessions(root: Path) -> Mapping[str, PlanSession]:
    """Return the sessions in the worktrees, by plan; takes no lock."""
    folder = SafeDir.open(root, *paths.LOCAL, paths.SESSIONS)
    if folder is None:
        return {}
    with folder:
        ids = [name.removesuffix(_owner("")) for name in folder.names() if name.endswith(_owner(""))]
        found = {plan_id: _read(folder, plan_id) for plan_id in ids}
    return {plan_id: session for plan_id, session in found.items() if session is not None}


def _read(folder: SafeDir, plan_id: str) -> PlanSession | None:
    content = folder.read_bytes(_owner(plan_id))
    if content is None:
        return None
    try:
        found = record.decode(PlanSession, content)
    except msgspec.MsgspecError:
        return None
    if dispatcher_files.started(found.pid) in {found.start_time, 0}:
        return found
    return None


def _in_use(root: Path, plan_id: str) -> str:
    other = sessions(root).get(plan_id)
    if other is not None:
        by = f"{_words(other.kind)} by process {other.pid} since {other.since}"
        return f"plan {plan_id} is open in {by}; end that first"
    return (
        f"prloom works on plan {plan_id} just now; wait for the end of its step, or run `prloom pause {plan_id}` and "
        f"stop the run that `prloom status {plan_id}` names"
    )


def _words(kind: SessionKind) -> str:
    if kind == "shell":
        return "a shell"
    return "an agent"


def _lock(plan_id: str) -> str:
    return f"{plan_id}.lock"


def _owner(plan_id: str) -> str:
    return f"{plan_id}.json"
