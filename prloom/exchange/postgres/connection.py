"""Reach one exchange: reconnect, and do again what did not happen, or may not have."""

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
from prloom.exchange.postgres import lost_session, notify, open_session, session
from prloom.exchange.postgres.transaction import Lock, Row, Transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prloom.exchange.postgres.address import Address

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE = timedelta(seconds=30)
_CLASHES = (UniqueViolation, DeadlockDetected, SerializationFailure, InvalidSqlStatementName)
_MOST_CLASHES = 50  # each means that somebody else got on
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0  # seconds


class PostgresConnection:
    """One session at a time, used by one thread at a time, made anew when it is lost; it does not survive a fork."""

    def __init__(self, address: Address, *, clock: Callable[[], datetime] | None, patience: timedelta) -> None:
        """Connect; raises StoreError where that is not possible, at once or (see `opening`) after `patience`."""
        self.address = address
        self._clock = clock
        self._patience = patience.total_seconds()
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._closed = False
        self._telling = False
        self._db: psycopg.Connection | None = open_session.open_session(address, self._prepare, patience)

    def write(self, work: Callable[[Transaction], T], lock: Lock = "shared") -> T:
        """Do all of the work, durably, or nothing; it is done anew where the connection is lost.

        Where that happened in a commit, what is done anew may stand already: then `Transaction.again` is set, and the
        work looks. (The server's word about the lost transaction's number is worth nothing: after a crash it gives
        numbers anew that were never written down.) Raises StoreBusyError where the server stayed away, and
        OutcomeUnknownError where it did so after a commit.
        """
        return self._until_done(lambda db, again: self._write(db, work, lock, again=again))

    def write_at_once(self, work: Callable[[Transaction], T]) -> T:
        """Do work of one statement, which is a transaction by itself; otherwise as `write`."""
        return self._until_done(lambda db, again: self._write_at_once(db, work, again=again))

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Read what stood at one moment."""
        return self._until_done(lambda db, _: self._read(db, work, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))

    def read_in_order(self, work: Callable[[Transaction], T]) -> T:
        """Read while nobody publishes; for what takes no time."""

        def locked(tx: Transaction) -> T:
            tx.execute("SELECT pg_advisory_xact_lock(%s)", self.address.key("order"))
            return work(tx)

        return self._until_done(lambda db, _: self._read(db, locked, "BEGIN READ ONLY"))

    def once(self, statement: str, *values: object) -> list[Row]:
        """Do one statement that is a transaction of its own, and that does no harm where it is done twice."""
        return self._until_done(lambda db, _: db.execute(statement.encode(), values, binary=True).fetchall())

    def close(self) -> None:
        """Let go of the server; a second call does nothing."""
        with self._lock:
            self._closed = True
            db, self._db = self._db, None
            if db is not None and self._pid == os.getpid():
                with suppress(psycopg.Error):
                    self._hear_out(db)
                db.close()

    @contextmanager
    def _mine(self) -> Iterator[None]:
        if self._pid != os.getpid():
            raise StoreError(f"{self.address.shown} was opened by the parent process; open it again after a fork")
        with self._lock:
            if self._closed:
                raise StoreError(f"{self.address.shown} was closed; open it again")
            yield

    def _until_done(self, attempt: Callable[[psycopg.Connection, bool], T]) -> T:
        with self._mine():
            outage = _Outage(self._patience)
            clashes = 0
            while True:
                db = self._reach(outage)
                try:
                    self._hear_out(db)
                    if outage.lost is not None and not lost_session.is_over(db, outage.lost):
                        raise outage.told(StoreError(f"{self.address.shown}: a session that was lost does not end"))
                    return attempt(db, outage.unknown)
                except _LostCommitError as error:
                    outage.lost = self._session
                    self._drop(db, error.cause)
                except psycopg.Error as error:
                    if session.lost(db, error):
                        self._drop(db, error)
                    elif isinstance(error, _CLASHES) and clashes < _MOST_CLASHES:
                        clashes += 1
                        time.sleep(random.random() * 0.002 * clashes)  # noqa: S311 (no secret)
                    else:
                        raise session.store_error(self.address, error) from error

    def _write(self, db: psycopg.Connection, work: Callable[[Transaction], T], lock: Lock, *, again: bool) -> T:
        transaction = Transaction(db, self._clock, again=again)
        done: list[T] = []
        try:
            with db.pipeline():
                transaction.begin(lock, self.address.key("order"))
                done.append(work(transaction))
                transaction.commit()
        except psycopg.Error as error:
            if transaction.committed:
                return done[0]
            if transaction.committing and session.lost(db, error):
                raise _LostCommitError(error) from error
            _roll_back(db)
            raise
        except BaseException:
            _roll_back(db)
            raise
        self._tell(db, transaction)
        return done[0]

    def _write_at_once(self, db: psycopg.Connection, work: Callable[[Transaction], T], *, again: bool) -> T:
        transaction = Transaction(db, self._clock, again=again)
        transaction.order = self.address.key("order")
        try:
            done = work(transaction)
        except psycopg.Error as error:
            if session.lost(db, error):
                raise _LostCommitError(error) from error
            raise
        self._tell(db, transaction)
        return done

    def _tell(self, db: psycopg.Connection, transaction: Transaction) -> None:
        if transaction.news:
            self._telling = True
            notify.send(db, self.address.channel)

    def _hear_out(self, db: psycopg.Connection) -> None:
        if self._telling:
            self._telling = False
            notify.await_end(db)

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

    def _reach(self, outage: _Outage) -> psycopg.Connection:
        """Return the session, or a new one; raises StoreError."""
        while self._db is None:
            try:
                self._db = self._start()
                log.info("connected to %s again", self.address.shown)
            except psycopg.Error as error:
                if outage.is_over():
                    raise outage.told(session.store_error(self.address, error)) from error
                outage.wait()
        return self._db

    def _start(self) -> psycopg.Connection:
        db = session.connect(self.address)
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: psycopg.Connection) -> None:
        session.prepare(db, self.address)
        self._session = lost_session.named(db)

    def _drop(self, db: psycopg.Connection, error: psycopg.Error) -> None:
        self._telling = False
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
        self.lost: lost_session.Session | None = None
        self._patience = patience
        self._end: float | None = None
        self._pause = _FIRST_PAUSE

    @property
    def unknown(self) -> bool:
        """Whether a commit went out, and no answer came back."""
        return self.lost is not None

    def is_over(self) -> bool:
        """Whether it lasted for too long; it begins when this is asked first."""
        if self._end is None:
            self._end = time.monotonic() + self._patience
        return time.monotonic() >= self._end

    def wait(self) -> None:
        """Wait a little, longer each time."""
        time.sleep(self._pause * random.uniform(0.5, 1))  # noqa: S311 (no secret)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def told(self, why: StoreError) -> StoreError:
        """Return what to say where it lasted for too long."""
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

    Of a pipeline that failed the rest is not prepared, though psycopg takes it to be; it forgets them at a ROLLBACK,
    but at each text of one only once.
    """
    if not db.closed and db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        with suppress(psycopg.Error):
            db.execute(f"ROLLBACK /* {new_id()} */".encode())
