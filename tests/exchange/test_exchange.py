from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from prloom.exchange import notifier
from prloom.exchange.exchange import Exchange
from prloom.exchange.memory import MemoryStore
from prloom.exchange.notifier import DEAF_RECHECK, RECHECK, Notifier
from prloom.exchange.sqlite.store import SqliteStore

NOTHING = timedelta(0)
LONG = timedelta(minutes=1)


@contextmanager
def both(folder: Path) -> Iterator[tuple[Exchange, Exchange]]:
    """Two clients of one exchange."""
    path = folder / "exchange.db"
    with Exchange(SqliteStore(path)) as here, Exchange(SqliteStore(path)) as there:
        yield here, there


def answering(exchange: Exchange, topic: str = "work") -> threading.Thread:
    """Answer one message in a thread of its own."""

    def work() -> None:
        for claimed in exchange.claims(topic, patience=LONG):
            claimed.complete(claimed.message.body.upper())
            return

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_an_exchange_is_one_worker_unless_another_is_named(tmp_path: Path):
    with both(tmp_path) as (here, there):
        for body in "abcd":
            here.publish("work", body)
        claims = [here.claim("work"), here.claim("work", instance=None), here.claim("work", instance="i")]
        claims.append(there.claim("work"))

        first, second, named, other = (claimed.claim.worker_instance_id for claimed in claims if claimed is not None)

        assert first == second
        assert named == "i"
        assert other not in {first, named}


def test_a_request_waits_for_its_own_reply(tmp_path: Path):
    with both(tmp_path) as (here, there):
        other = here.publish("work.completed", "somebody else's")
        thread = answering(there)

        reply = here.request("work", "x", patience=LONG)

        thread.join()
        assert reply is not None
        assert (reply.body, reply.topic) == ("X", "work.completed")
        assert reply.id != other.id


def test_a_message_that_follows_a_request_is_not_its_reply():
    exchange = Exchange(MemoryStore())
    request = exchange.publish("work", "x")
    exchange.publish("news", "half done", parent=request.id)

    assert exchange.wait_for_reply(request.id, patience=NOTHING) is None


def test_a_request_without_a_reply_in_time_continues():
    exchange = Exchange(MemoryStore())

    assert exchange.request("work", "x", patience=NOTHING) is None
    assert exchange.stats()[0].ready == 1


def test_a_request_whose_last_worker_died_is_answered_by_its_death(clock):
    exchange = Exchange(MemoryStore(clock=clock))
    request = exchange.publish("work", "x", max_attempts=1)
    exchange.claim("work", lease=LONG)
    clock.pass_(minutes=2)

    reply = exchange.wait_for_reply(request.id, patience=NOTHING)

    assert reply is not None
    assert reply.topic == "work.dead"


def test_following_continues_after_a_message_and_yields_new_ones(tmp_path: Path):
    with both(tmp_path) as (here, there):
        first = here.publish("work", "1")
        here.publish("work", "2")
        followed = here.follow(topic="work", since=first.id, patience=LONG)
        seen = [next(followed).body]
        there.publish("other", "no")
        thread = threading.Thread(target=there.publish, args=("work", "3"))
        thread.start()

        seen.append(next(followed).body)

        thread.join()
        assert seen == ["2", "3"]
        followed.close()


def test_following_ends_when_nothing_came_for_a_while():
    exchange = Exchange(MemoryStore())
    exchange.publish("work", "x")

    assert [message.body for message in exchange.follow(patience=NOTHING)] == ["x"]


def test_a_wait_ends_when_something_is_due(clock):
    exchange = Exchange(MemoryStore(clock=clock))
    listener = exchange.store.listen()
    assert notifier.wait_limit(exchange.store, listener, ["work"]) == RECHECK
    exchange.publish("work", "x", delay=timedelta(seconds=2))

    assert notifier.wait_limit(exchange.store, listener, ["work"]) == timedelta(seconds=2)
    assert notifier.wait_limit(exchange.store, listener, ["other"]) == RECHECK
    clock.pass_(seconds=9)
    assert notifier.wait_limit(exchange.store, listener, ["work"]) == NOTHING
    exchange.close()


def test_a_store_that_cannot_be_listened_to_is_checked_more_often():
    class Deaf:
        def fileno(self) -> int | None:
            return None

        def drain(self) -> None: ...

        def close(self) -> None: ...

    assert notifier.wait_limit(MemoryStore(), Deaf(), ["work"]) == DEAF_RECHECK


def test_many_notifications_that_are_not_drained_are_kept_as_one():
    notifications = Notifier()
    listener = notifications.listen()
    for _ in range(70_000):
        notifications.notify()

    listener.drain()

    listener.close()
    listener.close()
    notifications.close()


def test_an_idle_worker_writes_nothing(tmp_path: Path):
    with both(tmp_path) as (here, there):
        here.publish("later", "x", delay=LONG)
        here.publish("other", "x")
        here.claim(["other", "work", "later"])
        here.publish("tracked", "x", track=True)
        db = there.store._connection._db  # type: ignore[attr-defined]
        before = db.execute("PRAGMA data_version").fetchone()

        assert list(here.claims(["work", "later"], patience=NOTHING)) == []
        here.store.expire()
        here.claim_notifications()
        here.stats()

        assert db.execute("PRAGMA data_version").fetchone() == before
        here.publish("work", "x")
        assert db.execute("PRAGMA data_version").fetchone() != before
