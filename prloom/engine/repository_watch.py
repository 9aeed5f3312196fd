"""Notice that something in a repository is new on disk, for whoever shows it, without reading it all again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from prloom.config import layers
from prloom.engine.bus import plans
from prloom.engine.file_watcher import FileWatcher
from prloom.engine.views import runtime_status
from prloom.errors import PrloomError
from prloom.storage import file_stamp, paths
from prloom.storage.file_stamp import FileStamp
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import TEMPORARY, SafeDir

ALL: Final = ""
"""The part that stands for the repository as a whole."""

SURVEY: Final = 2.0
"""Seconds between two looks at what no file system reports: a dispatcher that has ended, what cannot be watched."""

_SOON: Final = 0.03
"""Seconds after a new folder until its own folders are watched too: they are made together."""

_STATE_FILES: Final = (paths.WORK, paths.REQUESTS, paths.PLUGINS, paths.BRIDGES, paths.PLANS, paths.DAEMON_STATUS)
_SILENT: Final = (paths.SEEN_IDS, paths.EXCHANGE, paths.LOCK, paths.POOL_LOG)
"""How the names of files begin that say nothing new."""


@dataclass(frozen=True)
class RepositoryWatch:
    """Tells `notify` which part is new: the id of a plan or of a run, or ALL. `runs` are those that are shown."""

    where: RepositoryPaths
    runs: Callable[[], Iterable[str]]
    notify: Callable[[str], None]
    _new_folder: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Watch until this is cancelled. Begins with ALL: what was shown before may be out of date."""
        with _watcher() as watcher:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read_hints(watcher))
                group.create_task(self._follow_folders(watcher))

    async def _read_hints(self, watcher: FileWatcher) -> None:
        async for folder, name in watcher.hints():
            if name.startswith(_SILENT) or name.endswith(TEMPORARY):  # what is complete gets another name
                continue
            if folder == self.where.root and name != layers.FILE_NAME:  # the branch's own files
                continue
            if folder in {None, self.where.worktrees}:
                self._new_folder.set()
            self.notify(_part(self.where, folder))

    async def _follow_folders(self, watcher: FileWatcher) -> None:
        """Follow the folders that there are now, and notice what is not reported of them."""
        before: object = None
        while True:
            seen: object
            followed = False
            try:
                whole = not watcher.reports_all
                folders, seen = await asyncio.to_thread(_survey, self.where, tuple(self.runs()), whole=whole)
            except (PrloomError, OSError) as error:  # whoever is told looks too, and says what is wrong
                seen = str(error)
            else:
                followed = watcher.wants(folders)
            if followed:
                watcher.follow(folders)
                self._new_folder.set()  # another one may have come between the look and the watch
            if followed or before != seen:
                self.notify(ALL)
            before = seen
            await self._next_survey()

    async def _next_survey(self) -> None:
        try:
            async with asyncio.timeout(SURVEY):
                await self._new_folder.wait()
        except TimeoutError:
            return
        await asyncio.sleep(_SOON)
        self._new_folder.clear()


@contextmanager
def _watcher() -> Iterator[FileWatcher]:
    watcher = FileWatcher()
    try:
        yield watcher
    finally:
        watcher.close()


def _survey(where: RepositoryPaths, runs: tuple[str, ...], *, whole: bool) -> tuple[tuple[str, ...], object]:
    """Return the folders to watch, and what is compared with the last look; `whole` is with what a watch reports."""
    ids = plans.ids(where)
    local = SafeDir.open(where.root, *paths.LOCAL)
    running: object = False
    if local is not None:
        with local:
            found = runtime_status.dispatcher(local, datetime.now(UTC))
            running = found.running, found.silent_since, found.suspended
    folders = tuple(_folders(where, ids, runs))
    if not whole:
        return folders, (ids, running)
    state = os.path.join(where.bus, paths.BUS_STATE)  # noqa: PTH118 - a Path for each file costs more than its stat
    files = (*(os.path.join(state, name) for name in _STATE_FILES), f"{where.root}/{layers.FILE_NAME}")  # noqa: PTH118 - likewise
    stamps = tuple(map(file_stamp.at, files))
    return folders, (ids, running, stamps, _stamps(where, ids))


def _folders(where: RepositoryPaths, ids: tuple[str, ...], runs: tuple[str, ...]) -> Iterator[str]:
    local = str(where.local)
    yield str(where.root)
    yield from (local, f"{local}/{paths.BUS}", f"{local}/{paths.BUS}/{paths.BUS_STATE}", f"{local}/{paths.INBOX}")
    yield from (f"{local}/{paths.RUN_LOG}", f"{local}/{paths.STARTED_RUNS}", str(where.worktrees))
    below = "/".join(paths.LOCAL)
    for plan_id in ids:
        home = f"{where.worktrees}/{plan_id}/{below}"
        yield from (home, f"{home}/{paths.BUS}", f"{home}/{paths.RUNS}")
        yield from (f"{home}/{paths.RUNS}/{run}" for run in runs)


def _stamps(where: RepositoryPaths, ids: tuple[str, ...]) -> tuple[FileStamp | None, ...]:
    """Return the stamps of the plans' logs: elsewhere than on Linux, nothing else tells of a change."""
    below = "/".join((*paths.LOCAL, paths.BUS, paths.DECISIONS))
    return tuple(file_stamp.at(f"{where.worktrees}/{plan_id}/{below}") for plan_id in ids)


def _part(where: RepositoryPaths, folder: Path | None) -> str:
    """Return which plan or run a folder belongs to."""
    if folder is None:
        return ALL
    if folder.parent.name == paths.RUNS:
        return folder.name
    try:
        return folder.relative_to(where.worktrees).parts[0]
    except (ValueError, IndexError):
        return ALL
