"""Read what a dispatcher recorded of itself, its bridges, its plugins and the plans that it could not open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from prloom.engine.views.status_schema import DispatcherStatus
from prloom.errors import StorageError
from prloom.model import record
from prloom.model.permission import PermissionRequest
from prloom.model.plan import Plan
from prloom.model.record import Json, Record, Timestamp
from prloom.storage import dispatcher_files, file_stamp, health_file, paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from prloom.model.work_report import RunningWork

R = TypeVar("R", bound=Record)

_REPORTS: Final = (paths.WORK, paths.PLUGINS, paths.BRIDGES, paths.PLANS, paths.REQUESTS, paths.DAEMON_STATUS)
SILENT: Final = timedelta(seconds=30)
"""A dispatcher that runs and has not ticked for so long, and for two more ticks, is silent."""


def dispatcher(local: SafeDir, now: datetime | None = None) -> DispatcherStatus:
    """Return what the dispatcher's files say of it; where the time is given, also whether it has stopped to tick."""
    try:
        found = dispatcher_files.owner(local)
    except StorageError as error:
        since = file_stamp.changed_at(local.where(dispatcher_files.OWNER))
        trouble = f"it is not known whether a dispatcher runs: {error}"
        return DispatcherStatus(trouble=trouble, trouble_since=since or UNSET)
    if found is None:
        return _with_unusable_report(DispatcherStatus(), local)
    if found.alive:
        pid = found.pid
    else:
        pid = None
    status = DispatcherStatus(running=found.alive, pid=pid, last_tick_at=found.last_tick_at)
    if not found.alive:
        return _with_unusable_report(status, local)
    return _with_unusable_report(_with_error(_with_silence(status, local, now), local), local)


def _with_silence(status: DispatcherStatus, local: SafeDir, now: datetime | None) -> DispatcherStatus:
    """Return the status with the time of the last tick as that since which the dispatcher is silent, if it is."""
    last = status.last_tick_at
    if now is None or last is None or status.pid is None or now - last <= SILENT:
        return status
    if now - last <= SILENT + 2 * (_span(local, "tickMs") or timedelta()):
        return status
    return replace(status, silent_since=last, suspended=dispatcher_files.is_suspended(status.pid) or UNSET)


def _with_error(status: DispatcherStatus, local: SafeDir) -> DispatcherStatus:
    """Return the status with the error that keeps the dispatcher from its work: its own, or that of the file system.

    Its own report is written when it changes; of the other, the last tick is the latest time at which there was none.
    """
    try:
        problem = health_file.read_health(local)
    except StorageError:  # likewise
        problem = None
    if problem:
        since = file_stamp.changed_at(local.where(health_file.HEALTH))
        return replace(status, trouble=problem, trouble_since=since or UNSET)
    problem = health_file.file_system_error(local)
    if problem:
        return replace(status, trouble=problem, trouble_since=status.last_tick_at or UNSET)
    return status


def _with_unusable_report(status: DispatcherStatus, local: SafeDir) -> DispatcherStatus:
    """Return the status with the error that something else is in the place of a file that reports, if it has no other.

    Such a file says nothing, and the dispatcher that cannot write it goes on.
    """
    if status.trouble:
        return status
    try:
        local.stat(health_file.HEALTH)
    except StorageError as error:
        since = file_stamp.changed_at(local.where(health_file.HEALTH))
        return replace(status, trouble=str(error), trouble_since=since or UNSET)
    with suppress(StorageError):
        state = local.sub(paths.BUS, paths.BUS_STATE)
        if state is not None:
            with state:
                return _with_unusable_file(status, state)
    return status


def _with_unusable_file(status: DispatcherStatus, state: SafeDir) -> DispatcherStatus:
    for name in _REPORTS:
        try:
            state.stat(name)
        except StorageError as error:
            since = file_stamp.changed_at(state.where(name))
            return replace(status, trouble=str(error), trouble_since=since or UNSET)
    return status


