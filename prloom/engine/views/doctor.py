"""Find what is wrong with the files that prloom keeps, each finding with its fix; changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec

from prloom.core.text.shown_text import command
from prloom.engine.bus import entries, segment_ends
from prloom.engine.views import dashboard, needs, runtime_status, snapshot
from prloom.engine.views.dashboard_schema import Need
from prloom.engine.views.snapshot import Snapshot
from prloom.engine.views.status_schema import BridgeStatus
from prloom.errors import PrloomError, StorageError
from prloom.model import record
from prloom.model.activity import ActivityEvent
from prloom.model.record import Record
from prloom.storage import activity_file, envelope, fsck, paths
from prloom.storage.json_codec import Unreadable
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import TEMPORARY, SafeDir

FindingSeverity = Literal["error", "warning"]

_STALE = timedelta(hours=1)
_SHAPES: Final[Mapping[str, type[Record]]] = {**entries.KINDS, activity_file.KIND: ActivityEvent}
"""The record in a line of a file, by the kind that the line names."""


class Finding(Record, frozen=True, kw_only=True):
    """A problem: what is wrong, where, and what to do about it."""

    severity: FindingSeverity
    what: str
    where: str
    fix: str


class _PluginStatus(Record, frozen=True, kw_only=True):
    """What the dispatcher last recorded of a plugin; one that was not `chosen` could not even be loaded."""

    name: str
    chosen: bool = True
    loaded: bool = False
    error: str | None = None
    warnings: tuple[str, ...] = ()


def findings(repository: RepositoryPaths, now: datetime) -> Iterator[Finding]:
    """Yield all that is wrong with the repository's own files and those of its plans, and each error of the status."""
    try:
        local = SafeDir.open(repository.root, *paths.LOCAL)
    except StorageError as error:
        yield _unsafe(error, repository.root.joinpath(*paths.LOCAL))
        return
    found = snapshot.every(repository)
    yield from _beside_the_configuration(repository, now)
    if local is not None:
        with local:
            yield from _folders(
                local, (paths.PLUGIN_STATE_GLOBAL, paths.ISSUED, paths.ADOPTED, paths.STARTED_RUNS), now
            )
            yield from _run_log(local, now)
            yield from _lock(local, now)
            yield from _published(local)
    yield from (_of_need(each) for each in dashboard.read(repository, now).needs if _is_listed(each))
    for each in found:
        if each.plan.id != snapshot.REPOSITORY:
            yield from _plan(each, now)


def _is_listed(need: Need) -> bool:
    """Whether an error of the status is to be told; what was published of bridges and plugins is told already."""
    is_judged = need.kind in {"bridge", "plugin"} and need.commands == (command("doctor"),)
    return needs.is_error(need) and not is_judged


def _of_need(need: Need) -> Finding:
    """Return what `prloom status` lists as an error; where that refers to this command, its text says what to do."""
    where, text = "the repository", need.text
    if need.plan is not None:
        where = f"plan {need.plan}"
    elif need.kind == "dispatcher":
        where = "the dispatcher"
    elif need.ids:  # the name of a bridge, a plugin or an agent
        where, text = f"{need.kind} {need.ids[0]}", text.removeprefix(f"{need.ids[0]}: ")
    if need.commands != (command("doctor"),):
        return _error(text, where, need.remedy)
    what, _, fix = text.rpartition("; ")
    return _error(what or text, where, fix if what else "correct that; prloom then continues by itself")


def _plan(of: Snapshot, now: datetime) -> Iterator[Finding]:
    try:
        local = SafeDir.open(of.worktree, *paths.LOCAL)
    except StorageError:
        return  # it is among the findings above
    if local is not None:
        with local:
            yield from _folders(local, (paths.PLUGIN_STATE,), now)
            yield from _runs(local, now)


def _beside_the_configuration(repository: RepositoryPaths, now: datetime) -> Iterator[Finding]:
    """Name what a writer of prloom.toml that was killed left; other temporary files there are not prloom's."""
    root = SafeDir.open(repository.root)
    if root is not None:
        with root:
            yield from _temporary_files(root, now, of=f".{repository.config.name}.")


def _runs(local: SafeDir, now: datetime) -> Iterator[Finding]:
    """Name what was left in the folders of agent runs, which belong to the agents as much as to prloom."""
    try:
        runs = local.sub(paths.RUNS)
    except StorageError as error:
        yield _unsafe(error, local.where(paths.RUNS))
        return
    for name in () if runs is None else runs.names():
        with suppress(StorageError):
            run = None
            if runs is not None:
                run = runs.sub(name)
            if run is not None:
                with run:
                    yield from _temporary_files(run, now)


def _run_log(local: SafeDir, now: datetime) -> Iterator[Finding]:
    """Look through the records of runs, which are journals of a kind of their own."""
    try:
        folder = local.sub(paths.RUN_LOG)
    except StorageError as error:
        yield _unsafe(error, local.where(paths.RUN_LOG))
        return
    if folder is not None:
        with folder:
            yield from map(_damaged, fsck.findings(folder))
            yield from _temporary_files(folder, now)


def _folders(local: SafeDir, more: Iterable[str], now: datetime) -> Iterator[Finding]:
    """Look through a `prloom/.local` and the folders in it that hold journals and documents."""
    for parts in ((), (paths.BUS,), (paths.BUS, paths.BUS_STATE), *((name,) for name in (*more, paths.CLEAN_BARRIER))):
        try:
            folder = local.sub(*parts)
        except StorageError as error:
            yield _unsafe(error, local.where(*parts))
            continue
        if folder is not None:
            with folder:
                found = fsck.findings(folder, check=unreadable)
                yield from (_damaged(each) for each in found if each.file != local.where(paths.PLAN_STATE))
                yield from _temporary_files(folder, now)
                yield from _late_lines(folder) if parts == (paths.BUS,) else ()


