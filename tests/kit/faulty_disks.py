"""Offer disks that fail on command, so that tests can try every way in which a write ends badly."""

from __future__ import annotations

import errno
import os
import signal
from typing import TYPE_CHECKING, NoReturn

from prloom.storage.disk import Disk

if TYPE_CHECKING:
    from collections.abc import Callable


class Crash(BaseException):
    """The end of the process, as far as the code under test can tell; it passes every `except Exception`."""


def vanish(operation: str) -> NoReturn:
    """End the world as an exception, which a test can catch."""
    raise Crash(f"before {operation}")


def kill(operation: str) -> NoReturn:
    """End this process for real, as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError(f"a killed process went on to {operation}")


class PatientDisk(Disk):
    """A disk that works, and whose locks are waited for although another process of the test stands still."""

    patience = 60.0


class WatchedDisk(Disk):
    """A disk that is asked before every change; `about_to` may raise, and may shorten what is written."""

    def about_to(self, operation: str) -> None:
        """Be told of a change (the method's name) just before it happens."""

    def create(self, name: str, folder: int, flags: int, mode: int) -> int:
        """Make a file."""
        self.about_to("create")
        return super().create(name, folder, flags, mode)

    def write(self, fd: int, block: bytes | memoryview) -> int:
        """Write once."""
        self.about_to("write")
        return super().write(fd, block)

    def truncate(self, fd: int, size: int) -> None:
        """Cut a file."""
        self.about_to("truncate")
        super().truncate(fd, size)

    def fdatasync(self, fd: int) -> None:
        """Flush a file's content."""
        self.about_to("fdatasync")
        super().fdatasync(fd)

    def fsync(self, fd: int) -> None:
        """Flush a file or a folder."""
        self.about_to("fsync")
        super().fsync(fd)

    def rename(self, old: str, new: str, folder: int) -> None:
        """Give a file another name."""
        self.about_to("rename")
        super().rename(old, new, folder)

    def link(self, old: str, new: str, folder: int) -> None:
        """Give a file a second name."""
        self.about_to("link")
        super().link(old, new, folder)

    def unlink(self, name: str, folder: int) -> None:
        """Take a name away."""
        self.about_to("unlink")
        super().unlink(name, folder)

    def mkdir(self, name: str, folder: int, mode: int) -> None:
        """Make a folder."""
        self.about_to("mkdir")
        super().mkdir(name, folder, mode)

    def touch(self, name: str, folder: int, mtime: float | None = None) -> None:
        """Set a file's time."""
        self.about_to("touch")
        super().touch(name, folder, mtime)


class NotingDisk(WatchedDisk):
    """A disk that works, and remembers what was done in which order."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def about_to(self, operation: str) -> None:
        """Note the change."""
        self.done.append(operation)


class CrashingDisk(WatchedDisk):
    """A disk whose process ends just before its n-th change (from 1); nothing is changed ever after.

    With `torn`, that change, if it is a write, first gets half of its bytes onto the disk.
    """

    def __init__(self, before: int, *, torn: bool = False, crash: Callable[[str], NoReturn] = vanish) -> None:
        self.before = before
        self.torn = torn
        self.crash = crash
        self.changes = 0

    def about_to(self, operation: str) -> None:
        """Count the change; end when its turn has come."""
        self.changes += 1
        if self.changes >= self.before:
            self.crash(operation)

    def write(self, fd: int, block: bytes | memoryview) -> int:
        """Write once, or half of it."""
        if self.torn and self.changes + 1 == self.before:
            os.write(fd, block[: len(block) // 2])
        return super().write(fd, block)


class FullDisk(WatchedDisk):
    """A disk with room for so many bytes: the write that reaches the end is short, the next one is ENOSPC."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, fd: int, block: bytes | memoryview) -> int:
        """Write what there is room for."""
        if block and not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = super().write(fd, block[: self.room])
        self.room -= count
        return count


class FailingDisk(WatchedDisk):
    """A disk on which the n-th (from 1) operation of a kind fails with an error number, and all others work."""

    def __init__(self, operation: str, error: int = errno.EIO, *, nth: int = 1) -> None:
        self.operation = operation
        self.error = error
        self.nth = nth

    def about_to(self, operation: str) -> None:
        """Raise the OSError when its turn has come."""
        if operation == self.operation:
            self.nth -= 1
            if self.nth == 0:
                raise OSError(self.error, os.strerror(self.error))


class DribblingDisk(Disk):
    """A disk that takes only a few bytes with each write."""

    def __init__(self, sip: int) -> None:
        self.sip = sip

    def write(self, fd: int, block: bytes | memoryview) -> int:
        """Write a few bytes."""
        return super().write(fd, block[: self.sip])
