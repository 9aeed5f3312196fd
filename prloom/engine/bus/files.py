"""The plan's own folder as extensions see it: texts, by name, never through a symbolic link."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from datetime import timedelta

from prloom.storage.safe_dir import FILE_MODE, SafeDir

SETTLED = timedelta(seconds=3)
"""After which a second change shows in a file's times, whatever file system it is on: FAT's go by two seconds."""


class PlanFolder:
    """Implements `prloom.api.Files` over `<worktree>/prloom/.local`."""

    def __init__(self, folder: SafeDir, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock

    def read_text(self, name: str) -> str | None:
        """Return the text of a file, or None if there is none; bytes that are not UTF-8 are shown as U+FFFD."""
        content = self._folder.read_bytes(name)
        if content is None:
            return None
        return content.decode("utf-8", "replace")

    def replace_text(self, name: str, text: str) -> None:
        """Write a file whole, or leave it as it was; its permissions are kept, for people edit it too."""
        found = self._folder.stat(name)
        if found is None:
            mode = FILE_MODE
        else:
            mode = stat.S_IMODE(found.st_mode)
        self._folder.replace(name, text.encode("utf-8", "replace"), mode=mode)

    def stamp(self, name: str) -> str | None:
        """Return a text that differs whenever the file has changed; None where that was too lately to tell."""
        found = self._folder.stat(name)
        if found is None:
            return "missing"
        if self._clock() - max(found.st_mtime, found.st_ctime) < SETTLED.total_seconds():
            return None
        return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"
