"""Let one dispatcher have the repository, and let other commands read which one it is."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from prloom.errors import AlreadyRunningError, StorageError, UnsafePathError
from prloom.model.own_folder import DISPATCHER_LOCK
from prloom.model.record import Timestamp
from prloom.storage import json_codec, os_errors

if TYPE_CHECKING:
    from filelock import FileLock

    from prloom.storage.safe_dir import SafeDir


# Beside the lock and not in it: older versions of filelock empty the lock file when a second dispatcher tries.
OWNER = "dispatcher.owner.json"
_LIMIT = 64 * 1024
_MOMENT = 3.0  # seconds that a quiet holder may need


class LockOwner(Struct, frozen=True):
    """The dispatcher that has, or last had, the repository; `started_at` is ISO 8601 in UTC, for people.

    One that is `alive` is `certain` if its start time says so, and not only that there is a process with its pid.
    """

    pid: int
    started_at: str
    last_tick_at: Timestamp
    alive: bool
    certain: bool = False


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
            began = None
            if not stopped:
                began = started(pid)
            last_tick = Timestamp.of(datetime.fromtimestamp(found.st_mtime, UTC))
            return LockOwner(pid, since, last_tick, alive=began in {start, 0}, certain=bool(began) and began == start)
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

    People remove a lock file that they take for a stale one. So a lock that is free is not taken from an owner that is
    certainly alive, and the owner takes its lock again where the file is no longer the one that it locked.
    """

    def __init__(self, folder: SafeDir, *, quiet: bool = False) -> None:
        self.folder = folder
        self.quiet = quiet
        self._lock: FileLock | None = None
        self._file: os.stat_result | None = None  # the lock file that is locked
        self._named: os.stat_result | None = None  # the owner file that was written
        self._since = ""

    def acquire(self) -> None:
        """Take the lock, or raise AlreadyRunningError that names the holder; only a quiet holder is waited for."""
        self._lock = self._take()
        self._file = self.folder.stat(DISPATCHER_LOCK)
        self._since = str(Timestamp.of(datetime.now(UTC)))
        if self.quiet:
            return
        try:
            with suppress(UnsafePathError):  # each tick says so, and the lock alone keeps others away
                self._publish(stopped=False)
        except StorageError:
            self.release()
            raise

    def touch(self) -> None:
        """Record the time of a tick; raises AlreadyRunningError where another process has the repository now."""
        try:
            is_named = _is_same(self.folder.stat(OWNER), self._named)
        except UnsafePathError:
            self._keep()
            raise
        if is_named:
            try:
                self.folder.disk.touch(OWNER, self.folder.fd)
            except FileNotFoundError:
                is_named = False
            except OSError as error:
                raise os_errors.failed("touch", self.folder.where(OWNER), error) from error
        self._keep()
        if not is_named:
            self._publish(stopped=False)

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

    def _take(self) -> FileLock:
        # Only the dispatcher needs the library, and importing it costs 40 ms.
        from filelock import FileLock, Timeout  # noqa: PLC0415

        # A link or a pipe in its place is refused here.
        if (fd := self.folder.open_to_read(DISPATCHER_LOCK)) is not None:
            os.close(fd)
        path = self.folder.where(DISPATCHER_LOCK)
        lock = FileLock(path, mode=0o600, thread_local=False)
        try:
            try:
                lock.acquire(timeout=0)
            except Timeout:
                holder = readable_owner(self.folder)
                lock.acquire(timeout=0 if holder is not None and holder.alive else _MOMENT)
        except Timeout:
            raise AlreadyRunningError(self._in_use_message(path)) from None
        except OSError as error:
            raise os_errors.failed("lock", path, error) from error
        if _other(self.folder) is not None:
            lock.release()
            raise AlreadyRunningError(self._in_use_message(path))
        return lock

    def _keep(self) -> None:
        """Take the lock again if its file was removed or replaced; costs one look at the file otherwise."""
        if self._lock is None or _is_same(self.folder.stat(DISPATCHER_LOCK), self._file):
            return
        path = self.folder.where(DISPATCHER_LOCK)
        try:
            lock = self._take()
        except AlreadyRunningError as error:
            other, holder = readable_owner(self.folder), "another process"
            if other is not None and other.alive and other.pid != os.getpid():
                holder = f"another dispatcher, process {other.pid}, since {other.started_at},"
            raise AlreadyRunningError(
                f"{path} was removed or replaced while this dispatcher ran, and {holder} has the repository now; "
                "this one ends"
            ) from error
        self._lock.release()
        self._lock, self._file = lock, self.folder.stat(DISPATCHER_LOCK)
        import logging  # noqa: PLC0415 - commands that only look need none

        logging.getLogger(__name__).warning(
            "%s was removed or replaced; the dispatcher has locked it again: leave it, the system frees it at the end",
            path,
        )

    def _stop(self) -> None:
        found = self.folder.stat(OWNER)
        if found is not None and _is_same(found, self._named):
            self._publish(stopped=True)
            self.folder.disk.touch(OWNER, self.folder.fd, found.st_mtime)

    def _publish(self, *, stopped: bool) -> None:
        pid = os.getpid()
        about = {"pid": pid, "startTime": started(pid) or 0, "startedAt": self._since, "stopped": stopped}
        self.folder.replace(OWNER, json_codec.encode(about, pretty=True))
        self._named = self.folder.stat(OWNER)

    def _in_use_message(self, path: str) -> str:
        holder = readable_owner(self.folder)
        if holder is None or not holder.alive:
            return f"another process holds {path}; wait for it to end, or find it with `fuser {path}`"
        return (
            f"a dispatcher already runs here: process {holder.pid}, since {holder.started_at}; "
            f"see what it does with `prloom status`, or end it with `kill {holder.pid}`"
        )


def readable_owner(folder: SafeDir) -> LockOwner | None:
    """Return the owner, or None where something else is in its file's place."""
    with suppress(StorageError):
        return owner(folder)
    return None


def _other(folder: SafeDir) -> LockOwner | None:
    """Return the dispatcher in another process that certainly has the repository, whatever the lock says."""
    found = readable_owner(folder)
    if found is not None and found.certain and found.pid != os.getpid():
        return found
    return None


def _is_same(found: os.stat_result | None, known: os.stat_result | None) -> bool:
    return found is not None and known is not None and os.path.samestat(found, known)
