"""Reach one exchange: reconnect, do again what did not happen, and find out what became of a lost commit."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

import psycopg
from psycopg.errors import DeadlockDetected, SerializationFailure, UniqueViolation

from prloom.exchange.errors import OutcomeUnknownError, StoreBusyError, StoreError
from prloom.exchange.postgres import session
from prloom.exchange.postgres.transaction import Lock, Row, Transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prloom.exchange.postgres.address import Address

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE = timedelta(seconds=30)
_CLASHES = (UniqueViolation, DeadlockDetected, SerializationFailure)
_MOST_CLASHES = 50  # each means that somebody else got on
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0  # seconds


class Connection:
    """One session at a time, used by one thread at a time, made anew when it is lost; it does not survive a fork."""

    def __init__(self, address: Address, *, clock: Callable[[], datetime] | None, patience: timedelta) -> None:
        """Connect; raises StoreError at once where that is not possible."""
        self.address = address
        self._clock = clock
        self._patience = patience.total_seconds()
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._closed = False
        try:
            self._db: psycopg.Connection | None = session.start(address)
        except psycopg.Error as error:
            raise session.told(address, error) from error

    def write(self, work: Callable[[Transaction], T], lock: Lock = "shared") -> T:
        """Do all of the work, durably, or nothing; it may be done several times, until it stands.

        Raises StoreBusyError where nothing was changed in time, OutcomeUnknownError where that cannot be told.
        """
        return self._until_done(lambda db: self._write(db, work, lock))

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Read what stood at one moment."""
        return self._until_done(lambda db: self._read(db, work, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))

    def read_in_order(self, work: Callable[[Transaction], T]) -> T:
        """Read while nobody publishes; for what takes no time."""

        def locked(tx: Transaction) -> T:
            tx.ask("SELECT pg_advisory_xact_lock(%s)", self.address.key("order"))
            return work(tx)

        return self._until_done(lambda db: self._read(db, locked, "BEGIN READ ONLY"))

    def once(self, statement: str, *values: object) -> list[Row]:
        """Do one statement that is a transaction of its own, and that does no harm where it is done twice."""
        return self._until_done(lambda db: db.execute(statement.encode(), values, binary=True).fetchall())

    def notify(self) -> None:
        """Have the listeners look."""
        self.once("SELECT pg_notify(%s, '')", self.address.channel)

    def close(self) -> None:
        """Let go of the server; a second call does nothing."""
        with self._lock:
            self._closed = True
            db, self._db = self._db, None
            if db is not None and self._pid == os.getpid():
                db.close()

    @contextmanager
    def _mine(self) -> Iterator[None]:
        if self._pid != os.getpid():
            raise StoreError(f"{self.address.shown} was opened by the parent process; open it anew after a fork")
        with self._lock:
            if self._closed:
                raise StoreError(f"{self.address.shown} was closed; open it anew")
            yield

    def _until_done(self, attempt: Callable[[psycopg.Connection], T]) -> T:
        with self._mine():
            end: float | None = None
            clashes = 0
            while True:
                db = self._reach(end)
                try:
                    return attempt(db)
                except psycopg.Error as error:
                    if session.lost(db, error):
                        end = end or time.monotonic() + self._patience
                        self._drop(db, error)
                    elif isinstance(error, _CLASHES) and clashes < _MOST_CLASHES:
                        clashes += 1
                        time.sleep(random.random() * 0.002 * clashes)  # noqa: S311 (no secret)
                    else:
                        raise session.told(self.address, error) from error

    def _write(self, db: psycopg.Connection, work: Callable[[Transaction], T], lock: Lock) -> T:
        transaction = Transaction(db, self._clock)
        done: list[T] = []
        try:
            with db.pipeline():
                transaction.begin(lock, self.address.key("order"))
                done.append(work(transaction))
                transaction.commit(self.address.channel)
        except psycopg.Error as error:
            if transaction.committed:
                return done[0]  # only its listeners were not told; they look in time
            if session.lost(db, error) and transaction.committing and self._stands(db, transaction, error):
                return done[0]
            _roll_back(db)
            raise
        except BaseException:
            _roll_back(db)
            raise
        return done[0]

    def _read(self, db: psycopg.Connection, work: Callable[[Transaction], T], begin: str) -> T:
        try:
            with db.pipeline():
                db.execute(begin.encode())
                done = work(Transaction(db, self._clock))
                db.execute("COMMIT")
        except BaseException:
            _roll_back(db)
            raise
        return done

    def _stands(self, db: psycopg.Connection, transaction: Transaction, error: psycopg.Error) -> bool:
        """Find out whether a transaction was committed whose connection was lost before the answer."""
        if transaction.number is None:
            return False  # it had nothing to commit
        self._drop(db, error)
        end = time.monotonic() + self._patience
        while time.monotonic() < end:
            status = self._status(transaction.number, end)
            if status in {"committed", "aborted"}:
                return status == "committed"
            if status is None:
                break
            time.sleep(_FIRST_PAUSE)
        raise OutcomeUnknownError(
            f"{self.address.shown}: the connection was lost while a change was made, which may stand or not; "
            "do the same again"
        ) from error

    def _status(self, number: str, end: float) -> str | None:
        """Ask what became of a transaction; None where nobody can say (it was too long ago, the server is away)."""
        db = None
        try:
            db = self._reach(end)
            row = db.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone()
        except StoreError:
            return None
        except psycopg.Error as error:
            if db is None or not session.lost(db, error):
                return None
            self._drop(db, error)
            return "unreachable"
        return None if row is None or row[0] is None else str(row[0])

    def _reach(self, end: float | None) -> psycopg.Connection:
        """Return the session, or a new one, trying until then."""
        pause = _FIRST_PAUSE
        while self._db is None:
            try:
                self._db = session.start(self.address)
                log.info("connected to %s again", self.address.shown)
            except psycopg.Error as error:
                if end is None:
                    end = time.monotonic() + self._patience
                if time.monotonic() >= end:
                    raise StoreBusyError(
                        f"{session.told(self.address, error)}; it was tried for {self._patience:g} s, nothing was "
                        "changed: see to the server, and try again"
                    ) from error
                time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 (no secret)
                pause = min(pause * 2, _LONGEST_PAUSE)
        return self._db

    def _drop(self, db: psycopg.Connection, error: psycopg.Error) -> None:
        if self._db is db:
            self._db = None
            log.warning(
                "lost the connection to %s (%s); trying for %g s to get it back",
                self.address.shown,
                self.address.without_password(str(error)),
                self._patience,
            )
        with suppress(psycopg.Error):
            db.close()


def _roll_back(db: psycopg.Connection) -> None:
    if not db.closed and db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        with suppress(psycopg.Error):
            db.execute("ROLLBACK")
