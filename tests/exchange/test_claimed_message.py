from __future__ import annotations

from datetime import UTC, datetime

import pytest

from prloom.exchange.claim import Settled, Settlement
from prloom.exchange.errors import OutcomeUnknownError, StoreBusyError, StoreError
from prloom.exchange.exchange import Exchange
from prloom.exchange.memory import MemoryStore
from prloom.exchange.message import Message


class LosingStore(MemoryStore):
    """A store whose connection is lost in commit, before or after the change stands."""

    def __init__(self, *, stands: bool, times: int) -> None:
        super().__init__(clock=lambda: datetime(2026, 11, 21, tzinfo=UTC))
        self.stands = stands
        self.times = times

    def publish(self, drafts) -> tuple[Message, ...]:
        return self._lose(super().publish, drafts)

    def settle(self, claim_id: str, settlement: Settlement) -> Settled:
        return self._lose(super().settle, claim_id, settlement)

    def _lose(self, act, *args: object):
        self.times -= 1
        if self.times < 0 or self.stands:
            done = act(*args)
        if self.times >= 0:
            raise OutcomeUnknownError("the connection was lost")
        return done


@pytest.mark.parametrize("stands", [True, False])
def test_what_is_published_while_the_connection_is_lost_is_there_once(stands: bool):  # noqa: FBT001
    exchange = Exchange(LosingStore(stands=stands, times=2))

    published = exchange.publish("work", "x")

    assert exchange.read() == (published,)


@pytest.mark.parametrize("stands", [True, False])
def test_a_claim_that_is_settled_while_the_connection_is_lost_replies_once(stands: bool):  # noqa: FBT001
    store = LosingStore(stands=stands, times=0)
    exchange = Exchange(store)
    exchange.publish("work", "x")
    claimed = exchange.claim("work")
    store.times = 2

    settled = claimed.complete("y")

    assert settled.reply is not None
    assert exchange.read(topic="work.completed") == (settled.reply,)


class BusyStore(MemoryStore):
    """A store that loses its connection in a commit, and whose turn does not come afterwards."""

    def __init__(self, *troubles: StoreError) -> None:
        super().__init__()
        self.troubles = list(troubles)

    def publish(self, drafts) -> tuple[Message, ...]:
        raise self.troubles.pop(0)


@pytest.mark.parametrize("later", [StoreBusyError("busy"), StoreError("away")])
def test_an_unknown_outcome_stays_unknown_when_the_store_fails_afterwards(later: StoreError):
    lost = OutcomeUnknownError("the connection was lost")

    with pytest.raises(OutcomeUnknownError, match=rf"the connection was lost \(now: {later}\)"):
        Exchange(BusyStore(lost, later)).publish("work", "x")


def test_an_error_before_the_change_is_raised_as_it_is():
    with pytest.raises(StoreBusyError, match="busy"):
        Exchange(BusyStore(StoreBusyError("busy"))).publish("work", "x")


def test_a_connection_that_stays_lost_is_an_error():
    exchange = Exchange(LosingStore(stands=False, times=9))

    with pytest.raises(OutcomeUnknownError, match="the connection was lost"):
        exchange.publish("work", "x")


def test_a_claim_of_which_nothing_was_said_is_handed_back():
    exchange = Exchange(MemoryStore())
    published = exchange.publish("work", "x")
    claimed = exchange.claim("work")
    assert claimed is not None

    with claimed:
        pass

    assert exchange.inspect(published.id).delivery.state == "ready"
    assert exchange.inspect(published.id).claims[0].error == "handed back"


def test_a_claim_whose_work_raises_is_tried_again_later():
    exchange = Exchange(MemoryStore())
    published = exchange.publish("work", "x")
    claimed = exchange.claim("work")
    assert claimed is not None

    with pytest.raises(ValueError, match="no"), claimed:
        raise ValueError("no")

    entry = exchange.inspect(published.id)
    assert (entry.delivery.state, entry.delivery.attempts) == ("ready", 1)
    assert entry.claims[0].error == "ValueError: no"


def test_a_claim_that_was_settled_stays_so_when_its_block_ends():
    exchange = Exchange(MemoryStore())
    exchange.publish("work", "x")
    claimed = exchange.claim("work", success_topic="s")

    with claimed:
        claimed.complete("y")

    assert [message.body for message in exchange.read(topic="s")] == ["y"]
