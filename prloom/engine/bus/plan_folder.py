"""Show extensions the folder of a plan."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable

from prloom.storage import file_stamp
from prloom.storage.replaced_files import ReplacedFiles
from prloom.storage.safe_dir import FILE_MODE, SafeDir


class PlanFolder:
    """Implements `prloom.api.Files` over `<worktree>/prloom/.local`; `was_read` says whether a file was read.

    `replaced` are the files that were replaced through it or another one a moment ago.
    """

    def __init__(
        self, folder: SafeDir, clock: Callable[[], float] = time.time, replaced: ReplacedFiles | None = None
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._replaced = replaced or ReplacedFiles(folder)
        self._read: dict[str, bytes] = {}
        self.was_read = False

    def read_text(self, name: str) -> str | None:
        """Return the text of a file, or None if there is none; bytes that are not UTF-8 are shown as U+FFFD."""
        self.was_read = True
        self._replaced.bring_over(name)
        content = self._folder.read_bytes(name)
        if content is None:
            return None
        self._read[name] = content
        return content.decode("utf-8", "replace")

    def replace_text(self, name: str, text: str) -> None:
        """Write a file whole, or leave it as it was; its permissions are kept, for people edit it too."""
        found = self._folder.stat(name)
        if found is None:
            mode = FILE_MODE
        else:
            mode = stat.S_IMODE(found.st_mode)
        self._replaced.keep(name, self._read.pop(name, None))
        self._folder.replace(name, text.encode("utf-8", "replace"), mode=mode)

    def stamp(self, name: str) -> str | None:
        """Return a text that differs whenever the file has changed; None where it changed too recently to be sure."""
        self.was_read = True
        self._replaced.bring_over(name)
        found = self._folder.stat(name)
        if found is None:
            return "missing"
        if not file_stamp.is_settled(max(found.st_mtime, found.st_ctime), self._clock()):
            return None
        _device, *stamp = file_stamp.of(found)
        return "-".join(map(str, stamp))
