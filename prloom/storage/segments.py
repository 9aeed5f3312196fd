"""Know the files of one journal: the one that grows, and those that were closed before it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prloom.storage.safe_dir import SafeDir

_DIGITS = 6


def archive(journal: str, number: int) -> str:
    """Return the name that a journal's segment has once it is closed."""
    stem, dot, suffix = journal.rpartition(".")
    return f"{stem}-{number:0{_DIGITS}d}{dot}{suffix}"


class Segments:
    """The numbered files of a journal in a folder.

    Closed ones are `<stem>-000001.jsonl` and so on; the live one keeps the plain name and has the next number. While a
    rotation is under way (or was cut short) the live file has both names: one inode, one segment.
    """

    __slots__ = ("_live", "folder", "name", "stem", "suffix")

    def __init__(self, folder: SafeDir, name: str) -> None:
        self.folder = folder
        self.name = name
        self.stem, dot, suffix = name.rpartition(".")
        self.suffix = dot + suffix
        self._live = max(self.closed(), default=1)

    def archive(self, number: int) -> str:
        """Return the name that a segment has once it is closed."""
        return archive(self.name, number)

    def closed(self) -> tuple[int, ...]:
        """Return the numbers for which an archive name exists, ascending."""
        return tuple(sorted(filter(None, map(self._number, self.folder.names()))))

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of all segments, ascending; the last is the live one."""
        live, _ = self.live()
        return (*(number for number in self.closed() if number < live), live)

    def live(self) -> tuple[int, int]:
        """Return the live segment's number and its size in bytes; a missing file has none."""
        found = self.folder.stat(self.name)
        return self.number(found), 0 if found is None else found.st_size

    def number(self, found: os.stat_result | None) -> int:
        """Return the number of the live file, looked at just before; another process may have rotated meanwhile.

        An archive name appears before the live name moves on. So a live file that was looked at first, and an archive
        name that is then still free, or is that same file, belong together.
        """
        while True:
            archived = self.folder.stat(self.archive(self._live))
            if archived is None or (found is not None and os.path.samestat(archived, found)):
                return self._live
            self._live += 1

    def size(self, number: int) -> int | None:
        """Return the size in bytes of a closed segment, or None if it was taken away."""
        found = self.folder.stat(self.archive(number))
        if found is None:
            return None
        return found.st_size

    def open(self, number: int) -> int | None:
        """Open a segment for reading and return the descriptor, which the caller closes; None if there is none."""
        if number < self._live:
            return self.folder.open_to_read(self.archive(number))
        fd = self.folder.open_to_read(self.name)
        live = self.number(None if fd is None else os.fstat(fd))
        if live == number:
            return fd
        if fd is not None:
            os.close(fd)
        if number < live:
            return self.folder.open_to_read(self.archive(number))
        return None

    def _number(self, name: str) -> int:
        digits = name.removeprefix(self.stem + "-").removesuffix(self.suffix)
        plain = digits.isascii() and digits.isdecimal()
        number = 0
        if plain and len(digits) <= 2 * _DIGITS:
            number = int(digits)
        if name == self.archive(number):
            return number
        return 0
