"""Let one dispatcher have the repository, and let other commands read which one it is, and its errors."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Self

from prloom.errors import AlreadyRunningError, StorageError
from prloom.model.record import Timestamp
from prloom.storage import json_codec, os_errors

if TYPE_CHECKING:
    from filelock import FileLock

    from prloom.storage.safe_dir import SafeDir


LOCK = "dispatcher.lock"
# Beside the lock and not in it: older versions of filelock empty the lock file when a second dispatcher tries.
OWNER = "dispatcher.owner.json"
_LIMIT = 64 * 1024
_MOMENT = 1.0  # seconds that a quiet holder may need


class LockOwner(NamedTuple):
    """The dispatcher that has, or last had, the repository; `started_at` is ISO 8601 in UTC, for people."""

    pid: int
    started_at: str
    last_tick_at: Timestamp
    alive: bool


def owner(folder: SafeDir) -> LockOwner | None:
    """Return the dispatcher that has or last had the repository of this `prloom/.local`, or None; takes no lock."""
    found = folder.stat(OWNER)
    if found is None:
        content = None
    else:
        content = folder.read_bytes(OWNER, limit=_LIMIT)
    if found is None or content is None:
        return None
    match json_codec.decode(content):
        case {
            "pid": int(pid),
            "startTime": int(start),
            "startedAt": str(since),
            "stopped": bool(stopped),
        }:
            alive = not stopped and started(pid) in {start, 0}
            return LockOwner(pid, since, Timestamp.of(datetime.fromtimestamp(found.st_mtime, UTC)), alive)
    return None


def started(pid: int) -> int | None:
    """Return when a process began, in clock ticks since the machine did; None if there is none, 0 where it is unknown.

    With the pid this names a process for good: the system gives a pid out again, but not with the same beginning.
    """
    if pid <= 0:
        return None
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 (pathlib costs start-up time)
            # proc_pid_stat(5): the second field is the program's name and may hold anything, so count behind its end.
            fields = file.read().rpartition(b")")[2].split()
    except FileNotFoundError:
        return None if os.path.exists("/proc/self/stat") else _probe(pid)  # noqa: PTH110 (likewise)
    except OSError:
        return _probe(pid)
    if fields[0] in {b"Z", b"X"}:
        return None
    return int(fields[19])


def is_suspended(pid: int) -> bool:
    """Whether a process was stopped by a signal, such as SIGSTOP, and waits to be continued."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 (likewise)
            return file.read().rpartition(b")")[2].split()[:1] == [b"T"]
    except OSError:
        return False


def _probe(pid: int) -> int | None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return 0
    return 0


