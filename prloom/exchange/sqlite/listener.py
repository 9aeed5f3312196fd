"""Hear through inotify that another process changed the exchange."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from typing import Final

log = logging.getLogger(__name__)

_IN_MODIFY: Final = 0x2  # inotify(7)


class FileListener:
    """Hears each poke at a file; where the system gives no watch it hears nothing, and one looks again in time."""

    def __init__(self, path: str) -> None:
        self._fd = _watch(path)

    def fileno(self) -> int | None:
        """Return the watch's descriptor."""
        return self._fd

    def drain(self) -> None:
        """Take what was heard."""
        if self._fd is not None:
            with suppress(BlockingIOError):
                while os.read(self._fd, 65536):
                    pass

    def close(self) -> None:
        """Give the watch back; a second call does nothing."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


def _watch(path: str) -> int | None:
    """Return a watch on the file; two calls, for which a library would load asyncio into every command that waits."""
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 (only who waits needs it)

    libc = ctypes.CDLL(None, use_errno=True)
    fd: int = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    if fd >= 0 and libc.inotify_add_watch(fd, os.fsencode(path), _IN_MODIFY) >= 0:
        return fd
    log.info("%s cannot be watched (%s); prloom checks it from time to time", path, os.strerror(ctypes.get_errno()))
    if fd >= 0:
        os.close(fd)
    return None
