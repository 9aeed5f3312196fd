"""Rewrite one file of the repository: whole or not at all, through no symbolic link, and nowhere else."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from prloom.api import UnsafePathError

_NOT_HERE = (("prloom", ".local"), ("prloom", "plugins"), ("prloom.toml",))
_LARGEST = 4 * 1024 * 1024  # bytes; a file that agents read is far smaller
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_one_at_a_time = threading.Lock()  # hooks of several plans run side by side in the plugin's one process


def parts(name: str) -> tuple[str, ...]:
    """Return the parts of a path in the repository; raises ValueError for one that leads where notes have no place."""
    path = Path(name)
    folded = tuple(part.casefold() for part in path.parts)
    if not name.isprintable() or not path.parts or path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name!r} is not a path in the repository; write one such as 'AGENTS.md'")
    if ".git" in folded or any(folded[: len(place)] == place for place in _NOT_HERE):
        raise ValueError(f"{name!r} is not a file for notes; name a file that agents read, such as 'AGENTS.md'")
    return path.parts


def rewrite(root: Path, name: str, change: Callable[[str], str]) -> None:
    """Replace the file's text by what `change` makes of it ("" where there is no file yet).

    Raises UnsafePathError where the path leads through a symbolic link or to something that is no text file.
    """
    *folders, last = parts(name)
    with _one_at_a_time, _opened(root, folders, name) as folder:
        before, mode = _read(folder, last, name)
        after = change(before)
        if after != before:
            _write(folder, last, after.encode(), mode)


@contextmanager
def _opened(root: Path, folders: Sequence[str], name: str) -> Iterator[int]:
    """Yield the descriptor of the folder in which the file is; folders that are missing are made."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
            inner = _open(part, _FOLDER, folder, name)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _open(part: str, flags: int, folder: int, name: str) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise UnsafePathError(f"{name}: {part} is a symbolic link or not a folder; name the real path") from error
        raise


def _read(folder: int, last: str, name: str) -> tuple[str, int]:
    """Return the file's text and its mode."""
    try:
        # Not blocking: a pipe without a writer would keep us for ever.
        descriptor = _open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, folder, name)
    except FileNotFoundError:
        return "", 0o644
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise UnsafePathError(f"{name} is not a file, or is too large for a file that agents read")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read().decode("utf-8"), stat.S_IMODE(found.st_mode)
    except UnicodeDecodeError as error:
        raise UnsafePathError(f"{name} is not UTF-8, and writing to it would damage it; save it as UTF-8") from error
    finally:
        os.close(descriptor)


def _write(folder: int, last: str, content: bytes, mode: int) -> None:
    """Write beside the file, and let that take its place once it is on disk."""
    beside = f".{last}.prloom"
    with suppress(FileNotFoundError):  # left by a crash
        os.unlink(beside, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(beside, flags, mode, dir_fd=folder), "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, last, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)