def _late_lines(bus: SafeDir) -> Iterator[Finding]:
    """Name the segments that a program went on appending to: it kept `events.jsonl` open over two rotations."""
    for name, count in segment_ends.missed_events(bus):
        if count == 1:
            events = "1 event was"
        else:
            events = f"{count} events were"
        what = f"{events} appended after this segment was closed and read: a program keeps the file open"
        fix = "start prloom, or restart it, and it takes them in; let the program open events.jsonl for each line"
        yield _error(what, bus.where(name), fix)


def unreadable(line: bytes) -> str | None:
    """Return why prloom does not know a journal's line, or None if it does."""
    found = envelope.decode(line)
    if isinstance(found, Unreadable):
        return found.reason
    shape = _SHAPES.get(found.kind)
    if shape is None:
        return f"its kind is {found.kind}, not one of {', '.join(_SHAPES)}"
    try:
        record.from_wire(shape, found.data)
    except msgspec.ValidationError as error:
        return f"it is not a valid {found.kind}: {error}"
    return None


def _damaged(found: fsck.FileFinding) -> Finding:
    harmless = found.line is None or found.reason == fsck.UNFINISHED
    return Finding(
        severity="warning" if harmless else "error",
        what=found.reason,
        where=found.file if found.line is None else f"{found.file}, line {found.line}",
        fix=found.fix,
    )


def _temporary_files(folder: SafeDir, now: datetime, *, of: str = ".") -> Iterator[Finding]:
    """Name the temporary files of writers that were killed; a young one may be a writer's that lives."""
    for name in folder.names():
        if name.startswith(of) and name.endswith(TEMPORARY):
            try:
                found = folder.stat(name)
            except StorageError as error:
                yield _unsafe(error, folder.where(name))
                continue
            if found is not None and found.st_mtime < (now - _STALE).timestamp():
                yield _warning("a process that was killed left this file behind", folder.where(name), "remove it")


def _lock(local: SafeDir, now: datetime) -> Iterator[Finding]:
    where = local.where(paths.LOCK)
    try:
        lock = local.stat(paths.LOCK)
    except StorageError as error:
        yield _unsafe(error, where)
        return
    found = runtime_status.dispatcher(local, now)
    if found.running and lock is None:
        what = f"the running dispatcher, process {found.pid}, has no lock file: somebody removed it"
        fix = "leave it: the dispatcher makes the file again at its next tick, and nobody need remove it"
        yield _warning(what, where, fix)


def _published(local: SafeDir) -> Iterator[Finding]:
    """Name what the dispatcher could not use when it last ran; only what it failed to load needs a restart."""
    running = runtime_status.dispatcher(local).running
    for plugin in runtime_status.of(local, paths.PLUGINS, "plugins", _PluginStatus):
        where, disable = f"plugin {plugin.name}", f"`prloom plugins disable {plugin.name}`"
        if plugin.error and plugin.chosen:  # the others are looked for in the configuration as it is now
            yield _error(plugin.error, where, f"{_to_fix(running=running, loaded=plugin.loaded)}, or {disable}")
        for warning in plugin.warnings:
            yield of_warning(warning, where, f"change the plugin and restart prloom, or {disable}")
    for bridge in runtime_status.of(local, paths.BRIDGES, "bridges", BridgeStatus):
        if bridge.error:
            loaded = bridge.loaded is not False
            fix = f"{_to_fix(running=running, loaded=loaded)}, or set enabled = false in [bridges.{bridge.name}]"
            yield _error(bridge.error, f"bridge {bridge.name}", fix)
        for warning in bridge.warnings or ():
            yield _warning(warning, f"bridge {bridge.name}", "correct that; the next poll takes it up")


def _to_fix(*, running: bool, loaded: bool) -> str:
    if not running:
        return "correct that; the next `prloom start` tries again"
    if loaded:
        return "correct that; prloom tries again by itself"
    return "correct that and restart prloom"


def _unsafe(error: StorageError, where: object) -> Finding:
    return of_error(error, str(where))[0]


def _error(what: str, where: str, fix: str) -> Finding:
    return Finding(severity="error", what=what, where=where, fix=fix)


def _warning(what: str, where: str, fix: str) -> Finding:
    return Finding(severity="warning", what=what, where=where, fix=fix)


def guarded(check: Callable[[], Iterable[Finding]], where: str) -> tuple[Finding, ...]:
    """Return a check's findings; one that cannot be made is a finding itself."""
    try:
        return tuple(check())
    except PrloomError as error:
        return of_error(error, where)


def of_warning(warning: str, where: str, fix: str) -> Finding:
    """Return a warning as a finding: what is wrong, and behind the semicolon what to do; without one, `fix` is."""
    what, _, own = warning.removeprefix(f"{where}: ").partition("; ")
    return _warning(what, where, own or fix)


def of_error(error: PrloomError, where: str) -> tuple[Finding, ...]:
    """Return an error as findings, one for each of its lines: what is wrong, and behind the semicolon what to do."""
    found = []
    for line in str(error).splitlines():
        what, semicolon, fix = line.rpartition("; ")
        found.append(
            _error(
                what if semicolon else line, where, fix if semicolon else "correct that, and run `prloom doctor` again"
            )
        )
    return tuple(found)
