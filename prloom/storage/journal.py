"""Append JSON lines to a file that is never rewritten, and close it when it has grown long."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from prloom.errors import StorageError
from prloom.model.record import Position
from prloom.storage import disk as disks
from prloom.storage import lines, locks, os_errors, repair
from prloom.storage.reader import JournalReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prloom.storage.safe_dir import SafeDir


class Journal(JournalReader):
    """An append-only file of JSON lines with its closed segments; it keeps no descriptor open between calls.

    Appends of all processes that go through this class exclude one another; other programs may append whole lines at
    any time. Errors are StorageErrors. After a flush that failed, nothing is known of the file, and this object
    refuses to write; make a new one.
    """

    __slots__ = ("_broken",)

    def __init__(self, folder: SafeDir, name: str) -> None:
        super().__init__(folder, name)
        self._broken = False

    def append(self, batch: Sequence[bytes]) -> Position:
        """Append lines (without newlines) with one write and one flush, and return the position of the first one.

        After an error none of them counts; what was in the file before is still there.
        """
        return self.append_block(_block(batch))

    def append_block(self, block: bytes) -> Position:
        """Append lines that are one block already, each with its newline, as envelope.encode_lines makes them."""
        _check(block)
        with self._writing() as fd:
            repair.heal(self.folder, self.name, fd)
            found = os.fstat(fd)
            number = self._segments.number(found)
            return Position(number, self._write(fd, block, found.st_size) if block else found.st_size)

    def heal(self) -> str | None:
        """Mend a torn last line now; return the name of the file that its bytes were moved to, if they were."""
        if not self.folder.exists(self.name):
            return None
        with self._writing() as fd:
            return repair.heal(self.folder, self.name, fd)

    def rotate(self, first: Sequence[bytes] = ()) -> Position:
        """Close the live segment and begin a new one with the lines given; return where those stand.

        A crash between any two steps leaves the journal as it was before or as it is after.
        """
        block = _block(first)
        with self._writing() as fd:
            repair.heal(self.folder, self.name, fd)
            self.folder.disk.fdatasync(fd)
            number = self._segments.number(os.fstat(fd))
            archive = self._segments.archive(number)
            fresh = self.folder.prepare(self.name, block)
            try:
                if not self.folder.exists(archive):  # else an earlier rotation came this far
                    self.folder.link(self.name, archive)
                    self.folder.sync()  # the old lines need their second name before they lose the first
                self.folder.rename(fresh, self.name)
            except BaseException:
                self.folder.drop(fresh)
                raise
            self.folder.sync()
        return Position(number + 1, 0)

    # ---- inside

    @contextmanager
    def _writing(self) -> Iterator[int]:
        if self._broken:
            raise StorageError(f"{self.path} could not be flushed earlier; check the disk, then start prloom again")
        with locks.locked(self.folder):
            fd = self.folder.open_to_append(self.name)
            try:
                yield fd
            except OSError as error:
                raise os_errors.failed("write to", self.path, error) from error
            finally:
                os.close(fd)

    def _write(self, fd: int, block: bytes, before: int) -> int:
        """Write a block and return its offset; on an error cut the file back to the size that it had before."""
        try:
            disks.write_all(self.folder.disk, fd, block)
        except OSError:
            self._cut_back(fd, before)
            raise
        end = os.lseek(fd, 0, os.SEEK_CUR)  # O_APPEND: behind our own bytes, wherever others have written
        try:
            self.folder.disk.fdatasync(fd)
        except OSError:
            # The kernel may have dropped the pages and forgotten the error: a second flush would lie.
            self._broken = True
            self._cut_back(fd, end - len(block))
            raise
        return end - len(block)

    def _cut_back(self, fd: int, size: int) -> None:
        """Take our bytes off the end again, unless another program has appended behind them."""
        ours = os.lseek(fd, 0, os.SEEK_CUR)
        if ours > size and os.fstat(fd).st_size == ours:
            with suppress(OSError):
                self.folder.disk.truncate(fd, size)


def _block(batch: Sequence[bytes]) -> bytes:
    if b"\n" in b"".join(batch) or not all(batch) or any(map(bytes.isspace, batch)):
        raise _no_line()
    block = b"\n".join((*batch, b""))
    _check(block)
    return block


def _check(block: bytes) -> None:
    """Raise StorageError for what cannot be read again as lines."""
    if block and not block.endswith(b"\n"):
        raise _no_line()
    longest = 0
    if len(block) > lines.LINE_LIMIT:
        longest = max(map(len, block.split(b"\n")))
    if longest > lines.LINE_LIMIT:
        raise StorageError(f"a line of {longest} bytes is over the limit of {lines.LINE_LIMIT}; shorten its text")


def _no_line() -> StorageError:
    return StorageError("a journal's line is one line with something in it; encode it with envelope.encode")
