"""Opening an exchange waits for a server that restarts, and fails at once where waiting is of no use."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import postgres_server
import pytest

from prloom.exchange.errors import StoreBusyError, StoreError
from prloom.exchange.postgres.open_session import INSTANT, OpenFailure, OpenFailureKind, patience_for

HALF_A_MINUTE = timedelta(seconds=30)
STARTING = "das Datenbanksystem startet"  # a server speaks its own language


def test_a_server_that_is_starting_is_waited_for(
    opened: Any, wire: Any, through_the_wire: str, caplog: pytest.LogCaptureFixture
):
    wire.answer(6, code="57P03", text=STARTING)

    with caplog.at_level(logging.WARNING):
        opened(through_the_wire).publish("work", "x")

    assert wire.answered == 6
    (line,) = caplog.messages
    assert line.endswith(f"FATAL:  {STARTING}; trying for 30 s to connect")


def test_a_connection_that_is_lost_while_it_is_made_is_made_again(opened: Any, wire: Any, through_the_wire: str):
    wire.answer(3)

    opened(through_the_wire).publish("work", "x")

    assert wire.answered == 3


def test_a_connection_that_is_lost_while_the_tables_are_made_is_made_again(
    opened: Any, wire: Any, through_the_wire: str
):
    wire.lose("request", b"CREATE TABLE")

    opened(through_the_wire).publish("work", "x")

    assert wire.cuts == 1


def test_a_listener_waits_for_a_server_that_is_starting(opened: Any, wire: Any, through_the_wire: str):
    exchange = opened(through_the_wire)
    wire.answer(2, code="57P03", text=STARTING)

    exchange.store.listen().close()

    assert wire.answered == 2


def test_a_server_that_this_process_has_reached_before_may_be_away_for_longer(
    opened: Any, server: postgres_server.Server, tmp_path: Any
):
    mine = postgres_server.at(server.url, tmp_path)
    opened(mine)
    server.stop()
    waits = Waits()

    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(opened, mine, patience=timedelta(minutes=1))
        waits.begun.wait(60)
        server.start()

        assert opening.result(100).read() == ()
    waits.close()


class Waits(logging.Handler):
    """Notices that somebody waits for the server."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        logging.getLogger("prloom.exchange.postgres.open_session").addHandler(self)

    def emit(self, _: logging.LogRecord) -> None:
        self.begun.set()

    def close(self) -> None:
        logging.getLogger("prloom.exchange.postgres.open_session").removeHandler(self)
        super().close()


def test_a_server_that_starts_for_too_long_is_given_up_with_what_to_do(opened: Any, wire: Any, through_the_wire: str):
    wire.answer(1000, code="57P03", text=STARTING)

    with pytest.raises(StoreBusyError, match=r"; it was tried for 0\.1 s; check the server, and try again$"):
        opened(through_the_wire, patience=timedelta(seconds=0.1))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("28P01", 'password authentication failed for user "me"'),
        ("28000", "no pg_hba.conf entry for host"),
        ("3D000", 'database "x" does not exist'),
    ],
)
def test_a_refusal_that_a_ready_server_repeats_is_reported_at_once(
    opened: Any, wire: Any, through_the_wire: str, code: str, text: str
):
    wire.answer(1000, code=code, text=text)

    with pytest.raises(StoreError, match=f"{text}; check that the server runs and accepts this login, or correct"):
        opened(through_the_wire)

    assert wire.answered == 4  # twice, and twice we asked whether it is ready


def failed(kind: OpenFailureKind) -> OpenFailure:
    return OpenFailure(kind, "FATAL:  …")


@pytest.mark.parametrize(
    ("kind", "previous", "reached", "expected"),
    [
        ("rejected", None, True, HALF_A_MINUTE),
        ("interrupted", None, True, HALF_A_MINUTE),
        ("unreachable", None, True, HALF_A_MINUTE),
        ("unreachable", None, False, INSTANT),
        ("answered", None, True, HALF_A_MINUTE),  # it may have become ready since it refused
        ("answered", "rejected", True, HALF_A_MINUTE),
        ("answered", "answered", True, timedelta(0)),
        ("impossible", None, False, timedelta(0)),
    ],
)
def test_what_a_retry_can_resolve_is_tried_for_half_a_minute(
    kind: OpenFailureKind, previous: OpenFailureKind | None, *, reached: bool, expected: timedelta
):
    before = None if previous is None else failed(previous)

    assert patience_for(failed(kind), before, reached=reached, patience=HALF_A_MINUTE) == expected
