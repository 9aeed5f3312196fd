"""One transaction on the server, and the wait for the end of a lost session that may have committed one."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg

DbRow: TypeAlias = tuple[Any, ...]
Lock: TypeAlias = Literal["none", "shared", "exclusive"]
"""A transaction's lock on the order of publication. Publishers share it, so that a reader (or `prune`) that waits for
the exclusive lock knows that no message with a lower number will come any more."""

_BEGIN = {
    "shared": "SELECT clock_timestamp(), pg_advisory_xact_lock_shared(%s)",
    "exclusive": "SELECT clock_timestamp(), pg_advisory_xact_lock(%s)",
}

_SELF = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_THERE = "SELECT FROM pg_stat_activity WHERE pid = %s AND backend_start = %s"
# A role may end its own sessions. The time is compared too: a process's number is given to another before long.
_TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %s"

GRACE, LONGEST = 1.0, 30.0  # seconds until the session is ended, and from then until it is given up
_PAUSE = 0.005


class Transaction:
    """A transaction whose statements are sent without waiting for one another's answers.

    `order` is the number of the lock; `repeated` says that the same work may have been committed before; `changed` is
    set by work that listeners wait for; `committing` says that the COMMIT may have been sent.
    """

    def __init__(self, db: psycopg.Connection, clock: Callable[[], datetime] | None, *, repeated: bool = False) -> None:
        self._db = db
        self._clock = clock
        self._begun: psycopg.Cursor | None = None
        self._end: psycopg.Cursor | None = None
        self._now: datetime | None = None
        self.repeated = repeated
        self.order = 0
        self.changed = False
        self.committing = False

    def begin(self, lock: Lock, key: int) -> None:
        """Begin it, before anything else: a transaction that has locked a row must not wait for the lock."""
        self.order = key
        self._db.execute("BEGIN", prepare=False)
        if lock != "none":
            self._begun = self.execute(_BEGIN[lock], key)

    def set_time(self, now: datetime) -> None:
        """Set the time of the transaction's beginning, from a first statement of another kind."""
        self._now = now

    def execute(self, statement: str, *values: object) -> psycopg.Cursor:
        """Send a statement; fetching its result waits for the answer."""
        return self._db.execute(statement.encode(), values, binary=True)

    def fetch_one(self, statement: str, *values: object) -> DbRow | None:
        """Return a statement's first row."""
        return self.execute(statement, *values).fetchone()

    def commit(self) -> None:
        """Send the COMMIT; listeners are notified afterwards, so that they find what has changed."""
        self.committing = True
        self._end = self._db.execute("COMMIT", prepare=False)

    @property
    def clock(self) -> datetime | None:
        """The time that was given instead of the server's, for statements."""
        return given_time(self._clock)

    @property
    def now(self) -> datetime:
        """The time at the transaction's beginning."""
        if self._begun is not None:
            row, self._begun = self._begun.fetchone(), None
            if row is None:
                self._now = None
            else:
                self._now = row[0]
        assert self._now is not None  # noqa: S101 (a write without a lock says so itself, by `set_time`)
        if self._clock is not None:
            return self._clock()
        return self._now

    @property
    def committed(self) -> bool:
        """Whether the server confirmed the COMMIT."""
        return self._end is not None and self._end.statusmessage == "COMMIT"


def given_time(clock: Callable[[], datetime] | None) -> datetime | None:
    """Return the time that is given instead of the server's, for statements; None where the server's counts."""
    if clock is None:
        return None
    return clock()


class SessionId(NamedTuple):
    """A session, as the server knows it."""

    pid: int
    started: datetime


def session_id(db: psycopg.Connection[Any]) -> SessionId:
    """Return the name of this session."""
    row = db.execute(_SELF).fetchone()
    assert row is not None  # noqa: S101 (a session sees itself)
    return SessionId(*row)


def wait_for_end(db: psycopg.Connection[Any], lost: SessionId) -> bool:
    """Wait until the lost session is no more, ending it where its server has not noticed; False where it stays.

    It may still be at work on what was sent last, or have that before it: its client's end is noticed afterwards.
    """
    begun, ended = time.monotonic(), False
    while db.execute(_THERE, lost).fetchone() is not None:
        step = step_towards_end(time.monotonic() - begun, ended=ended)
        if step == "give up":
            return False
        if step == "end":
            db.execute(_TERMINATE, lost)
            begun, ended = time.monotonic(), True
        time.sleep(_PAUSE)
    return True


def step_towards_end(waited: float, *, ended: bool) -> Literal["wait", "end", "give up"]:
    """Return what is to be done about a lost session that is still there, so many seconds after the step before.

    It is given up only after it was ended: this process may have stood still, and not the server.
    """
    if waited >= GRACE and not ended:
        return "end"
    if waited >= LONGEST:
        return "give up"
    return "wait"
