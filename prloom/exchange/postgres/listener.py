"""Tell other clients through NOTIFY that the exchange has changed, and hear them through LISTEN, in a thread."""

from __future__ import annotations

import logging
import os
import select
import threading
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg

from prloom import backoff
from prloom.backoff import Backoff
from prloom.exchange.notifier import Notifier
from prloom.exchange.postgres import open_session, session

if TYPE_CHECKING:
    from prloom.exchange.postgres.address import Address
    from prloom.exchange.protocol import Listener

log = logging.getLogger(__name__)

_PAUSES = Backoff(initial=timedelta(milliseconds=200), maximum=timedelta(seconds=5))


class PostgresListener:
    """One session that listens for all of a store's listeners, from the first one on."""

    def __init__(self, address: Address, patience: timedelta) -> None:
        self._address = address
        self._patience = patience
        self._notifier = Notifier()
        self._lock = threading.Lock()
        self._stop: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None

    def listen(self) -> Listener:
        """Return a new listener, which hears what happens from now on; raises StoreError."""
        with self._lock:
            if self._thread is None:
                db = open_session.open_session(self._address, self._begin, self._patience)
                self._stop = os.pipe()
                self._thread = threading.Thread(target=self._run, args=(db, self._stop[0]), daemon=True)
                self._thread.start()
            return self._notifier.listen()

    def close(self) -> None:
        """Stop listening; a second call does nothing."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None and self._stop is not None:
                os.write(self._stop[1], b"!")
                thread.join()
                for fd in self._stop:
                    os.close(fd)
            self._notifier.close()

    def _run(self, first: psycopg.Connection, stop: int) -> None:
        db: psycopg.Connection | None = first
        tries = 0
        while not _stopped(stop, db, tries):
            try:
                if db is None:
                    db = self._connect()
                    tries = 0
                    self._notifier.notify()  # it heard nothing meanwhile
                elif _notified(db):
                    self._notifier.notify()
            except psycopg.Error as error:
                log.debug(
                    "no notifications arrive from %s (%s)",
                    self._address.shown,
                    self._address.without_password(str(error)),
                )
                tries += 1
                _close(db)
                db = None
        _close(db)

    def _connect(self) -> psycopg.Connection:
        db = session.connect(self._address)
        try:
            self._begin(db)
        except BaseException:
            db.close()
            raise
        return db

    def _begin(self, db: psycopg.Connection) -> None:
        db.execute(f"LISTEN {self._address.channel}".encode())


def _stopped(stop: int, db: psycopg.Connection | None, tries: int) -> bool:
    """Wait for the session, or for the pause after so many tries where there is none; return whether to stop."""
    poll = select.poll()
    poll.register(stop, select.POLLIN)
    if db is None:
        readable = poll.poll(backoff.doubled(_PAUSES, tries).total_seconds() * 1000)
    else:
        poll.register(db.fileno(), select.POLLIN)
        readable = poll.poll()
    return any(fd == stop for fd, _ in readable)


def _notified(db: psycopg.Connection) -> bool:
    db.pgconn.consume_input()
    notified = False
    while db.pgconn.notifies() is not None:
        notified = True
    return notified


def _close(db: psycopg.Connection | None) -> None:
    if db is not None:
        with suppress(psycopg.Error):
            db.close()


def send_notify(db: psycopg.Connection, channel: str) -> None:
    """Send a NOTIFY without waiting for its answer; call `finish_notify` before anything else is sent.

    It is a hint, so a failure does not matter. It is a transaction by itself: inside another one, all commits would
    queue behind each other's flush to disk.
    """
    with suppress(psycopg.Error):
        db.pgconn.send_query(f"NOTIFY {channel}".encode())
        db.pgconn.flush()


def finish_notify(db: psycopg.Connection) -> None:
    """Wait for the answer to a NOTIFY, which is usually there; raises psycopg.OperationalError."""
    connection = db.pgconn
    connection.consume_input()
    while (unsent := connection.flush()) or connection.is_busy():
        poll = select.poll()
        poll.register(connection.socket, select.POLLIN | (select.POLLOUT if unsent else 0))
        poll.poll()
        connection.consume_input()
    while connection.get_result() is not None:
        pass
