"""Reach the database's files: they are the owner's alone, and no links."""

from __future__ import annotations

import os
import stat

from prloom.exchange.errors import StoreError
from prloom.exchange.sqlite.writer_lock import WriterLock

_BESIDE = ("", "-wal", "-shm", "-journal", "-lock")
_MODE = 0o600


def check(path: str) -> None:
    """Raise StoreError where a link, a pipe, or anything else that is no file stands in the place of one."""
    for suffix in _BESIDE:
        try:
            found = os.lstat(path + suffix)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"{path + suffix} cannot be reached ({error.strerror}); name another file") from error
        if not stat.S_ISREG(found.st_mode):
            raise StoreError(f"{path + suffix} is a link or not a regular file; remove it, or name another database")


def exists(path: str) -> bool:
    """Whether there is a file; it was checked to be one."""
    return os.path.exists(path)  # noqa: PTH110 (pathlib costs start-up time)


def make(path: str) -> None:
    """Make an empty file where there is none; SQLite gives what it puts beside it the same mode."""
    # Closing a descriptor of the database drops all locks that SQLite has on it in this process; so it is opened by
    # nobody but SQLite, and this one is sure to be new.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.close(os.open(path, flags, _MODE))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(f"{path} cannot be made ({error.strerror}); name another file") from error


def turn(path: str) -> WriterLock:
    """Return the turn at writing to the database, whose file stands beside it."""
    try:
        return WriterLock(path + "-lock")
    except OSError as error:
        raise StoreError(
            f"{path}-lock cannot be made ({error.strerror}); name another file for the database"
        ) from error
