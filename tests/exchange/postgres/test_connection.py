"""A connection that is lost, at any moment, loses nothing and does nothing twice."""

from __future__ import annotations

import logging
import os
import queue
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from select import select
from typing import Any

import postgres_server
import psycopg
import pytest

from prloom.exchange import validation
from prloom.exchange.claim import Completed
from prloom.exchange.errors import OutcomeUnknownError, StoreBusyError, StoreError
from prloom.exchange.exchange import Exchange
from prloom.exchange.postgres import address, transaction


def bodies(messages: Any) -> list[str]:
    return [message.body for message in messages]


def cut_off(raw: psycopg.Connection) -> None:
    """End all sessions of this schema's clients."""
    raw.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'prloom' AND pid <> pg_backend_pid()"
    )


@pytest.mark.parametrize("lost", ["request", "answer"])
@pytest.mark.parametrize("key", [None, "k"])
def test_what_is_published_while_the_connection_is_lost_is_published_once(
    opened: Any, wire: Any, through_the_wire: str, lost: str, key: str | None
):
    exchange = opened(through_the_wire)
    exchange.publish("work", "before")
    wire.lose(lost)

    published = exchange.publish("work", "x", key=key)

    assert wire.cuts == 1
    assert exchange.message(published.id) == published
    assert bodies(exchange.read()) == ["before", "x"]


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_claim_that_is_lost_on_the_way_is_made_once(opened: Any, wire: Any, through_the_wire: str, lost: str):
    exchange = opened(through_the_wire)
    published = exchange.publish("work", "x")
    wire.lose(lost, b"INTO claims")

    claimed = exchange.claim("work")

    assert wire.cuts == 1
    assert exchange.inspect(published.id).claims == (claimed.claim,)
    claimed.complete("y")
    assert exchange.check(published.id).outcome == "success"


def test_a_claim_is_not_repeated_while_the_lost_session_is_still_making_it(
    opened: Any, wire: Any, through_the_wire: str, raw: psycopg.Connection
):
    exchange = opened(through_the_wire)
    exchange.publish("work", "first")
    first = exchange.claim("work")
    first.complete("y")
    published = exchange.publish("work", "x")
    wire.lose("answer", b"INTO claims")
    raw.execute("BEGIN")
    raw.execute("LOCK TABLE claims IN SHARE MODE")  # whoever would claim waits

    def end_wait() -> None:
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'claims'::regclass"
        while (raw.execute(waiting).fetchone() or (0,))[0] == 0:
            pass
        raw.execute("COMMIT")

    other = threading.Thread(target=end_wait)
    other.start()
    claimed = exchange.claim("work")
    other.join()

    assert wire.cuts == 1
    assert exchange.inspect(published.id).claims == (claimed.claim,)


def test_a_session_that_does_not_notice_that_it_was_lost_is_ended(raw: psycopg.Connection, url: str):
    with psycopg.connect(**address.read_url(url).parameters, autocommit=True) as forgotten:  # type: ignore[arg-type]
        lost = transaction.session_id(forgotten)

        assert transaction.wait_for_end(raw, lost)
        with pytest.raises(psycopg.errors.AdminShutdown):
            forgotten.execute("SELECT 1")


@pytest.mark.parametrize("lost", ["request", "answer"])
@pytest.mark.parametrize("by", ["who claimed it", "another client"])
def test_a_claim_that_is_settled_while_the_connection_is_lost_replies_once(
    opened: Any, wire: Any, through_the_wire: str, lost: str, by: str
):
    exchange = opened(through_the_wire)
    exchange.publish("work", "x")
    claimed = exchange.claim("work")
    settling = exchange if by == "who claimed it" else opened(through_the_wire)
    wire.lose(lost, b"UPDATE claims AS c" if by == "who claimed it" else b"COMMIT")

    settled = settling.store.settle(claimed.id, Completed(body="y"))

    assert wire.cuts == 1
    assert settled.reply is not None
    assert exchange.read(topic="work.completed") == (settled.reply,)


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_message_that_is_cancelled_while_the_connection_is_lost_is_cancelled_once(
    opened: Any, wire: Any, through_the_wire: str, lost: str
):
    exchange = opened(through_the_wire)
    published = exchange.publish("work", "x")
    wire.lose(lost)

    reported = exchange.cancel(published.id, "not wanted")

    assert wire.cuts == 1
    assert exchange.read(topic="work.cancelled") == (reported,)


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_the_end_of_a_conversation_is_taken_though_the_connection_is_lost(
    opened: Any, wire: Any, through_the_wire: str, lost: str
):
    exchange = opened(through_the_wire)
    published = exchange.publish("work", "x", track=True)
    exchange.claim("work").complete("y")
    wire.lose(lost)

    (ended,) = exchange.claim_notifications()

    assert wire.cuts == 1
    assert ended.conversation_id == published.id
    assert exchange.ack_notification(ended)


def test_a_commit_with_an_unknown_outcome_is_to_be_repeated(
    opened: Any, wire: Any, through_the_wire: str, tmp_path: Path
):
    exchange = opened(through_the_wire, patience=timedelta(seconds=0.2))
    draft = validation.draft("work", "x")
    wire.lose("answer")
    wire.refuse()

    with pytest.raises(OutcomeUnknownError, match="so it is unknown whether the change was saved"):
        exchange.store.publish([draft])

    elsewhere = opened(postgres_server.at(postgres_server.own().url, tmp_path))
    assert elsewhere.publish_all([draft]) == elsewhere.read()


