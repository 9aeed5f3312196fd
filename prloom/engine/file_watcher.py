"""Watch the buses for what other programs append. A change is a hint: each tick checks everything anyway."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncinotify import Inotify, Watch

log = logging.getLogger(__name__)


RETRY_AFTER = 60.0
"""Seconds after which a watch that the system refused is requested again."""

_CHECK_AFTER = 60
"""After so many ticks, the folders are checked whether a change was reported or not."""

_REMEDY = "raise fs.inotify.max_user_instances (`sysctl`)"

FolderId = tuple[int, int]
"""The device and the number of a folder, by which it differs from another one of its name."""


class FileWatcher:
    """Watches folders with one inotify instance (a user has 128 of them); elsewhere than on Linux it stays silent.

    `problem` says why there is none for now; it is requested again `retry_after` so many seconds.
    """

    def __init__(self, *, retry_after: float = RETRY_AFTER) -> None:
        self.problem: str | None = None
        self._retry_after = retry_after
        self._inotify: Inotify | None = self._open()
        self._watches: dict[str, tuple[FolderId, Watch]] = {}
        self._followed: tuple[object, ...] | None = None
        self._unchecked = 0
        self._has_all = False

    def wants(self, followed: Iterable[object]) -> bool:
        """Whether to name the folders again: others are followed now, a watch was lost, or it is time to make sure."""
        now = tuple(followed)
        self._unchecked += 1
        if now == self._followed and self._unchecked < _CHECK_AFTER:
            return False
        self._followed, self._unchecked = now, 0
        return self._inotify is not None

    def follow(self, folders: Iterable[str | Path]) -> None:
        """Watch exactly these folders from now on; one that cannot be watched is found by the tick."""
        if self._inotify is None:
            return
        named = [os.fspath(folder) for folder in folders]  # hundreds, and a Path costs more than the stat call
        wanted = {folder: folder_id for folder in named if (folder_id := _folder_id(folder)) is not None}
        for folder, (folder_id, _) in list(self._watches.items()):
            if wanted.get(folder) != folder_id:
                self._drop(folder)
        for folder in wanted.keys() - self._watches.keys():
            self._add(folder, wanted[folder])
        self._has_all = wanted.keys() <= self._watches.keys()

    @property
    def reports_all(self) -> bool:
        """Whether each folder that is followed, as far as it exists, is watched, so that each change is reported."""
        return self._inotify is not None and self._followed is not None and self._has_all

    async def changes(self) -> AsyncIterator[tuple[Path | None, str]]:
        """Yield the folder and the file name of each change, for ever; None where there were too many to report."""
        while self._inotify is None:
            await asyncio.sleep(self._retry_after)
            self._inotify, self._followed = self._open(), None
        from asyncinotify import Mask  # noqa: PLC0415 - Linux only

        async for event in self._inotify:
            if Mask.Q_OVERFLOW in event.mask:
                yield None, ""
            elif Mask.IGNORED in event.mask:  # the folder is gone; another one of its name may get its number too
                self._watches = {folder: each for folder, each in self._watches.items() if each[1] is not event.watch}
                self._followed = None
            elif event.watch is not None:
                yield event.watch.path, "" if event.name is None else str(event.name)

    async def hints(self) -> AsyncIterator[tuple[Path | None, str]]:
        """Yield changes until files cannot be watched any more, which is logged: the ticks find everything anyway."""
        try:
            async for change in self.changes():
                yield change
        except OSError as error:
            log.warning("files are no longer watched (%s); prloom checks them at every tick", error)

    def close(self) -> None:
        """Let go of all watches."""
        if self._inotify is not None:
            self._inotify.close()

    def _open(self) -> Inotify | None:
        if sys.platform != "linux":
            return None
        from asyncinotify import Inotify  # noqa: PLC0415 - Linux only

        try:
            made = Inotify()
        except OSError as error:
            if self.problem is None:
                log.warning("files cannot be watched (%s); prloom checks them at every tick", error)
            reason = error.strerror or str(error)
            self.problem = (
                f"files cannot be watched ({reason}), so prloom sees new events only at the next tick; {_REMEDY}"
            )
            return None
        self.problem = None
        return made

    def _add(self, folder: str, folder_id: FolderId) -> None:
        from asyncinotify import Mask  # noqa: PLC0415 - Linux only

        assert self._inotify is not None  # noqa: S101 - the caller has checked
        try:
            watch = self._inotify.add_watch(folder, Mask.MODIFY | Mask.MOVED_TO | Mask.CREATE | Mask.ONLYDIR)
        except OSError as error:
            log.info("%s cannot be watched (%s); prloom checks it at every tick", folder, error)
        else:
            self._watches[folder] = folder_id, watch

    def _drop(self, folder: str) -> None:
        _, watch = self._watches.pop(folder)
        try:
            if self._inotify is not None:
                self._inotify.rm_watch(watch)
        except (OSError, ValueError) as error:  # the folder went, and its watch with it
            log.debug("%s: %s", folder, error)


def _folder_id(folder: str) -> FolderId | None:
    try:
        found = os.stat(folder)  # noqa: PTH116 - a text, see `follow`
    except OSError:
        return None
    return found.st_dev, found.st_ino