class DispatcherLock:
    """The right to dispatch for one repository, held until `release` or the process's end.

    The lock is `dispatcher.lock`. `dispatcher.owner.json` beside it names its holder, and that file's time of change is
    the last tick. A `quiet` lock writes no owner: other commands use it to keep dispatchers away for a moment.
    """

    def __init__(self, folder: SafeDir, *, quiet: bool = False) -> None:
        self.folder = folder
        self.quiet = quiet
        self._lock: FileLock | None = None
        self._since = ""

    def acquire(self) -> None:
        """Take the lock, or raise AlreadyRunningError that names the holder; only a quiet holder is waited for."""
        # Only the dispatcher needs the library, and importing it costs 40 ms.
        from filelock import FileLock, Timeout  # noqa: PLC0415

        if (fd := self.folder.open_to_read(LOCK)) is not None:  # a link or a pipe in its place is refused here
            os.close(fd)
        path = self.folder.where(LOCK)
        lock = FileLock(path, mode=0o600, thread_local=False)
        try:
            try:
                lock.acquire(timeout=0)
            except Timeout:
                holder = owner(self.folder)
                lock.acquire(timeout=0 if holder is not None and holder.alive else _MOMENT)
        except Timeout:
            raise AlreadyRunningError(self._in_use_message(path)) from None
        except OSError as error:
            raise os_errors.failed("lock", path, error) from error
        self._lock = lock
        self._since = str(Timestamp.of(datetime.now(UTC)))
        if self.quiet:
            return
        try:
            self._publish(stopped=False)
        except StorageError:
            self.release()
            raise

    def touch(self) -> None:
        """Record the time of a tick."""
        try:
            self.folder.disk.touch(OWNER, self.folder.fd)
        except FileNotFoundError:
            self._publish(stopped=False)
        except OSError as error:
            raise os_errors.failed("touch", self.folder.where(OWNER), error) from error

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        try:
            if not self.quiet:
                with suppress(StorageError, OSError):  # that the process is no more says it as well
                    self._stop()
        finally:
            lock.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _stop(self) -> None:
        found = self.folder.stat(OWNER)
        if found is not None:
            self._publish(stopped=True)
            self.folder.disk.touch(OWNER, self.folder.fd, found.st_mtime)

    def _publish(self, *, stopped: bool) -> None:
        pid = os.getpid()
        about = {"pid": pid, "startTime": started(pid) or 0, "startedAt": self._since, "stopped": stopped}
        self.folder.replace(OWNER, json_codec.encode(about, pretty=True))

    def _in_use_message(self, path: str) -> str:
        holder = owner(self.folder)
        if holder is None or not holder.alive:
            return f"another process holds {path}; wait for it to end, or find it with `fuser {path}`"
        return (
            f"a dispatcher already runs here: process {holder.pid}, since {holder.started_at}; "
            f"see what it does with `prloom status`, or end it with `kill {holder.pid}`"
        )


HEALTH = "dispatcher.trouble.json"
_ROOM = 4096
_LONGEST = 3000  # characters of a text; escaped they may need more room than there is, and then it is shortened


class HealthFile:
    """The error of a dispatcher as a whole, for other commands to read while it runs.

    The file gets its room when this is made, and is written over in place: that needs no space on a full disk, no quota
    and no free descriptor. It is not flushed, for it means nothing once the dispatcher is gone. Where even that cannot
    be done (a file system that is read-only), readers look at the file system themselves.
    """

    def __init__(self, folder: SafeDir) -> None:
        """Make the file; raises StorageError."""
        folder.replace(HEALTH, _block(None), lasting=False)
        self._fd = os.open(HEALTH, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.fd)
        self._written: str | None = None

    def report(self, error: str | None) -> None:
        """Report the error for other commands to read, or that there is none; an unchanged one costs nothing."""
        if error != self._written:
            with suppress(OSError):
                os.pwrite(self._fd, _block(error), 0)
                self._written = error

    def close(self) -> None:
        """Write that there is no error."""
        self.report(None)
        os.close(self._fd)


def read_health(folder: SafeDir) -> str | None:
    """Return the error that was written last; None if there is none, or it is unreadable. Raises StorageError."""
    content = folder.read_bytes(HEALTH)
    match None if content is None else json_codec.decode(content):
        case {"trouble": str(trouble)}:
            return trouble
    return None


def file_system_error(folder: SafeDir) -> str | None:
    """Return why nothing can be written where a folder is, as far as its file system says."""
    try:
        found = os.fstatvfs(folder.fd)
    except OSError:
        return None
    if found.f_flag & os.ST_RDONLY:
        return f"nothing can be written in {folder.path}: the file system is read-only; make it writable"
    if found.f_blocks and not found.f_bavail:
        return f"nothing can be written in {folder.path}: no space is left on the device; free some space"
    return None


def _block(error: str | None) -> bytes:
    if error is None:
        text = None
    else:
        text = error[:_LONGEST]
    block = json_codec.encode({"trouble": text})
    while len(block) > _ROOM:
        text = (text or "")[: len(text or "") // 2]
        block = json_codec.encode({"trouble": text})
    return block.ljust(_ROOM)
