"""A connection to one database: open its files safely, read at one moment, and write under the writers' lock."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from prloom.exchange.errors import OutcomeUnknownError, StoreBusyError, StoreError
from prloom.exchange.sqlite import schema
from prloom.exchange.sqlite.writer_lock import WriterLock

if TYPE_CHECKING:
    from collections.abc import Iterator

_BESIDE = ("", "-wal", "-shm", "-journal", "-lock")
_MODE = 0o600  # the files are their owner's alone
_PAGE = 1024  # bytes; what a claim changes is little, on a dozen pages, and of each page all is flushed
_LOG = 4 << 20  # bytes that are written before the log is begun anew: a long one is flushed slower, a short one oftener
_BUSY = 30  # seconds; SQLite's own wait, for a program that writes without our lock (a backup, a shell)


class SqliteConnection:
    """One connection, used by one thread at a time; it does not survive a fork."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._closed = False
        _check_files(path)
        self._db, self._writer_lock = _open_current(path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read what stood at one moment."""
        self._check_process()
        with self._lock:
            self._check_open()
            try:
                self._db.execute("BEGIN")
                yield self._db
            except sqlite3.Error as error:
                raise _store_error(self.path, error) from error
            finally:
                self._roll_back()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Write all of it, durably, or nothing; raises StoreBusyError, OutcomeUnknownError, or another StoreError."""
        self._check_process()
        with self._lock:
            self._check_open()
            self._writer_lock.acquire()
            try:
                # Immediate: a transaction that reads first and then writes fails where another one wrote between.
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._commit()
            except BaseException as error:
                self._roll_back()
                if isinstance(error, sqlite3.Error):
                    raise _store_error(self.path, error) from error
                raise
            finally:
                self._writer_lock.release()

    def notify(self) -> None:
        """Wake the listeners; this is a hint, so a failure does not matter."""
        with suppress(OSError):
            self._writer_lock.notify()

    def close(self) -> None:
        """Close the database; a second call does nothing."""
        with self._lock:
            self._closed = True
            self._writer_lock.close()
            if self._pid == os.getpid():
                self._db.close()

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise StoreError(f"{self.path} was opened by the parent process; open it again after a fork")

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path} was closed; open it again")

    def _roll_back(self) -> None:
        if self._db.in_transaction:  # SQLite does it by itself after some errors, such as a full disk
            self._db.execute("ROLLBACK")

    def _commit(self) -> None:
        try:
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_IOERR:
                raise OutcomeUnknownError(
                    f"{self.path}: {error} during a change, so it is unknown whether the change was saved; try again"
                ) from error
            raise


def _open_current(path: str) -> tuple[sqlite3.Connection, WriterLock]:
    """Return the database, created where it is missing, and upgraded where an older prloom made it.

    A file that is not an exchange is refused before a lock is put beside it.
    """
    if os.path.exists(path):  # noqa: PTH110 (pathlib costs start-up time)
        db, version = _open(path)
        if version == schema.VERSION:
            return db, _open_lock(path)
        db.close()
    lock = _open_lock(path)
    try:
        with lock.locked():
            _create(path)
            return _open_and_upgrade(path), lock
    except BaseException:
        lock.close()
        raise


def _open(path: str) -> tuple[sqlite3.Connection, int]:
    """Open the database, and return it with the version of its tables."""
    db = _connected(path)
    try:
        return db, schema.version_of(db, path)
    except sqlite3.Error as error:
        db.close()
        raise _store_error(path, error) from error
    except BaseException:
        db.close()
        raise


def _open_and_upgrade(path: str) -> sqlite3.Connection:
    """Open the database, and create or upgrade its tables; the writers' lock is held."""
    db, version = _open(path)
    try:
        if version == 0:
            db.execute(f"PRAGMA page_size = {_PAGE}")
            db.execute("PRAGMA journal_mode = WAL")
        if version < schema.VERSION:
            schema.upgrade(db, version)
    except sqlite3.Error as error:
        db.close()
        raise _store_error(path, error) from error
    return db


def _connected(path: str) -> sqlite3.Connection:
    try:
        db = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False, cached_statements=256)
        db.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut too
        (page,) = db.execute("PRAGMA page_size").fetchone()
        db.execute(f"PRAGMA wal_autocheckpoint = {_LOG // page}")
    except sqlite3.Error as error:
        raise _store_error(path, error) from error
    return db


def _store_error(path: str, error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the library's own errors have none
    if code == sqlite3.SQLITE_NOTADB:
        return StoreError(
            f"{path} is not an exchange ({error}); name another file, or move this one away: "
            "a new one is made then, without the messages that were in it"
        )
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return StoreBusyError(f"{path}: {error}; another program is writing to it; try again later")
    return StoreError(f"{path}: {error}")


def _check_files(path: str) -> None:
    """Raise StoreError where one of the database's files is a link, a pipe, or anything else but a regular file."""
    for suffix in _BESIDE:
        try:
            found = os.lstat(path + suffix)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"{path + suffix} cannot be reached ({error.strerror}); name another file") from error
        if not stat.S_ISREG(found.st_mode):
            raise StoreError(f"{path + suffix} is a link or not a regular file; remove it, or name another database")


def _create(path: str) -> None:
    """Create an empty file where there is none; SQLite gives the files beside it the same mode."""
    # Closing a descriptor of the database drops all locks that SQLite has on it in this process; so only SQLite opens
    # an existing one.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.close(os.open(path, flags, _MODE))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(f"{path} cannot be made ({error.strerror}); name another file") from error


def _open_lock(path: str) -> WriterLock:
    """Return the writers' lock, whose file is beside the database."""
    try:
        return WriterLock(path + "-lock")
    except OSError as error:
        raise StoreError(
            f"{path}-lock cannot be made ({error.strerror}); name another file for the database"
        ) from error
