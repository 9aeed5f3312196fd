"""Tell the listeners that there is something new, without waiting for the server to say that it told them."""

from __future__ import annotations

import select
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from typing import Any


def send(db: psycopg.Connection[Any], channel: str) -> None:
    """Send it; `await_end` is to be called before anything else is sent. It is a hint: that it fails is no trouble.

    It is a transaction by itself: inside another one, all that commit would queue behind one another's flush to disk.
    """
    with suppress(psycopg.Error):
        db.pgconn.send_query(f"NOTIFY {channel}".encode())
        db.pgconn.flush()


def await_end(db: psycopg.Connection[Any]) -> None:
    """Wait until what was sent has ended, which it has as a rule; raises psycopg.OperationalError."""
    connection = db.pgconn
    connection.consume_input()
    while (unsent := connection.flush()) or connection.is_busy():
        poll = select.poll()
        poll.register(connection.socket, select.POLLIN | (select.POLLOUT if unsent else 0))
        poll.poll()
        connection.consume_input()
    while connection.get_result() is not None:
        pass
