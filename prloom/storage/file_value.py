"""Keep what was worked out of a file until the file changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from prloom.storage.file_stamp import FileStamp

T = TypeVar("T")


class FileValue(Generic[T]):
    """A value of a file's content; `previous` is the one of the content before, None where there was no other."""

    def __init__(self) -> None:
        self.previous: T | None = None
        self._latest: tuple[FileStamp | None, T] | None = None

    def at(self, stamp: FileStamp | None, make: Callable[[], T]) -> T:
        """Return the value of a file with this stamp; it is made anew where the file has changed, or is missing."""
        before = self._latest
        if before is not None and stamp is not None and stamp == before[0]:
            return before[1]
        value = make()
        if before is not None and before[0] is not None:
            self.previous = before[1]
        self._latest = stamp, value
        return value
