"""Read a file that a person keeps where prloom looks for it; a pipe or a device in its place is an error."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read(path: Path, *, limit: int | None = None) -> bytes:
    """Return the content of a regular file, or its first `limit` bytes; a symbolic link to one is followed.

    Raises OSError, whose `strerror` says what is wrong, for anything else.
    """
    _check(path, path.stat().st_mode)  # first, for some devices act when they are opened
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(opened, "rb") as file:
        _check(path, os.fstat(opened).st_mode)
        return file.read(limit)


def _check(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "It is not a regular file", str(path))
