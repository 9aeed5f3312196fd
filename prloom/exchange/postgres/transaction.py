"""One transaction on the server: its statements go out without waiting for one another's answers."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg

Row: TypeAlias = tuple[Any, ...]
Lock: TypeAlias = Literal["none", "shared", "exclusive"]
"""What a transaction is to the order of publication. Whoever publishes has a share of a lock, so that whoever reads
(or prunes) can wait until nobody does, and then knows that no message with a lower number will come yet."""

_BEGIN = {
    "shared": "SELECT clock_timestamp(), pg_advisory_xact_lock_shared(%s)",
    "exclusive": "SELECT clock_timestamp(), pg_advisory_xact_lock(%s)",
}


class Transaction:
    """What works inside a write.

    `order` is the number of the lock; `again` says that the same was sent to be committed before, and may stand; `news`
    is set by what others wait for; `committing` says that the end of it may have been sent.
    """

    def __init__(self, db: psycopg.Connection, clock: Callable[[], datetime] | None, *, again: bool = False) -> None:
        self._db = db
        self._clock = clock
        self._begun: psycopg.Cursor | None = None
        self._end: psycopg.Cursor | None = None
        self._now: datetime | None = None
        self.again = again
        self.order = 0
        self.news = False
        self.committing = False

    def begin(self, lock: Lock, key: int) -> None:
        """Begin it, before anything else: whoever holds a row already must not wait for the lock."""
        self.order = key
        self._db.execute("BEGIN", prepare=False)
        if lock != "none":
            self._begun = self.execute(_BEGIN[lock], key)

    def began(self, now: datetime) -> None:
        """Note the time that a first statement of another kind brought along."""
        self._now = now

    def execute(self, statement: str, *values: object) -> psycopg.Cursor:
        """Send a statement; its answer is waited for when it is fetched."""
        return self._db.execute(statement.encode(), values, binary=True)

    def one(self, statement: str, *values: object) -> Row | None:
        """Return a statement's first row."""
        return self.execute(statement, *values).fetchone()

    def commit(self) -> None:
        """Send the end of it; listeners are told afterwards, so that they find what they were told of."""
        self.committing = True
        self._end = self._db.execute("COMMIT", prepare=False)

    @property
    def clock(self) -> datetime | None:
        """The time that was given instead of the server's, for statements."""
        if self._clock is None:
            return None
        return self._clock()

    @property
    def now(self) -> datetime:
        """The time at the transaction's beginning."""
        if self._begun is not None:
            row, self._begun = self._begun.fetchone(), None
            if row is None:
                self._now = None
            else:
                self._now = row[0]
        assert self._now is not None  # noqa: S101 (a write without a lock says so itself, by `began`)
        if self._clock is not None:
            return self._clock()
        return self._now

    @property
    def committed(self) -> bool:
        """Whether the server said that it stands."""
        return self._end is not None and self._end.statusmessage == "COMMIT"
