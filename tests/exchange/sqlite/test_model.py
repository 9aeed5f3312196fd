"""Whatever is done in whatever order, the database delivery as the twin in memory does.

`PRLOOM_MODEL_EXAMPLES=1000` looks longer.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from prloom.exchange.claimed_message import ClaimedMessage
from prloom.exchange.errors import ExchangeError
from prloom.exchange.exchange import Exchange
from prloom.exchange.memory import MemoryStore
from prloom.exchange.protocol import ExchangeStore, MessageFilter
from prloom.exchange.sqlite.store import SqliteStore

TOPICS = ("a", "b", "a.failed")
WAYS: dict[str, Callable[[ClaimedMessage], Any]] = {
    "complete": lambda claimed: claimed.complete("done"),
    "complete on b": lambda claimed: claimed.complete("done", topic="b"),
    "fail": lambda claimed: claimed.fail("broke"),
    "fail, to be tried again": lambda claimed: claimed.fail("died", retry=True),
    "time out": lambda claimed: claimed.time_out("late"),
    "hand back": lambda claimed: claimed.release(),
    "renew": lambda claimed: claimed.renew(),
}
ALL = MessageFilter(limit=10_000)
EXAMPLES = int(os.environ.get("PRLOOM_MODEL_EXAMPLES", "25"))
some = st.integers(0, 30)


class World:
    """One store with the claims that were got from it, and what it looks like from outside, ids aside."""

    def __init__(self, store: ExchangeStore) -> None:
        self.exchange = Exchange(store)
        self.claimed: list[ClaimedMessage] = []

    def message(self, number: int) -> str | None:
        messages = self.exchange.store.read(ALL)
        return messages[number % len(messages)].id if messages else None

    def content(self) -> list[Any]:
        store = self.exchange.store
        messages = store.read(ALL)
        positions: dict[str | None, int | None] = {None: None} | {each.id: n for n, each in enumerate(messages)}
        found: list[Any] = []
        for each in messages:
            entry = store.entry(each.id)
            delivery = entry.delivery
            found.append(
                (each.topic, each.body, positions[each.parent_id], positions[each.conversation_id], each.created_at)
            )
            found.append(
                (dict(each.metadata), delivery.state, delivery.ending, delivery.attempts, delivery.max_attempts)
            )
            found.append((delivery.key, delivery.concurrency_key, delivery.ended_at, delivery.reply))
            found.append(delivery.available_at is None or delivery.available_at <= store.now())
            found.extend(
                (positions[c.message_id], c.status, c.attempt, c.claimed_at, c.lease_until, c.completed_at, c.error)
                for c in entry.claims
            )
        return [*found, store.stats(), sorted(store.worked(TOPICS)), [store.availability([t]).ready for t in TOPICS]]


class Model(RuleBasedStateMachine):
    """Does the same in both worlds, and compares what came of it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.time = datetime(2026, 11, 21, 12, tzinfo=UTC)
        self.memory = World(MemoryStore(clock=lambda: self.time))
        self.stores: list[SqliteStore] = []
        self.sqlite = World(self.opened())

    def opened(self) -> SqliteStore:
        self.stores.append(SqliteStore(Path(self.folder.name) / "exchange.db", clock=lambda: self.time))
        return self.stores[-1]

    def both(self, does: Callable[[World], Any]) -> None:
        one, two = self.outcome(does, self.memory), self.outcome(does, self.sqlite)
        assert one == two

    def outcome(self, does: Callable[[World], Any], world: World) -> Any:
        try:
            return does(world)
        except ExchangeError as error:
            return type(error)

    @rule(
        topic=st.sampled_from(TOPICS),
        body=st.sampled_from("xy"),
        parent=st.none() | some,
        key=st.sampled_from([None, None, "k", "l"]),
        concurrency_key=st.sampled_from([None, "tree"]),
        delay=st.sampled_from([None, None, timedelta(seconds=30)]),
        max_attempts=st.sampled_from([None, 1, 2]),
        track=st.booleans(),
    )
    def publish(self, topic: str, body: str, parent: int | None, **more: Any) -> None:
        def does(world: World) -> str:
            parent_id = None if parent is None else world.message(parent) or "nobody"
            return world.exchange.publish(topic, body, parent=parent_id, **more).body

        self.both(does)

    @rule(topics=st.sampled_from([["a"], ["a", "b"], TOPICS, TOPICS]), max_attempts=st.integers(1, 3))
    def claim(self, topics: Sequence[str], max_attempts: int) -> None:
        def does(world: World) -> Any:
            claimed = world.exchange.claim(topics, instance="i", lease=timedelta(seconds=60), max_attempts=max_attempts)
            if claimed is None:
                return None
            world.claimed.append(claimed)
            return claimed.message.body, claimed.message.created_at, claimed.claim.attempt

        self.both(does)

    @rule(which=some, way=st.sampled_from(sorted(WAYS)))
    def settle(self, which: int, way: str) -> None:
        def does(world: World) -> Any:
            if not world.claimed:
                return None
            done = WAYS[way](world.claimed[-1 - which % len(world.claimed)])
            claim = done if way == "renew" else done.claim
            return claim.status, claim.lease_until, way == "renew" or done.reply is None

        self.both(does)

    @rule(which=some)
    def cancel(self, which: int) -> None:
        self.both(lambda world: world.exchange.cancel(world.message(which) or "nobody").topic)

    @rule(which=some)
    def retry(self, which: int) -> None:
        self.both(lambda world: world.exchange.retry(world.message(which) or "nobody").state)

    @rule(which=some)
    def check(self, which: int) -> None:
        def does(world: World) -> Any:
            name = world.message(which)
            return world.exchange.check(world.exchange.message(name).conversation_id).outcome if name else None

        self.both(does)

    @rule()
    def tell(self) -> None:
        def does(world: World) -> Any:
            ended = world.exchange.claim_notifications(timedelta(seconds=20))
            if ended:
                assert world.exchange.ack_notification(ended[0])
            return sorted(each.outcome for each in ended)

        one, two = self.outcome(does, self.memory), self.outcome(does, self.sqlite)
        assert one == two

    @rule(seconds=st.sampled_from([30, 60, 60, -30, 4000]))
    def wait(self, seconds: int) -> None:
        self.time += timedelta(seconds=seconds)

    @rule()
    def expire(self) -> None:
        self.both(lambda world: world.exchange.store.expire())

    @rule()
    def prune(self) -> None:
        self.both(lambda world: world.exchange.prune(timedelta(hours=1)))

    @rule()
    def crash(self) -> None:
        """Lose the process: nothing is closed, and what was claimed stays so."""
        store = self.opened()
        self.sqlite.exchange = Exchange(store)
        for claimed in self.sqlite.claimed:
            claimed._store = store

    @invariant()
    def alike(self) -> None:
        assert self.sqlite.content() == self.memory.content()

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.folder.cleanup()


Model.TestCase.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestModel = pytest.mark.timeout(300)(Model.TestCase)


def test_leases_that_run_out_at_one_time_end_in_the_order_of_their_messages():
    model = Model()
    new = {"body": "x", "parent": None, "delay": None, "key": None, "max_attempts": None, "concurrency_key": None}
    model.publish(topic="b", track=False, **new)
    model.publish(topic="a", track=False, **new)
    model.claim(topics=["a"], max_attempts=1)
    model.claim(topics=["a", "b"], max_attempts=1)
    model.wait(seconds=60)
    model.expire()
    model.alike()
    model.teardown()
