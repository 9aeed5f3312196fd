"""Keep a file that was replaced open for a minute: what a program still appends to it is appended to the new one.

A program that has the file open, such as a shell that redirects what a command prints, does not notice that the name
belongs to another file now.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from prloom.storage import disk as disks
from prloom.storage import os_errors
from prloom.storage.safe_dir import READ_LIMIT, SafeDir

KEPT = timedelta(minutes=1)
"""How long a file that was replaced is looked at."""

MOST = 3
"""Files of one name that are kept open, the latest ones."""


@dataclass
class _Replaced:
    fd: int
    size: int
    since: float


class ReplacedFiles:
    """The files of one folder that were replaced a moment ago, by name."""

    def __init__(self, folder: SafeDir, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._kept: defaultdict[str, list[_Replaced]] = defaultdict(list)

    def keep(self, name: str, read: bytes | None = None) -> None:
        """Keep the file open that has this name now, right before it is replaced.

        `read` is what is known of it: what was appended since is not in the new file either.
        """
        fd = self._folder.open_to_read(name)
        if fd is None:
            return
        found = os.fstat(fd)
        size = found.st_size
        if read is not None and os.pread(fd, len(read), 0) == read:
            size = len(read)
        kept = self._kept[name]
        for each in list(kept):
            if os.path.samestat(os.fstat(each.fd), found):  # it could not be replaced then
                kept.remove(each)
                os.close(each.fd)
        kept.append(_Replaced(fd, size, self._clock()))
        while len(kept) > MOST:
            os.close(kept.pop(0).fd)

    def bring_over(self, name: str) -> None:
        """Append to the file what was appended to those that it replaced; forget those that were replaced long ago."""
        if name not in self._kept:
            return
        for each in self._kept[name]:
            found = os.fstat(each.fd)
            # One that still has a name was not replaced after all.
            if not found.st_nlink and found.st_size > each.size:
                late = os.pread(each.fd, min(found.st_size - each.size, READ_LIMIT), each.size)
                self._append(name, late)
                each.size += len(late)
        now = self._clock()
        recent = [each for each in self._kept[name] if 0 <= now - each.since < KEPT.total_seconds()]
        for each in self._kept.pop(name):
            if each not in recent:
                os.close(each.fd)
        if recent:
            self._kept[name] = recent

    def close(self) -> None:
        """Close all files; what is appended to them from now on is not brought over."""
        for kept in self._kept.values():
            for each in kept:
                os.close(each.fd)
        self._kept.clear()

    def __del__(self) -> None:
        self.close()

    def _append(self, name: str, late: bytes) -> None:
        fd = self._folder.open_to_append(name)
        try:
            with os_errors.translated("write", self._folder, name):
                disks.write_all(self._folder.disk, fd, late)
                self._folder.disk.fsync(fd)
        finally:
            os.close(fd)
