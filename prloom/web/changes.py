"""Notice that something on disk is new, once for all pages that are open; nobody looks while no page is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prloom.engine.bus import plans
from prloom.engine.file_watcher import FileWatcher
from prloom.engine.views import runtime_status
from prloom.storage import file_stamp, paths
from prloom.storage.file_stamp import FileStamp
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ALL: Final = ""
"""The part that stands for the repository as a whole: it concerns every page."""

SETTLE: Final = 0.1
"""Seconds in which changes that come together are one."""

SURVEY: Final = 2.0
"""Seconds between two looks at what no file system reports: a dispatcher that has ended, new plans."""

_STATE_FILES: Final = (paths.WORK, paths.REQUESTS, paths.PLUGINS, paths.BRIDGES, paths.PLANS, paths.DAEMON_STATUS)
_SILENT: Final = (paths.SEEN_IDS, paths.EXCHANGE, paths.LOCK, paths.POOL_LOG)
"""How the names of files begin that say nothing new."""


@dataclass(eq=False)
class Listener:
    """A page that is open: what changed of its parts since it was last told; all of them, where none is named."""

    parts: frozenset[str]
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def notify(self, part: str) -> None:
        """Have the page told, if a part that changed is one of its own."""
        if part == ALL or not self.parts or part in self.parts:
            self.changed.set()


class Changes:
    """Watches a repository while somebody listens."""

    def __init__(self, where: RepositoryPaths) -> None:
        self._where = where
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def open(self) -> int:
        """How many pages listen."""
        return len(self._listeners)

    @asynccontextmanager
    async def listen(self, parts: frozenset[str]) -> AsyncIterator[Listener]:
        """Be told of changes of these parts for as long as this lasts."""
        listener = Listener(parts)
        self._listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None

    def _notify(self, part: str) -> None:
        for listener in self._listeners:
            listener.notify(part)

    async def _watch(self) -> None:
        with _watcher() as watcher:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read_hints(watcher))
                group.create_task(self._follow_folders(watcher))

    async def _read_hints(self, watcher: FileWatcher) -> None:
        async for folder, name in watcher.hints():
            if not name.startswith(_SILENT):
                self._notify(_part(self._where, folder))

    async def _follow_folders(self, watcher: FileWatcher) -> None:
        """Follow the folders that there are now, and notice what is not reported of them."""
        before: object = None
        while True:
            runs = tuple(each for listener in self._listeners for each in sorted(listener.parts))
            folders, seen = await asyncio.to_thread(_survey, self._where, runs)
            if watcher.wants(folders):
                watcher.follow(folders)
            if before is not None and before != seen:
                self._notify(ALL)
            before = seen
            await asyncio.sleep(SURVEY)


@contextmanager
def _watcher() -> Iterator[FileWatcher]:
    watcher = FileWatcher()
    try:
        yield watcher
    finally:
        watcher.close()


def _survey(where: RepositoryPaths, parts: tuple[str, ...]) -> tuple[tuple[str, ...], object]:
    """Return the folders to watch, and what is compared with the last look; `parts` may name runs that are shown."""
    ids = plans.ids(where)
    local = SafeDir.open(where.root, *paths.LOCAL)
    running = False
    if local is not None:
        with local:
            running = runtime_status.dispatcher(local).running
    state = os.path.join(where.bus, paths.BUS_STATE)  # noqa: PTH118 - a Path for each file costs more than its stat
    stamps = tuple(file_stamp.at(os.path.join(state, name)) for name in _STATE_FILES)  # noqa: PTH118 - likewise
    return tuple(_folders(where, ids, parts)), (ids, running, stamps, _stamps(where, ids))


def _folders(where: RepositoryPaths, ids: tuple[str, ...], parts: tuple[str, ...]) -> Iterator[str]:
    local = str(where.local)
    yield from (local, f"{local}/{paths.BUS}", f"{local}/{paths.BUS}/{paths.BUS_STATE}", f"{local}/{paths.INBOX}")
    yield f"{local}/{paths.RUN_LOG}"
    below = "/".join(paths.LOCAL)
    for plan_id in ids:
        home = f"{where.worktrees}/{plan_id}/{below}"
        yield from (home, f"{home}/{paths.BUS}", f"{home}/{paths.RUNS}")
        yield from (f"{home}/{paths.RUNS}/{part}" for part in parts if _is_run(part))


def _is_run(part: str) -> bool:
    return "/" not in part and part[:8].isdigit()


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
