"""List what goes on in a repository at this moment: runs of agents, hooks, and steps of the work on TODOs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from prloom.engine.views import waiting_status
from prloom.engine.views.dashboard_schema import Working
from prloom.engine.views.status_schema import CurrentTodo, PlanStatus, StatusDocument
from prloom.errors import StorageError
from prloom.model import record, run
from prloom.model.record import Json, Timestamp
from prloom.storage import json_codec, paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from prloom.model.work_report import RunningWork

_WORKER: Final = "worker"
_SMALL: Final = 1 << 20
"""Bytes read at most of a file that says what a run is for."""
_PIECE: Final = 1 << 18
_CALL: Final = b'"type":"TOOL_CALL_START"'


class StartedRun(Struct, frozen=True):
    """A run that goes on, as its folder tells: of which plan, what for, since when, and how many tools it called."""

    id: str
    plan: str
    stage: str
    agent: str | None
    todo: str | None
    attempt: int | None
    since: datetime | None
    tool_calls: int


def of(
    status: StatusDocument, runs: Iterable[StartedRun], hooks: Iterable[Working], now: datetime
) -> tuple[Working, ...]:
    """Return what goes on, what began first before the others; without a dispatcher no TODO takes a step."""
    started = tuple(runs)
    plans = {plan.id: plan for plan in status.plans}
    found = [_run(each, plans.get(each.plan)) for each in started]
    of_todos = {each.run for each in found if each.todo is not None}
    if status.dispatcher.running:
        found += hooks
        found += [each for plan in status.plans for each in _step(plan) if each.run is None or each.run not in of_todos]
    return tuple(sorted((_complete(each, now) for each in found), key=lambda each: -(each.age_ms or 0)))


def _run(started: StartedRun, plan: PlanStatus | None) -> Working:
    current = plan.todos.current if plan is not None else None
    todo, title, attempt = started.todo, None, started.attempt
    if current is not None and todo in {current.id, None} and current.run == started.id:
        todo, title, attempt = current.id, current.title, current.attempt
    elif current is not None and todo == current.id:
        title = current.title
    return Working(
        kind="run",
        plan=started.plan,
        stage=started.stage,
        run=started.id,
        agent=started.agent,
        todo=todo,
        title=title,
        attempt=attempt,
        tool_calls=started.tool_calls,
        since=Timestamp.of(started.since) if started.since else None,
    )


def _step(plan: PlanStatus) -> Iterator[Working]:
    """Yield the step that the work on a TODO takes, unless something keeps it from going on."""
    current = plan.todos.current
    if current is None or current.wait or plan.blocked or plan.last_error or plan.status == "paused" or plan.session:
        return
    yield Working(
        kind="step",
        plan=plan.id,
        stage=_WORKER,
        run=_run_of(current),
        agent=current.agent or None,
        todo=current.id,
        title=current.title,
        attempt=current.attempt,
        phase=current.phase or None,
        since=current.started_at,
    )


def _run_of(current: CurrentTodo) -> str | None:
    if current.phase == "running":
        return current.run
    return None


def _complete(each: Working, now: datetime) -> Working:
    if each.since is None:
        return each
    return replace(each, age_ms=waiting_status.age(each.since, now))


def hooks(work: RunningWork) -> tuple[Working, ...]:
    """Return the hook calls that are under way, by the plugins that answer them."""
    return tuple(
        Working(kind="hook", plan=each.plan, stage=each.hook, agent=each.plugin, since=each.since)
        for each in work.hooks
    )


def runs(where: RepositoryPaths, local: SafeDir, *, is_watched: bool) -> Iterator[StartedRun]:
    """Yield the runs that go on; where no dispatcher watches them, only those whose processes are still there."""
    folder = local.sub(paths.STARTED_RUNS)
    if folder is None:
        return
    with folder:
        names = sorted(name for name in folder.names() if not name.startswith("."))
        plans = [record.text_at(_object(folder, name), "plan") or "" for name in names]
    for name, plan in zip(names, plans, strict=True):
        root = where.root
        if plan:
            root = where.worktree(plan)
        opened = SafeDir.open(root, *paths.LOCAL, paths.RUNS, name)
        if opened is None:
            continue
        with opened:
            if _goes_on(opened, is_watched=is_watched):
                yield _started(opened, name, plan)


def _goes_on(folder: SafeDir, *, is_watched: bool) -> bool:
    """Return whether the program of a noted run was started, and is there as far as anybody knows."""
    from prloom.storage import activity_file  # noqa: PLC0415 - a repository in which no agent runs needs none

    if is_watched:
        return folder.stat(activity_file.NAME) is not None
    return _is_locked(folder)


def _started(folder: SafeDir, name: str, plan: str) -> StartedRun:
    from prloom.storage import activity_file  # noqa: PLC0415 - a repository in which no agent runs needs none

    spec = _object(folder, run.INVOCATION)
    attempt = spec.get("attempt")
    return StartedRun(
        id=name,
        plan=plan,
        stage=record.text_at(spec, "stage") or name.split("-")[1],
        agent=record.text_at(spec, "agent"),
        todo=record.text_at(spec, "todo"),
        attempt=attempt if isinstance(attempt, int) else None,
        since=record.read_time(record.text_at(spec, "startedAt") or ""),
        tool_calls=_count(folder, activity_file.NAME, _CALL),
    )


def _is_locked(folder: SafeDir) -> bool:
    """Return whether the run's supervisor is there: it keeps this lock, which is only tried."""
    from prloom import flock  # noqa: PLC0415 - only where no dispatcher runs

    fd = folder.open_to_read(run.LOCK)
    if fd is None:
        return False
    try:
        return flock.is_locked(fd)
    finally:
        os.close(fd)


def _object(folder: SafeDir, name: str) -> Mapping[str, Json]:
    try:
        found = json_codec.decode(folder.read_bytes(name, limit=_SMALL) or b"")
    except StorageError:  # something else is in its place
        return {}
    if isinstance(found, dict):
        return found
    return {}


def _count(folder: SafeDir, name: str, wanted: bytes) -> int:
    """Return how often something stands in a file, which is read in pieces."""
    try:
        fd = folder.open_to_read(name)
    except StorageError:
        fd = None
    if fd is None:
        return 0
    found, end = 0, b""
    try:
        while piece := os.read(fd, _PIECE):
            found += (end + piece).count(wanted)
            end = piece[1 - len(wanted) :]
    finally:
        os.close(fd)
    return found
