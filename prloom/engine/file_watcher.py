"""Notice at once that another program appended to a bus. A notice is a hint: the tick is the truth."""

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


AGAIN = 60.0
"""Seconds after which a watch that the system refused is asked for again."""

_LOOKS = 60
"""After so many ticks, the folders are looked at whether something told of a change or not."""

_MORE = "raise fs.inotify.max_user_instances (`sysctl`)"

Identity = tuple[int, int]
"""What tells a folder from another one that has come into its place."""


class FileWatcher:
    """Watches folders with one inotify instance (a user has 128 of them); elsewhere than on Linux it stays silent.

    `trouble` says why there is none for now; it is asked for `again` after so many seconds.
    """

    def __init__(self, *, again: float = AGAIN) -> None:
        self.trouble: str | None = None
        self._again = again
        self._inotify: Inotify | None = self._ask()
        self._watches: dict[str, tuple[Identity, Watch]] = {}
        self._followed: tuple[object, ...] | None = None
        self._looks = 0

    def wants(self, followed: Iterable[object]) -> bool:
        """Whether to name the folders again: others are followed now, a watch was lost, or it is time to make sure."""
        now = tuple(followed)
        self._looks += 1
        if now == self._followed and self._looks < _LOOKS:
            return False
        self._followed, self._looks = now, 0
        return self._inotify is not None

    def follow(self, folders: Iterable[str | Path]) -> None:
        """Watch exactly these folders from now on; one that cannot be watched is found by the tick."""
        if self._inotify is None:
            return
        named = [os.fspath(folder) for folder in folders]  # hundreds, and a Path costs more than the look at it
        wanted = {folder: identity for folder in named if (identity := _identity(folder)) is not None}
        for folder, (identity, _) in list(self._watches.items()):
            if wanted.get(folder) != identity:
                self._drop(folder)
        for folder in wanted.keys() - self._watches.keys():
            self._add(folder, wanted[folder])

    async def changes(self) -> AsyncIterator[tuple[Path | None, str]]:
        """Yield the folder and the file name of each change, for ever; None where there were too many to be told."""
        while self._inotify is None:
            await asyncio.sleep(self._again)
            self._inotify, self._followed = self._ask(), None
        from asyncinotify import Mask  # noqa: PLC0415 - Linux only

        async for event in self._inotify:
            if Mask.Q_OVERFLOW in event.mask:
                yield None, ""
            elif Mask.IGNORED in event.mask:  # the folder is gone; another one of its name may get its number too
                self._watches = {folder: each for folder, each in self._watches.items() if each[1] is not event.watch}
                self._followed = None
            elif event.watch is not None:
                yield event.watch.path, "" if event.name is None else str(event.name)

    def close(self) -> None:
        """Let go of all watches."""
        if self._inotify is not None:
            self._inotify.close()

    def _ask(self) -> Inotify | None:
        if sys.platform != "linux":
            return None
        from asyncinotify import Inotify  # noqa: PLC0415 - Linux only

        try:
            made = Inotify()
        except OSError as error:
            if self.trouble is None:
                log.warning("files cannot be watched (%s); prloom checks them at every tick", error)
            reason = error.strerror or str(error)
            self.trouble = (
                f"files cannot be watched ({reason}), so prloom sees new events only at the next tick; {_MORE}"
            )
            return None
        self.trouble = None
        return made

    def _add(self, folder: str, identity: Identity) -> None:
        from asyncinotify import Mask  # noqa: PLC0415 - Linux only

        assert self._inotify is not None  # noqa: S101 - the caller has looked
        try:
            watch = self._inotify.add_watch(folder, Mask.MODIFY | Mask.MOVED_TO | Mask.CREATE | Mask.ONLYDIR)
        except OSError as error:
            log.info("%s cannot be watched (%s); prloom checks it at every tick", folder, error)
        else:
            self._watches[folder] = identity, watch

    def _drop(self, folder: str) -> None:
        _, watch = self._watches.pop(folder)
        try:
            if self._inotify is not None:
                self._inotify.rm_watch(watch)
        except (OSError, ValueError) as error:  # the folder went, and its watch with it
            log.debug("%s: %s", folder, error)


def _identity(folder: str) -> Identity | None:
    try:
        found = os.stat(folder)  # noqa: PTH116 - a text, see `follow`
    except OSError:
        return None
    return found.st_dev, found.st_ino
