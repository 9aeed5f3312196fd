"""Tell of a trouble where not even a file can be written: in one that has had its room since the start."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from prloom.storage import json_codec

if TYPE_CHECKING:
    from prloom.storage.safe_dir import SafeDir

FILE = "dispatcher.trouble.json"
_ROOM = 4096
_LONGEST = 3000  # characters of a text; escaped they may need more room than there is, and then it is shortened


class HealthFile:
    """What troubles a dispatcher as a whole, for other commands to read while it runs.

    The file gets its room when this is made, and is written over in place: that needs no space on a full disk, no quota
    and no free descriptor. It is not flushed, for it means nothing once the dispatcher is gone. Where even that cannot
    be done (a file system that is read-only), readers look at the file system themselves.
    """

    def __init__(self, folder: SafeDir) -> None:
        """Make the file; raises StorageError."""
        folder.replace(FILE, _block(None), lasting=False)
        self._fd = os.open(FILE, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.fd)
        self._told: str | None = None

    def tell(self, trouble: str | None) -> None:
        """Let others read this trouble, or that there is none; costs nothing where that is no news."""
        if trouble != self._told:
            with suppress(OSError):
                os.pwrite(self._fd, _block(trouble), 0)
                self._told = trouble

    def close(self) -> None:
        """Take back what was told."""
        self.tell(None)
        os.close(self._fd)


def read(folder: SafeDir) -> str | None:
    """Return what was told last; None where that is nothing, or cannot be read just now. Raises StorageError."""
    content = folder.read_bytes(FILE)
    match None if content is None else json_codec.decode(content):
        case {"trouble": str(trouble)}:
            return trouble
    return None


def of_file_system(folder: SafeDir) -> str | None:
    """Return why nothing can be written where a folder is, as far as its file system tells."""
    try:
        found = os.fstatvfs(folder.fd)
    except OSError:
        return None
    if found.f_flag & os.ST_RDONLY:
        return f"nothing can be written in {folder.path}: the file system is read-only; make it writable"
    if found.f_blocks and not found.f_bavail:
        return f"nothing can be written in {folder.path}: no space is left on the device; free some space"
    return None


def _block(trouble: str | None) -> bytes:
    if trouble is None:
        told = None
    else:
        told = trouble[:_LONGEST]
    block = json_codec.encode({"trouble": told})
    while len(block) > _ROOM:
        told = (told or "")[: len(told or "") // 2]
        block = json_codec.encode({"trouble": told})
    return block.ljust(_ROOM)
