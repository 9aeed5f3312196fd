"""Reach one database: open it, read from it at one moment, and write to it when it is one's turn."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prloom.exchange.errors import OutcomeUnknownError, StoreBusyError, StoreError
from prloom.exchange.sqlite import files, schema

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUSY = 30  # seconds; SQLite's own wait, for whoever writes without taking turns (a backup, a shell)


class Connection:
    """One connection, used by one thread at a time; it does not survive a fork."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._pid = os.getpid()
        self._lock = threading.RLock()
        files.check(path)
        if os.path.exists(path) and os.stat(path).st_size > 0:  # noqa: PTH110, PTH116 (pathlib costs start-up time)
            _open(path, make=False).close()  # what is no exchange is refused before anything is put beside it
        self._turn = files.turn(path)
        try:
            with self._turn.held():
                files.make(path)
                self._db = _open(path, make=True)
        except BaseException:
            self._turn.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read what stood at one moment."""
        with self._mine():
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Write all of it, durably, or nothing; raises StoreBusyError and StoreError, OutcomeUnknownError."""
        with self._mine(), self._turn.held():
            # Immediate: a transaction that reads first and then writes fails where another one wrote between.
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._commit()

    def poke(self) -> None:
        """Have the listeners look."""
        self._turn.poke()

    def close(self) -> None:
        """Let go of the database; a second call does nothing."""
        with self._lock:
            self._turn.close()
            if self._pid == os.getpid():
                self._db.close()

    @contextmanager
    def _mine(self) -> Iterator[None]:
        if self._pid != os.getpid():
            raise StoreError(f"{self.path} was opened by the parent process; open it anew after a fork")
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise _told(self.path, error) from error

    def _commit(self) -> None:
        try:
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_IOERR:
                raise OutcomeUnknownError(
                    f"{self.path}: {error} while a change was made, which may stand or not; do the same again"
                ) from error
            raise


def _open(path: str, *, make: bool) -> sqlite3.Connection:
    try:
        db = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False, cached_statements=256)
    except sqlite3.Error as error:
        raise _told(path, error) from error
    try:
        if not schema.check(db, path) and make:
            schema.make(db)
        if make:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut too
    except BaseException:
        db.close()
        raise
    return db


def _told(path: str, error: sqlite3.Error) -> StoreError:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return StoreBusyError(f"{path}: {error}; another program writes to it: see which, and try again")
    return StoreError(f"{path}: {error}")
