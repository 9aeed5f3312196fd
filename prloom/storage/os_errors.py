"""Say what the system refused to do with a file, where, and what to do now."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from prloom.errors import StorageError, UnsafePathError

if TYPE_CHECKING:
    from collections.abc import Iterator

_WHAT_NOW = {
    errno.ENOSPC: "free some space and try again",
    errno.EDQUOT: "free some of your quota and try again",
    errno.EFBIG: "raise the file size limit (`ulimit -f`) and try again",
    errno.EACCES: "check who owns it and its permissions",
    errno.EPERM: "check who owns it and its permissions",
    errno.EROFS: "make the file system writable",
    errno.EMFILE: "raise the limit of open files (`ulimit -n`)",
    errno.ENFILE: "raise the system's limit of open files",
    errno.ENOMEM: "close other programs, or give prloom more memory",
    errno.EIO: "check the disk (`dmesg`), then start prloom again",
    errno.ENOENT: "it was removed while prloom ran; start prloom again",
    errno.ENAMETOOLONG: "choose a shorter name",
}
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a pipe",
}
# What the kernel answers when O_NOFOLLOW met a link or when the thing is no file that can be opened so.
_NOT_PLAIN = frozenset({errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EOPNOTSUPP})


class Opened(Protocol):
    """An open folder, as far as an error names it."""

    @property
    def fd(self) -> int:
        """Its descriptor."""

    @property
    def path(self) -> str:
        """Where it is, in words."""

    def where(self, name: str) -> str:
        """Return where a thing in it is, in words."""


def failed(doing: str, path: str, error: OSError) -> StorageError:
    """Return the error that says what failed, where, and what to do about it."""
    if error.errno:
        reason = os.strerror(error.errno)
    else:
        reason = str(error)
    advice = _WHAT_NOW.get(error.errno or 0, "check the path and its permissions")
    return StorageError(f"cannot {doing} {path}: {reason}; {advice}")


def unsafe(folder: Opened, name: str) -> UnsafePathError:
    """Return the error about a thing in a folder that is not what it should be."""
    kind = "of an unknown kind"
    try:
        mode = os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_mode
    except OSError:
        pass
    else:
        kind = _KINDS.get(stat.S_IFMT(mode), "a device or a socket")
    return UnsafePathError(
        f"{folder.where(name)} is {kind}, and prloom does not use it; "
        "find out what created it, move it away, and try again"
    )


def refused(doing: str, folder: Opened, name: str, error: OSError) -> StorageError:
    """Return the error that says what the system refused to do with a thing in a folder."""
    if error.errno in _NOT_PLAIN:
        return unsafe(folder, name)
    return failed(doing, folder.where(name), error)


@contextmanager
def translated(doing: str, folder: Opened, name: str | None = None, *, missing_too: bool = True) -> Iterator[None]:
    """Turn the system's errors into StorageErrors; without `missing_too`, FileNotFoundError stays as it is."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not missing_too:
            raise
        if name is None:
            raise failed(doing, folder.path, error) from error
        raise refused(doing, folder, name, error) from error
