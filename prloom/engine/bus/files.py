"""The plan's own folder as extensions see it: texts, by name, never through a symbolic link."""

from __future__ import annotations

import stat

from prloom.storage.folder import FILE_MODE, Folder


class PlanFolder:
    """Implements `prloom.api.Files` over `<worktree>/prloom/.local`."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def read_text(self, name: str) -> str | None:
        """Return the text of a file, or None if there is none; bytes that are not UTF-8 are shown as U+FFFD."""
        content = self._folder.read_bytes(name)
        return None if content is None else content.decode("utf-8", "replace")

    def replace_text(self, name: str, text: str) -> None:
        """Write a file whole, or leave it as it was; its permissions are kept, for people edit it too."""
        found = self._folder.stat(name)
        mode = FILE_MODE if found is None else stat.S_IMODE(found.st_mode)
        self._folder.replace(name, text.encode("utf-8", "replace"), mode=mode)
