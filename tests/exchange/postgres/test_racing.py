"""What several clients do at the same moment, and what nobody does while there is nothing to do."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from prloom.exchange import notifier, validation
from prloom.exchange.claim import Completed
from prloom.exchange.exchange import Exchange
from prloom.exchange.postgres import address


def at_once(count: int, act: Callable[[int], Any]) -> list[Any]:
    """Do it so many times, all at the same moment."""
    start = threading.Barrier(count)

    def one(number: int) -> Any:
        start.wait()
        return act(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.fixture
def several(opened: Any) -> list[Exchange]:
    return [opened() for _ in range(6)]


def test_a_key_that_many_publish_at_once_is_one_message(several: list[Exchange]):
    for round_ in range(5):
        published = at_once(6, lambda number, round_=round_: several[number].publish("work", "x", key=f"k{round_}"))

        assert len({message.id for message in published}) == 1
    assert len(several[0].read()) == 5


def test_a_draft_that_many_publish_at_once_is_one_message(several: list[Exchange]):
    draft = validation.draft("work", "x")

    published = at_once(6, lambda number: several[number].publish_all([draft])[0])

    assert several[0].read() == (published[0],)
    assert set(map(repr, published)) == {repr(published[0])}


def test_keys_in_opposite_order_are_published_without_a_deadlock(several: list[Exchange]):
    def publish(number: int) -> None:
        keys = [f"k{each}" for each in range(10)]
        drafts = [validation.draft("work", key, key=key) for key in (keys if number % 2 else reversed(keys))]
        several[number].publish_all(drafts)

    at_once(6, publish)

    assert len(several[0].read()) == 10


def test_what_many_claim_at_once_is_claimed_once_and_by_publication(several: list[Exchange]):
    for number in range(60):
        several[0].publish("work", str(number))

    def drain(number: int) -> list[int]:
        taken = []
        while (claimed := several[number].claim("work")) is not None:
            taken.append(int(claimed.message.body))
        return taken

    by_worker = at_once(6, drain)

    assert Counter(body for taken in by_worker for body in taken) == Counter(range(60))
    assert all(taken == sorted(taken) for taken in by_worker)


def test_what_another_worker_is_just_claiming_is_passed_by(exchange: Exchange, raw: psycopg.Connection):
    for body in ("first", "second"):
        exchange.publish("work", body)
        exchange.publish("other", body)
    raw.execute("BEGIN")
    raw.execute("SELECT FROM deliveries WHERE seq IN (SELECT min(seq) FROM deliveries GROUP BY topic) FOR UPDATE")

    for topics in ("work", ["work", "other"]):
        claimed = exchange.claim(topics)
        assert claimed.message.body == "second"

    raw.execute("ROLLBACK")
    assert [each.message.body for each in exchange.claims(["work", "other"], patience=timedelta(0))] == ["first"] * 2


def test_of_many_that_claim_one_concurrency_key_at_once_one_gets_it(several: list[Exchange]):
    for number in range(6):
        several[0].publish("work", str(number), concurrency_key="tree")
    for _ in range(6):
        claimed = [each for each in at_once(6, lambda number: several[number].claim("work")) if each is not None]

        assert len(claimed) == 1
        claimed[0].complete("done")


def test_a_claim_that_many_settle_at_once_replies_once(several: list[Exchange]):
    several[0].publish("work", "x")
    claimed = several[0].claim("work")
    settled = at_once(6, lambda number: several[number].store.settle(claimed.id, Completed(body="y")))

    assert {each.reply.id for each in settled} == {settled[0].reply.id}
    assert len(several[0].read(topic="work.completed")) == 1


def test_a_lease_that_many_see_end_at_once_ends_once(several: list[Exchange], raw: psycopg.Connection):
    published = several[0].publish("work", "x", max_attempts=1)
    several[0].claim("work")
    raw.execute("UPDATE claims SET lease_until = clock_timestamp()")

    at_once(6, lambda number: several[number].claim("work"))

    (claim,) = several[0].inspect(published.id).claims
    assert claim.status == "expired"
    assert len(several[0].read(topic="work.dead")) == 1


def test_an_end_that_many_notifiers_claim_at_once_is_reported_by_one(several: list[Exchange]):
    for _ in range(5):
        published = several[0].publish("work", "x", track=True)
        claimed = several[0].claim("work")
        claimed.complete("y")

        taken = [ended for some in at_once(6, lambda number: several[number].claim_notifications()) for ended in some]

        assert [ended.conversation_id for ended in taken] == [published.id]


def test_a_reader_that_continues_misses_no_publisher_that_is_slow_to_commit(
    opened: Any, url: str, raw: psycopg.Connection
):
    exchange, reader = opened(), opened()
    first = exchange.publish("work", "first")
    raw.execute("BEGIN")
    raw.execute("SELECT pg_advisory_xact_lock_shared(%s)", (address.read_url(url).key("order"),))
    raw.execute(
        "WITH m AS (INSERT INTO messages (id, topic, body, created_at, conversation_id, metadata)"
        " VALUES ('slow', 'work', 'slow', now(), 'slow', '{}') RETURNING seq)"
        " INSERT INTO deliveries (seq, topic, created_at, state, reply)"
        " SELECT seq, 'work', now(), 'ready', false FROM m"
    )
    exchange.publish("work", "quick")  # has a later number, and is committed before

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(reader.read, since=first.id)
        while not waits(raw):
            assert not reading.done()
        raw.execute("COMMIT")

        assert [message.body for message in reading.result(60)] == ["slow", "quick"]


def waits(raw: psycopg.Connection) -> bool:
    return bool(raw.execute("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").fetchall())


def test_nothing_is_written_where_nothing_is_to_be_done(exchange: Exchange, raw: psycopg.Connection):
    exchange.publish("work", "x", delay=timedelta(hours=1))
    exchange.publish("other", "x")
    assert exchange.claim(["work", "nowhere"]) is None
    listener = exchange.store.listen()

    def written() -> bool:
        before = raw.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())").fetchone()
        for _ in range(3):
            assert exchange.claim(["work", "nowhere"]) is None
            notifier.wait_limit(exchange.store, listener, ["work"])
            assert exchange.store.expire() == 0
            assert exchange.claim_notifications() == ()
            exchange.read()
            exchange.stats()
        return raw.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())").fetchone() != before

    assert not all(written() for _ in range(10))  # once a minute the server itself may write, about its tables
    listener.close()


def test_the_time_is_the_servers(exchange: Exchange, raw: psycopg.Connection):
    ((before,),) = raw.execute("SELECT clock_timestamp()").fetchall()
    published = exchange.publish("work", "x")
    claimed = exchange.claim("work", lease=timedelta(minutes=1))
    claimed.renew()
    settled = claimed.complete("y")
    now = exchange.store.now()
    ((after,),) = raw.execute("SELECT clock_timestamp()").fetchall()

    times = [before, published.created_at, claimed.claim.claimed_at, settled.claim.completed_at, now, after]
    assert times == sorted(times)
    assert before + timedelta(minutes=1) < claimed.claim.lease_until < after + timedelta(minutes=1)
    assert published.created_at.tzinfo is UTC


def test_a_clients_clock_that_is_wrong_ends_no_lease(opened: Any):
    """All times that a client sends are the test's own clock's, and with the server's none is sent at all."""
    wrong = opened(clock=lambda: datetime(2001, 1, 1, tzinfo=UTC))
    wrong.publish("work", "x")
    right = opened()
    claimed = right.claim("work", lease=timedelta(minutes=1))

    assert opened().claim("work") is None
    assert claimed.complete("y").claim.status == "completed"


def test_a_body_of_many_megabytes_is_kept(exchange: Exchange, opened: Any):
    body = "\0✓x" * 4_000_000

    published = exchange.publish("work", body)

    claimed = opened().claim("work")
    assert claimed.message.body == body
    assert len(opened().check(published.id).entries) == 1
