"""Lock a folder, waiting for a bounded time, without leaving lock files behind."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prloom import flock
from prloom.errors import StorageError
from prloom.storage import os_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prloom.storage.safe_dir import SafeDir


@contextmanager
def locked(folder: SafeDir, *, exclusive: bool = True, timeout: float | None = None) -> Iterator[None]:
    """Lock a folder, waiting at most `timeout` seconds; taking too long is a StorageError that names the holder.

    Without a time, the patience is that of the folder's disk.

    The lock is an flock on the folder itself, through a descriptor of its own: threads exclude one another as
    processes do, and the kernel gives it back when its holder is killed. It is not to be taken twice in one call chain.
    """
    try:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder.fd)
    except OSError as error:
        raise os_errors.failed("lock", folder.path, error) from error
    try:
        _wait(fd, folder.path, exclusive=exclusive, timeout=folder.disk.patience if timeout is None else timeout)
        yield
    finally:
        os.close(fd)


def _wait(fd: int, path: str, *, exclusive: bool, timeout: float) -> None:
    try:
        is_locked = flock.lock_within(fd, timeout, shared=not exclusive)
    except OSError as error:
        raise os_errors.failed("lock", path, error) from error
    if not is_locked:
        raise _busy(fd, path, timeout)


def _busy(fd: int, path: str, timeout: float) -> StorageError:
    pid = holder(fd)
    if pid is None:
        process = "another process"
    else:
        process = f"process {pid}"
    what = "check what it does, then try again"
    if pid is not None and _stopped(pid):
        process, what = f"{process}, which is stopped,", f"continue it with `kill -CONT {pid}`, or end it"
    return StorageError(f"{path} has been locked by {process} for more than {timeout:g} s; {what}")


def _stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal, or by a debugger, where the system says so (proc_pid_stat(5))."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 (pathlib costs start-up time)
            return file.read().rpartition(b")")[2].split()[0] in {b"T", b"t"}
    except (OSError, IndexError):
        return False


def holder(fd: int) -> int | None:
    """Return the process id that holds an flock on the file, where the system shows it (proc_locks(5)), or None."""
    status = os.fstat(fd)
    wanted = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        with open("/proc/locks", encoding="ascii") as table:  # noqa: PTH123 (pathlib costs start-up time)
            for row in table:
                fields = row.split()
                if len(fields) > 5 and fields[1] == "FLOCK" and fields[5] == wanted:  # noqa: PLR2004 (columns)
                    return int(fields[4])
    except (OSError, ValueError):
        pass
    return None