def test_a_session_that_was_ended_is_replaced_and_reported_once(
    exchange: Exchange, raw: psycopg.Connection, caplog: pytest.LogCaptureFixture
):
    exchange.publish("work", "x")
    cut_off(raw)

    with caplog.at_level(logging.WARNING):
        claimed = exchange.claim("work")

    assert claimed is not None
    (line,) = caplog.messages
    assert line.startswith("lost the connection to postgresql://")
    assert line.endswith("; trying for 30 s to get it back")
    assert "\n" not in line


def test_a_server_that_stays_away_is_reported_in_one_line(opened: Any, server: postgres_server.Server, tmp_path: Path):
    mine = postgres_server.at(server.url, tmp_path)
    exchange = opened(mine, patience=timedelta(seconds=0.2))
    server.stop()

    with pytest.raises(
        StoreBusyError, match=r"it was tried for 0\.2 s and nothing was changed; check the server"
    ) as caught:
        exchange.publish("work", "x")

    assert "\n" not in str(caught.value)
    server.start()
    assert exchange.read() == ()


def test_a_server_that_cannot_be_reached_at_all_is_reported_at_once_with_what_to_do(opened: Any):
    with (
        postgres_server.short_folder() as folder,
        pytest.raises(
            StoreError, match=r"failed: No such file or directory; check that the server runs and accepts"
        ) as caught,
    ):
        opened(f"postgresql:///x?host={folder}")

    assert "\n" not in str(caught.value)


def test_a_listener_hears_again_when_the_server_is_back(opened: Any, server: postgres_server.Server, tmp_path: Path):
    mine = postgres_server.at(server.url, tmp_path)
    exchange, another = opened(mine), opened(mine)
    listener = exchange.store.listen()
    server.stop(signal.SIGQUIT)
    server.start()
    wait_for(listener)  # that it listens again is news: something may have been said meanwhile

    another.publish("work", "x")

    wait_for(listener)
    listener.close()


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_hint_that_is_lost_on_the_way_does_no_harm(opened: Any, wire: Any, through_the_wire: str, lost: str):
    exchange = opened(through_the_wire)
    wire.lose(lost, b"NOTIFY")

    published = [exchange.publish("work", body) for body in "ab"]

    assert wire.cuts == 1
    assert exchange.read() == tuple(published)


def test_the_last_notification_before_the_end_is_heard(opened: Any, exchange: Exchange):
    listener = exchange.store.listen()
    another = opened()

    another.publish("work", "x")
    another.close()

    wait_for(listener)
    listener.close()


def wait_for(listener: Any) -> None:
    assert select([listener.fileno()], [], [], 60)[0]
    listener.drain()


def test_a_connection_is_not_used_after_a_fork(exchange: Exchange):
    child = os.fork()
    if child == 0:
        try:
            exchange.read()
        except StoreError as error:
            exchange.close()
            os._exit(0 if "open it again after a fork" in str(error) else 2)
        os._exit(1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    exchange.publish("work", "x")


class Load:
    """Publishers and workers at full speed, each with its own connection."""

    def __init__(self, open_: Callable[[], Exchange], *, publishers: int, each: int, workers: int) -> None:
        self.wanted = [f"{publisher}.{number}" for publisher in range(publishers) for number in range(each)]
        self._open = open_
        self._settled = queue.Queue[str | Exception]()
        self._over = threading.Event()
        names = [[name for name in self.wanted if name.startswith(f"{publisher}.")] for publisher in range(publishers)]
        self._threads = [threading.Thread(target=self._try, args=(self._publish, some)) for some in names]
        self._threads += [threading.Thread(target=self._try, args=(self._work,)) for _ in range(workers)]

    def settled(self) -> Iterator[int]:
        """Yield the number of each message as it is settled, up to the last."""
        for thread in self._threads:
            thread.start()
        try:
            for number in range(len(self.wanted)):
                one = self._settled.get(timeout=60)
                if isinstance(one, Exception):
                    raise one
                yield number
        finally:
            self._over.set()
            for thread in self._threads:
                thread.join()

    def _publish(self, names: list[str]) -> None:
        exchange = self._open()
        for name in names:
            exchange.publish("work", name, key=name)

    def _work(self) -> None:
        exchange = self._open()
        while not self._over.is_set():
            claimed = exchange.claim("work", lease=timedelta(minutes=5))
            if claimed is not None:
                claimed.complete(claimed.message.body)
                self._settled.put(claimed.message.body)

    def _try(self, act: Callable[..., None], *arguments: Any) -> None:
        try:
            act(*arguments)
        except Exception as error:  # noqa: BLE001 (whatever it is, the test raises it)
            self._settled.put(error)


def test_a_server_that_is_restarted_under_load_loses_nothing_and_repeats_nothing(
    opened: Any, server: postgres_server.Server, tmp_path: Path
):
    mine = postgres_server.at(server.url, tmp_path)
    load = Load(lambda: opened(mine), publishers=2, each=100, workers=3)

    for number in load.settled():
        if number in {20, 90, 150}:
            server.stop(signal.SIGINT if number == 90 else signal.SIGQUIT)
            server.start()

    exchange = opened(mine)
    assert Counter(bodies(exchange.read(topic="work"))) == Counter(load.wanted)
    assert Counter(bodies(exchange.read(topic="work.completed"))) == Counter(load.wanted)
    assert {stats.topic: stats.done for stats in exchange.stats()}["work"] == len(load.wanted)
