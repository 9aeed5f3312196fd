"""Hear through inotify that another process changed the exchange."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncinotify import Inotify

log = logging.getLogger(__name__)


class FileListener:
    """Hears each poke at a file; where the system gives no watch it hears nothing, and one looks again in time."""

    def __init__(self, path: str) -> None:
        self._inotify = _watch(path)

    def fileno(self) -> int | None:
        """Return the watch's descriptor."""
        return None if self._inotify is None else self._inotify.fd

    def drain(self) -> None:
        """Take what was heard."""
        if self._inotify is not None:
            with suppress(BlockingIOError):
                while os.read(self._inotify.fd, 65536):
                    pass

    def close(self) -> None:
        """Give the watch back; a second call does nothing."""
        inotify, self._inotify = self._inotify, None
        if inotify is not None:
            inotify.close()


def _watch(path: str) -> Inotify | None:
    if sys.platform != "linux":
        return None
    from asyncinotify import InitFlags, Inotify, Mask  # noqa: PLC0415 (Linux only, and 30 ms)

    try:
        inotify = Inotify(flags=InitFlags.CLOEXEC)
        os.set_blocking(inotify.fd, False)
        inotify.add_watch(path, Mask.MODIFY)
    except OSError as error:
        log.info("no file watch on %s (%s); it is looked at from time to time", path, error)
        return None
    return inotify