def with_unreadable_report(status: DispatcherStatus, local: SafeDir) -> DispatcherStatus:
    """Return the status with the error that a file in which the dispatcher reports cannot be read, if it has no other.

    What such a file says of bridges, plugins or plans is not shown.
    """
    if status.trouble:
        return status
    with suppress(StorageError):
        state = local.sub(paths.BUS, paths.BUS_STATE)
        if state is not None:
            with state:
                for name in _REPORTS:
                    problem = _problem_of(Document(state, name), running=status.running)
                    if problem is not None:
                        since = file_stamp.changed_at(state.where(name))
                        return replace(status, trouble=problem, trouble_since=since or UNSET)
    return status


def _problem_of(report: Document, *, running: bool) -> str | None:
    try:
        reason = report.peek().reason
    except StorageError as error:
        return str(error)
    if reason is None:
        return None
    begin = "start"
    if running:
        begin = "restart"
    return f"{report.path} cannot be read: {reason}; {begin} prloom: it sets the file aside and rebuilds it"


def of(local: SafeDir, name: str, key: str, shape: type[R]) -> tuple[R, ...]:
    """Return what the dispatcher last recorded of its bridges or plugins; nothing where none ever ran."""
    listed = _published_state(local, name).get(key)
    try:
        return tuple(record.from_wire(shape, each) for each in listed) if isinstance(listed, list) else ()
    except msgspec.ValidationError:
        return ()


def work(local: SafeDir) -> RunningWork:
    """Return what the dispatcher last recorded that it was doing."""
    from prloom.model.work_report import RunningWork  # noqa: PLC0415 - `prloom status` needs none

    try:
        return record.from_wire(RunningWork, _published_state(local, paths.WORK))
    except msgspec.ValidationError:
        return RunningWork()


def waiting_work(local: SafeDir) -> RunningWork | None:
    """Return what a running dispatcher is doing, if anything waits in it; None where nothing does.

    Where none runs, it is what the last one said of drafts: these wait until the next start tries them again.
    """
    published = _published_state(local, paths.WORK)
    if not any(published.get(key) for key in ("todoLimits", "runWaits", "draftWaits")):
        return None
    found = work(local)
    if dispatcher(local).running:
        return found
    return type(found)(draft_waits=found.draft_waits)


def stall_after(local: SafeDir) -> timedelta | None:
    """Return `[dispatcher] stall_after` as a dispatcher last had it; None where none ever ran."""
    return _span(local, "stallAfterMs")


def _span(local: SafeDir, name: str) -> timedelta | None:
    """Return a span of the configuration as a dispatcher last had it, from what it reports of its work."""
    found = _published_state(local, paths.WORK).get(name)
    if isinstance(found, int):
        return timedelta(milliseconds=found)
    return None


def requests(local: SafeDir) -> tuple[PermissionRequest, ...]:
    """Return the calls and questions that wait for a person; none where no dispatcher is running."""
    found = of(local, paths.REQUESTS, "requests", PermissionRequest)
    if found and dispatcher(local).running:
        return found
    return ()


def unopened(local: SafeDir, plans: Iterable[Plan]) -> Mapping[str, str]:
    """Return why the dispatcher could not open these plans when it last tried, by plan.

    A report of a plan that was adopted since, or again, is out of date.
    """
    published = _published_state(local, paths.PLANS)
    refused, at = published.get("unreadable"), published.get("at")
    if not isinstance(refused, dict):
        return {}
    told_at = record.read_time(at) if isinstance(at, str) else None
    over = {plan.id for plan in plans if told_at is not None and plan.created_at and plan.created_at > told_at}
    return {name: why for name, why in refused.items() if isinstance(why, str) and name not in over}


def unopened_since(local: SafeDir) -> Mapping[str, Timestamp]:
    """Return since when the dispatcher could not open the plans that it could not open when it last tried."""
    since = _published_state(local, paths.PLANS).get("since")
    if not isinstance(since, dict):
        return {}
    found = {plan: record.read_time(at) for plan, at in since.items() if isinstance(at, str)}
    return {plan: Timestamp.of(at) for plan, at in found.items() if at is not None}


def _published_state(local: SafeDir, name: str) -> Mapping[str, Json]:
    try:
        state = local.sub(paths.BUS, paths.BUS_STATE)
        if state is None:
            return {}
        with state:
            return Document(state, name).peek().value or {}
    except StorageError:  # likewise
        return {}
