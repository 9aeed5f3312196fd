"""Notice at once that another program appended to a bus. A notice is a hint: the tick is the truth."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncinotify import Inotify, Watch

log = logging.getLogger(__name__)


class Watcher:
    """Watches folders with one inotify instance (a user has 128 of them); elsewhere than on Linux it stays silent."""

    def __init__(self) -> None:
        self._inotify: Inotify | None = _inotify()
        self._watches: dict[Path, Watch] = {}

    def follow(self, folders: Iterable[Path]) -> None:
        """Watch exactly these folders from now on; one that cannot be watched is found by the tick."""
        if self._inotify is None:
            return
        wanted = set(folders)
        for gone in self._watches.keys() - wanted:
            self._drop(gone)
        for new in wanted - self._watches.keys():
            self._add(new)

    async def notices(self) -> AsyncIterator[tuple[Path, str]]:
        """Yield the folder and the file name of each change, for ever."""
        if self._inotify is None:
            await asyncio.Event().wait()
            return
        async for event in self._inotify:
            if event.watch is not None:
                yield event.watch.path, "" if event.name is None else str(event.name)

    def close(self) -> None:
        """Let go of all watches."""
        if self._inotify is not None:
            self._inotify.close()

    def _add(self, folder: Path) -> None:
        from asyncinotify import Mask  # noqa: PLC0415 - Linux only

        assert self._inotify is not None  # noqa: S101 - the caller has looked
        try:
            self._watches[folder] = self._inotify.add_watch(
                folder, Mask.MODIFY | Mask.MOVED_TO | Mask.CREATE | Mask.ONLYDIR
            )
        except OSError as error:
            log.info("%s is not watched (%s); the tick looks at it", folder, error)

    def _drop(self, folder: Path) -> None:
        watch = self._watches.pop(folder)
        try:
            if self._inotify is not None:
                self._inotify.rm_watch(watch)
        except (OSError, ValueError) as error:  # the folder went, and its watch with it
            log.debug("%s: %s", folder, error)


def _inotify() -> Inotify | None:
    if sys.platform != "linux":
        return None
    from asyncinotify import Inotify  # noqa: PLC0415 - Linux only

    try:
        return Inotify()
    except OSError as error:
        log.warning("no file watch (%s); the tick looks at the buses", error)
        return None
