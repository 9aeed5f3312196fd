"""Be the one door through which every change to a file goes, so that tests can make any of them fail."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import suppress

# macOS has no fdatasync; its fsync does the same and a little more.
_flush_content = getattr(os, "fdatasync", os.fsync)


class Disk:
    """Every change that prloom makes to its files, one method each; names are relative to an open folder.

    `patience` is how many seconds one waits for a folder's lock.
    """

    patience = 10.0

    def create(self, name: str, folder: int, flags: int, mode: int) -> int:
        """Make a file and return its descriptor; an existing file is opened unless `flags` has O_EXCL."""
        return os.open(name, flags | os.O_CREAT, mode, dir_fd=folder)

    def write(self, fd: int, block: bytes | memoryview) -> int:
        """Write once and return the count of bytes, which a full disk makes smaller than the block without an error."""
        return os.write(fd, block)

    def truncate(self, fd: int, size: int) -> None:
        """Cut a file to a size in bytes."""
        os.ftruncate(fd, size)

    def fdatasync(self, fd: int) -> None:
        """Wait until a file's content is on the disk."""
        _flush_content(fd)

    def fsync(self, fd: int) -> None:
        """Wait until a file, or a folder's names, are on the disk."""
        os.fsync(fd)

    def rename(self, old: str, new: str, folder: int) -> None:
        """Give a file another name, replacing what has that name."""
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def link(self, old: str, new: str, folder: int) -> None:
        """Give a file a second name; the name must be free."""
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)

    def unlink(self, name: str, folder: int) -> None:
        """Take a name away."""
        os.unlink(name, dir_fd=folder)

    def mkdir(self, name: str, folder: int, mode: int) -> None:
        """Make a folder."""
        os.mkdir(name, mode, dir_fd=folder)

    def touch(self, name: str, folder: int, mtime: float | None = None) -> None:
        """Set a file's time of change, in seconds since the epoch; None is now."""
        os.utime(name, None if mtime is None else (mtime, mtime), dir_fd=folder, follow_symlinks=False)


class SharedDisk(Disk):
    """The disk of a program that must not wait long for one folder: an append takes under a millisecond."""

    patience = 1.0


REAL = Disk()
SHARED = SharedDisk()


def write_all(disk: Disk, fd: int, block: bytes) -> None:
    """Write the whole block, completing short writes; raise OSError when the disk takes no more."""
    rest = memoryview(block)
    while rest:
        count = disk.write(fd, rest)
        if count == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rest = rest[count:]


MANY = 16_384
"""Open files that a dispatcher asks the system for, as far as it may: a plan has a handful of folders open."""
_RESERVE = 64
"""Descriptors that are left for the work on the plans that are open: journals, hooks, agents, connections."""


def allow_many_files() -> None:
    """Raise this process's own limit, as far as it needs no more rights for that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        wanted = MANY
    else:
        wanted = min(hard, MANY)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def is_scarce(fd: int) -> bool:
    """Whether a descriptor that was just given out says that few are left: the system gives out the lowest number."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft != resource.RLIM_INFINITY and fd >= soft - min(_RESERVE, soft // 2)
