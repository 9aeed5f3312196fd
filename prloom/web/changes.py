"""Tell the pages that are open what is new on disk; nobody looks while no page is open."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from prloom.engine.repository_watch import ALL, RepositoryWatch
from prloom.storage.paths import RepositoryPaths

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SETTLE: Final = 0.1
"""Seconds in which changes that come together are one."""


@dataclass(eq=False)
class PageListener:
    """A page that is open: what changed of its parts since it was last told; all of them, where none is named."""

    parts: frozenset[str]
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def notify(self, part: str) -> None:
        """Have the page told, if a part that changed is one of its own."""
        if part == ALL or not self.parts or part in self.parts:
            self.changed.set()


class PageChanges:
    """Watches a repository while somebody listens."""

    def __init__(self, where: RepositoryPaths) -> None:
        self._watch = RepositoryWatch(where, self._runs, self._notify)
        self._listeners: set[PageListener] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def open(self) -> int:
        """How many pages listen."""
        return len(self._listeners)

    @asynccontextmanager
    async def listen(self, parts: frozenset[str]) -> AsyncIterator[PageListener]:
        """Be told of changes of these parts for as long as this lasts."""
        listener = PageListener(parts)
        self._listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch.run())
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

    def _runs(self) -> Iterator[str]:
        for listener in self._listeners:
            yield from (part for part in sorted(listener.parts) if _is_run(part))


def _is_run(part: str) -> bool:
    return "/" not in part and part[:8].isdigit()
