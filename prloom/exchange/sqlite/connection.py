"""Reach one database: open it, read from it at one moment, and write to it when it is one's turn."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from prloom.exchange.errors import OutcomeUnknownError, StoreBusyError, StoreError
from prloom.exchange.sqlite import files, schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prloom.exchange.sqlite.writer_lock import WriterLock

_PAGE = 1024  # bytes; what a claim changes is little, on a dozen pages, and of each page all is flushed
_LOG = 4 << 20  # bytes that are written before the log is begun anew: a long one is flushed slower, a short one oftener
_BUSY = 30  # seconds; SQLite's own wait, for whoever writes without taking turns (a backup, a shell)


class SqliteConnection:
    """One connection, used by one thread at a time; it does not survive a fork."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._closed = False
        files.check(path)
        self._db, self._turn = _reached(path)

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
                raise _told(self.path, error) from error
            finally:
                self._roll_back()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Write all of it, durably, or nothing; raises StoreBusyError, OutcomeUnknownError, or another StoreError."""
        self._check_process()
        with self._lock:
            self._check_open()
            self._turn.take()
            try:
                # Immediate: a transaction that reads first and then writes fails where another one wrote between.
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._commit()
            except BaseException as error:
                self._roll_back()
                if isinstance(error, sqlite3.Error):
                    raise _told(self.path, error) from error
                raise
            finally:
                self._turn.give_back()

    def notify(self) -> None:
        """Have the listeners look; it is a hint, so that it fails is nobody's trouble."""
        with suppress(OSError):
            self._turn.notify()

    def close(self) -> None:
        """Let go of the database; a second call does nothing."""
        with self._lock:
            self._closed = True
            self._turn.close()
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


def _reached(path: str) -> tuple[sqlite3.Connection, WriterLock]:
    """Return the database, made where it is missing, and brought up where an older prloom made it.

    What is not an exchange is refused before a lock is put beside it.
    """
    if files.exists(path):
        db, version = _open(path)
        if version == schema.VERSION:
            return db, files.turn(path)
        db.close()
    turn = files.turn(path)
    try:
        with turn.locked():
            files.make(path)
            return _brought_up(path), turn
    except BaseException:
        turn.close()
        raise


def _open(path: str) -> tuple[sqlite3.Connection, int]:
    """Open the database, and return it with the version of its tables."""
    db = _connected(path)
    try:
        return db, schema.version_of(db, path)
    except sqlite3.Error as error:
        db.close()
        raise _told(path, error) from error
    except BaseException:
        db.close()
        raise


def _brought_up(path: str) -> sqlite3.Connection:
    """Open the database and see to its tables; it is this process's turn to write."""
    db, version = _open(path)
    try:
        if version == 0:
            db.execute(f"PRAGMA page_size = {_PAGE}")
            db.execute("PRAGMA journal_mode = WAL")
        if version < schema.VERSION:
            schema.bring_up(db, version)
    except sqlite3.Error as error:
        db.close()
        raise _told(path, error) from error
    return db


def _connected(path: str) -> sqlite3.Connection:
    try:
        db = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False, cached_statements=256)
        db.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut too
        (page,) = db.execute("PRAGMA page_size").fetchone()
        db.execute(f"PRAGMA wal_autocheckpoint = {_LOG // page}")
    except sqlite3.Error as error:
        raise _told(path, error) from error
    return db


def _told(path: str, error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the library's own errors have none
    if code == sqlite3.SQLITE_NOTADB:
        return StoreError(f"{path} is not an exchange ({error}); name another file")
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return StoreBusyError(f"{path}: {error}; another program is writing to it; try again later")
    return StoreError(f"{path}: {error}")
