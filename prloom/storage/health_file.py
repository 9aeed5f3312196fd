"""Let a dispatcher report its errors as a whole, and let other commands read them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from prloom.storage import json_codec, os_errors

if TYPE_CHECKING:
    from prloom.storage.safe_dir import SafeDir

HEALTH = "dispatcher.trouble.json"
_ROOM = 4096
_LONGEST = 3000  # characters of a text; escaped they may need more room than there is, and then it is shortened


class HealthFile:
    """The error of a dispatcher as a whole, for other commands to read while it runs.

    The file gets its room when this is made, and is written over in place: that needs no space on a full disk, no quota
    and no free descriptor. It is not flushed, for it means nothing once the dispatcher is gone. Where even that cannot
    be done (a file system that is read-only), readers look at the file system themselves.
    """

    def __init__(self, folder: SafeDir) -> None:
        """Make the file; raises StorageError."""
        folder.replace(HEALTH, _block(None), lasting=False)
        with os_errors.translated("open", folder, HEALTH):
            self._fd = os.open(HEALTH, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.fd)
        self._written: str | None = None

    def report(self, error: str | None) -> None:
        """Report the error for other commands to read, or that there is none; an unchanged one costs nothing."""
        if error != self._written:
            with suppress(OSError):
                os.pwrite(self._fd, _block(error), 0)
                self._written = error

    def close(self) -> None:
        """Write that there is no error."""
        self.report(None)
        os.close(self._fd)


def read_health(folder: SafeDir) -> str | None:
    """Return the error that was written last; None if there is none, or it is unreadable. Raises StorageError."""
    content = folder.read_bytes(HEALTH)
    match None if content is None else json_codec.decode(content):
        case {"trouble": str(trouble)}:
            return trouble
    return None


def file_system_error(folder: SafeDir) -> str | None:
    """Return why nothing can be written where a folder is, as far as its file system says."""
    try:
        found = os.fstatvfs(folder.fd)
    except OSError:
        return None
    if found.f_flag & os.ST_RDONLY:
        return f"nothing can be written in {folder.path}: the file system is read-only; make it writable"
    if found.f_blocks and not found.f_bavail:
        return f"nothing can be written in {folder.path}: no space is left on the device; free some space"
    return None


def _block(error: str | None) -> bytes:
    if error is None:
        text = None
    else:
        text = error[:_LONGEST]
    block = json_codec.encode({"trouble": text})
    while len(block) > _ROOM:
        text = (text or "")[: len(text or "") // 2]
        block = json_codec.encode({"trouble": text})
    return block.ljust(_ROOM)
