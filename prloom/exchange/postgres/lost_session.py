"""Wait for the end of a session that was lost while it changed something: until then nobody can see what it did."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    import psycopg

_SELF = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_THERE = "SELECT FROM pg_stat_activity WHERE pid = %s AND backend_start = %s"
# A role may end its own sessions. The time is compared too: a process's number is given to another before long.
_TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %s"

GRACE, LONGEST = 1.0, 10.0  # seconds until the session is ended, and until it is given up
_PAUSE = 0.005


class Session(NamedTuple):
    """A session, as the server knows it."""

    pid: int
    started: datetime


def named(db: psycopg.Connection[Any]) -> Session:
    """Return the name of this session."""
    row = db.execute(_SELF).fetchone()
    assert row is not None  # noqa: S101 (a session sees itself)
    return Session(*row)


def is_over(db: psycopg.Connection[Any], lost: Session) -> bool:
    """Wait until the lost session is no more, ending it where its server has not noticed; False where it stays.

    It may still be at work on what was sent last, or have that before it: its client's end is noticed afterwards.
    """
    begun = time.monotonic()
    ended = False
    while db.execute(_THERE, lost).fetchone() is not None:
        waited = time.monotonic() - begun
        if waited >= LONGEST:
            return False
        if waited >= GRACE and not ended:
            db.execute(_TERMINATE, lost)
            ended = True
        time.sleep(_PAUSE)
    return True
