"""Say when what the screen shows may have changed: folders are watched, and their contents are not polled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from prloom.engine.file_watcher import FileWatcher
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths

GATHER: Final = 0.03
"""Seconds for which changes are gathered, so that one decision with its files is one look."""
BLIND: Final = 0.5
"""Seconds between two looks where files cannot be watched."""


class LiveChanges:
    """Watches the folders of a repository, of its plans, and of the runs that go on."""

    def __init__(self, where: RepositoryPaths) -> None:
        self._where = where
        self._watcher = FileWatcher()
        self._changed = asyncio.Event()

    @property
    def is_blind(self) -> bool:
        """Whether files cannot be watched here, so that one has to look every now and then."""
        return self._watcher.problem is not None or not self._watcher.wants(())

    def follow(self, plans: Iterable[str], runs: Iterable[tuple[str, str]]) -> None:
        """Watch the folders of these plans, and of these runs, each with its plan, from now on."""
        self._watcher.follow(self._folders(tuple(plans), runs))

    def _folders(self, plans: Iterable[str], runs: Iterable[tuple[str, str]]) -> Iterator[Path]:
        local = self._where.local
        yield from (local, local / paths.BUS, local / paths.BUS / paths.BUS_STATE, self._where.worktrees)
        yield from (local / paths.STARTED_RUNS, local / paths.RUN_LOG, local / paths.INBOX)
        for plan in plans:
            home = self._where.worktree(plan).joinpath(*paths.LOCAL)
            yield from (home, home / paths.BUS, home / paths.BUS / paths.BUS_STATE)
        for run, plan in runs:
            yield self._where.worktree(plan).joinpath(*paths.LOCAL, paths.RUNS, run)

    async def changes(self) -> AsyncIterator[None]:
        """Yield once for the changes of each moment, for ever."""
        task = asyncio.create_task(self._hear())
        try:
            while True:
                if self._watcher.problem is not None:
                    await asyncio.sleep(BLIND)
                else:
                    await self._changed.wait()
                    await asyncio.sleep(GATHER)
                self._changed.clear()
                yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _hear(self) -> None:
        async for _ in self._watcher.hints():
            self._changed.set()

    def close(self) -> None:
        """Let go of all watches."""
        self._watcher.close()
