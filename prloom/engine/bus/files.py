"""The plan's own folder as extensions see it: texts, by name, never through a symbolic link."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable

from prloom.storage import file_stamp
from prloom.storage.safe_dir import FILE_MODE, SafeDir


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
        if not file_stamp.is_settled(max(found.st_mtime, found.st_ctime), self._clock()):
            return None
        _device, *stamp = file_stamp.of(found)
        return "-".join(map(str, stamp))
