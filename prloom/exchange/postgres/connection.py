"""The connection to one exchange: reconnect, and repeat what was not done, or may not have been."""

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
from psycopg.errors import DeadlockDetected, InvalidSqlStatementName, SerializationFailure, UniqueViolation

from prloom.exchange.errors import OutcomeUnknownError, StoreBusyError, StoreError
from prloom.exchange.message import new_id
from prloom.exchange.postgres import listener, open_session, session, transaction
from prloom.exchange.postgres.transaction import DbRow, Lock, SessionId, Transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prloom.exchange.postgres.address import Address

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE = timedelta(seconds=30)
_CLASHES = (UniqueViolation, DeadlockDetected, SerializationFailure, InvalidSqlStatementName)
_MOST_CLASHES = 50  # each means that another client succeeded


class PostgresConnection:
    """One session at a time, used by one thread at a time, replaced when it is lost; it does not survive a fork."""

    def __init__(self, address: Address, *, clock: Callable[[], datetime] | None, patience: timedelta) -> None:
        """Connect; raises StoreError where that is not possible, at once or (see `open_session`) after `patience`."""
        self.address = address
        self._clock = clock
        self._patience = patience.total_seconds()
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._closed = False
        self._notifying = False
        self._db: psycopg.Connection | None = open_session.open_session(address, self._prepare, patience)

    def write(self, work: Callable[[Transaction], T], lock: Lock = "shared") -> T:
        """Do all of the work, durably, or nothing; repeat it where the connection is lost.

        Where that happened in a commit, the work may be done already: then `Transaction.repeated` is set, and the work
        checks. (The server's answer about the lost transaction's number is of no use: after a crash it reuses numbers
        that it had not written down.) Raises StoreBusyError where the server stayed away, and OutcomeUnknownError where
        it did so after a commit.
        """
        return self._retry(lambda db, repeated: self._write(db, work, lock, repeated=repeated))

    def write_at_once(self, work: Callable[[Transaction], T]) -> T:
        """Do work of one statement, which is a transaction by itself; otherwise as `write`."""
        return self._retry(lambda db, repeated: self._write_at_once(db, work, repeated=repeated))

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Read the state of one moment."""
        return self._retry(lambda db, _: self._read(db, work, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))

    def read_in_order(self, work: Callable[[Transaction], T]) -> T:
        """Read while no client publishes; keep it short, because publishers wait."""

        def locked(tx: Transaction) -> T:
            tx.execute("SELECT pg_advisory_xact_lock(%s)", self.address.key("order"))
            return work(tx)

        return self._retry(lambda db, _: self._read(db, locked, "BEGIN READ ONLY"))

    def once(self, statement: str, *values: object) -> list[DbRow]:
        """Execute one idempotent statement, which is a transaction of its own."""
        return self._retry(lambda db, _: db.execute(statement.encode(), values, binary=True).fetchall())

    def close(self) -> None:
        """Close the session; a second call does nothing."""
        with self._lock:
            self._closed = True
            db, self._db = self._db, None
            if db is not None and self._pid == os.getpid():
                with suppress(psycopg.Error):
                    self._finish_notify(db)
                db.close()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        if self._pid != os.getpid():
            raise StoreError(f"{self.address.shown} was opened by the parent process; open it again after a fork")
        with self._lock:
            if self._closed:
                raise StoreError(f"{self.address.shown} was closed; open it again")
            yield

    def _retry(self, attempt: Callable[[psycopg.Connection, bool], T]) -> T:
        with self._usable():
            outage = _Outage(self._patience)
            clashes = 0
            while True:
                db = self._connected(outage)
                try:
                    self._finish_notify(db)
                    if outage.lost is not None and not transaction.wait_for_end(db, outage.lost):
                        raise outage.error(StoreError(f"{self.address.shown}: a session that was lost does not end"))
                    return attempt(db, outage.unknown)
                except _LostCommitError as error:
                    outage.lost = self._session
                    self._disconnect(db, error.cause)
                except psycopg.Error as error:
                    if session.lost(db, error):
                        self._disconnect(db, error)
                    elif isinstance(error, _CLASHES) and clashes < _MOST_CLASHES:
                        clashes += 1
                        time.sleep(random.random() * 0.002 * clashes)  # noqa: S311 (no secret)
                    else:
                        raise session.store_error(self.address, error) from error

    def _write(self, db: psycopg.Connection, work: Callable[[Transaction], T], lock: Lock, *, repeated: bool) -> T:
        tx = Transaction(db, self._clock, repeated=repeated)
        done: list[T] = []
        try:
            with db.pipeline():
                tx.begin(lock, self.address.key("order"))
                done.append(work(tx))
                tx.commit()
        except psycopg.Error as error:
            if tx.committed:
                return done[0]
            if tx.committing and session.lost(db, error):
                raise _LostCommitError(error) from error
            _roll_back(db)
            raise
        except BaseException:
            _roll_back(db)
            raise
        self._notify_listeners(db, tx)
        return done[0]

    def _write_at_once(self, db: psycopg.Connection, work: Callable[[Transaction], T], *, repeated: bool) -> T:
        tx = Transaction(db, self._clock, repeated=repeated)
        tx.order = self.address.key("order")
        try:
            done = work(tx)
        except psycopg.Error as error:
            if session.lost(db, error):
                raise _LostCommitError(error) from error
            raise
        self._notify_listeners(db, tx)
        return done

    def _notify_listeners(self, db: psycopg.Connection, tx: Transaction) -> None:
        if tx.changed:
            self._notifying = True
            listener.send_notify(db, self.address.channel)

    def _finish_notify(self, db: psycopg.Connection) -> None:
        if self._notifying:
            self._notifying = False
            listener.finish_notify(db)

    def _read(self, db: psycopg.Connection, work: Callable[[Transaction], T], begin: str) -> T:
        try:
            with db.pipeline():
                db.execute(begin.encode(), prepare=False)
                done = work(Transaction(db, self._clock))
                db.execute("COMMIT", prepare=False)
        except BaseException:
            _roll_back(db)
            raise
        return done

    def _connected(self, outage: _Outage) -> psycopg.Connection:
        """Return the session, or a new one; raises StoreError."""
        while self._db is None:
            try:
                self._db = self._open()
                log.info("connected to %s again", self.address.shown)
            except psycopg.Error as error:
                if outage.is_over():
                    raise outage.error(session.store_error(self.address, error)) from error
                outage.wait()
        return self._db

    def _open(self) -> psycopg.Connection:
        db = session.connect(self.address)
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: psycopg.Connection) -> None:
        session.prepare(db, self.address)
        self._session = transaction.session_id(db)

    def _disconnect(self, db: psycopg.Connection, error: psycopg.Error) -> None:
        self._notifying = False
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


class _Outage:
    """How long the server has been away in one call, and the session that was lost in a commit, if one was."""

    def __init__(self, patience: float) -> None:
        self.lost: SessionId | None = None
        self._patience = patience
        self._end: float | None = None
        self._tries = 0

    @property
    def unknown(self) -> bool:
        """Whether a commit went out, and no answer came back."""
        return self.lost is not None

    def is_over(self) -> bool:
        """Whether it lasted for too long; it begins with the first call."""
        if self._end is None:
            self._end = time.monotonic() + self._patience
        return time.monotonic() >= self._end

    def wait(self) -> None:
        """Pause a little, longer each time."""
        self._tries += 1
        open_session.pause_after(self._tries)

    def error(self, why: StoreError) -> StoreError:
        """Return the error for an outage that lasted too long."""
        if self.unknown:
            return OutcomeUnknownError(
                f"{why}; it was lost during a change, so it is unknown whether the change was saved; try again"
            )
        return StoreBusyError(
            f"{why}; it was tried for {self._patience:g} s and nothing was changed; check the server, and try again"
        )


class _LostCommitError(Exception):
    """The connection was lost after the end of a transaction was sent, and before it was answered."""

    def __init__(self, cause: psycopg.Error) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _roll_back(db: psycopg.Connection) -> None:
    """End a transaction that failed, and have psycopg forget which statements the server knows.

    After a failure, the rest of a pipeline is not prepared, but psycopg assumes so; it forgets them at a ROLLBACK,
    but at each text of one only once.
    """
    if not db.closed and db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        with suppress(psycopg.Error):
            db.execute(f"ROLLBACK /* {new_id()} */".encode())
