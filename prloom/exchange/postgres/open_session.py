"""Open a session, and try again while the server restarts; what a retry cannot resolve fails at once."""

from __future__ import annotations

import logging
import random
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

import psycopg
from psycopg.errors import ConnectionTimeout

from prloom.exchange.errors import StoreBusyError, StoreError
from prloom.exchange.postgres import server_state, session

if TYPE_CHECKING:
    from collections.abc import Callable

    from prloom.exchange.postgres.address import Address

log = logging.getLogger(__name__)

INSTANT = timedelta(seconds=1)
"""How long a server may be absent that this process has never reached: the gap between the old and the new process of
a quick restart. After that it is a wrong address."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0  # seconds
_reached: set[str] = set()  # servers on which this process, or the one that forked it, had a session

Kind: TypeAlias = Literal["interrupted", "rejected", "unreachable", "answered", "impossible"]


_KINDS: dict[server_state.State, Kind] = {
    "ready": "answered",
    "busy": "rejected",
    "silent": "interrupted",
    "absent": "unreachable",
}


@dataclass(frozen=True)
class OpenFailure:
    """Why a session could not be opened.

    - `interrupted`: the connection was lost while it was set up, or the server did not answer in time;
    - `rejected`: the server says that it starts, stops or recovers, or has too many clients at the moment;
    - `unreachable`: nothing listens there: connection refused, or no socket file;
    - `answered`: the server accepts connections and refused this one: password, database, pg_hba.conf;
    - `impossible`: the host name is unknown, or the session was made and is of no use: no rights, a standby.
    """

    kind: Kind
    text: str


def patience_for(
    failure: OpenFailure, previous: OpenFailure | None, *, reached: bool, patience: timedelta
) -> timedelta:
    """Return for how long after the first attempt to try again; `reached` says that a server was seen there.

    A server that restarts may have become ready between its refusal and our question whether it is. So what it
    answered counts when it says the same twice in a row.
    """
    match failure.kind:
        case "interrupted" | "rejected":
            return patience
        case "unreachable":
            if reached:
                return patience
            return min(INSTANT, patience)
        case "answered":
            if failure == previous:
                return timedelta(0)
            return patience
        case "impossible":
            return timedelta(0)
        case _:
            assert_never(failure.kind)


def open_session(
    address: Address, prepare: Callable[[psycopg.Connection], object], patience: timedelta
) -> psycopg.Connection:
    """Return a new session on which `prepare` was done; raises StoreError, and StoreBusyError after `patience`."""
    begun, pause = time.monotonic(), _FIRST_PAUSE
    reached = address.server in _reached
    previous: OpenFailure | None = None
    announced = False
    while True:
        try:
            db = _attempt(address, prepare)
        except _FailedError as failed:
            failure, cause = failed.failure, failed.cause
        else:
            _reached.add(address.server)
            return db
        reached = reached or failure.kind not in {"unreachable", "impossible"}
        limit = patience_for(failure, previous, reached=reached, patience=patience)
        if timedelta(seconds=time.monotonic() - begun) >= limit:
            raise _error(address, cause, tried=limit if reached and limit else None) from cause
        if failure.kind != "answered" and limit > INSTANT and not announced:
            announced = True
            log.warning("%s; trying for %g s to connect", session.store_error(address, cause), limit.total_seconds())
        previous = failure
        time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 (no secret)
        pause = min(pause * 2, _LONGEST_PAUSE)


class _FailedError(Exception):
    def __init__(self, failure: OpenFailure, cause: psycopg.Error) -> None:
        super().__init__(failure.text)
        self.failure = failure
        self.cause = cause


def _attempt(address: Address, prepare: Callable[[psycopg.Connection], object]) -> psycopg.Connection:
    try:
        db = session.connect(address)
    except psycopg.Error as error:
        raise _FailedError(OpenFailure(_kind(error), str(error)), error) from error
    try:
        prepare(db)
    except psycopg.Error as error:
        kind: Kind = "impossible"
        if session.lost(db, error):
            kind = "interrupted"
        db.close()
        raise _FailedError(OpenFailure(kind, str(error)), error) from error
    except BaseException:
        db.close()
        raise
    return db


def _kind(error: psycopg.Error) -> Kind:
    """Return what kind of failure to connect it is, by the server's state just after it."""
    if isinstance(error, ConnectionTimeout):
        return "interrupted"
    if error.pgconn is None:
        return "impossible"  # psycopg found no address for the host name, and did not try to connect
    if error.pgconn.used_password or error.pgconn.needs_password:
        return "answered"  # it asked for a password, which a server that starts or stops does not
    return _KINDS[server_state.query(server_state.target(error.pgconn))]


def _error(address: Address, cause: psycopg.Error, *, tried: timedelta | None) -> StoreError:
    why = session.store_error(address, cause)
    if tried is not None:
        return StoreBusyError(f"{why}; it was tried for {tried.total_seconds():g} s; check the server, and try again")
    if cause.sqlstate is not None:  # there was a session
        return why
    return StoreError(f"{why}; check that the server runs and accepts this login, or correct the URL")
