from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from prloom import backoff
from prloom.backoff import Backoff
from prloom.exchange import rules
from prloom.exchange.claim import Delivery, Ending, MessageEntry
from prloom.exchange.message import Message

NOW = datetime(2026, 11, 21, tzinfo=UTC)
POLICY = Backoff(timedelta(seconds=1), timedelta(seconds=60))


def an_entry(
    name: str,
    ending: Ending | None = None,
    *,
    topic: str = "work",
    reply_to: str | None = None,
    parent: str | None = None,
    leased: bool = False,
    read: bool = False,
) -> MessageEntry:
    """Return a message that a worker has begun if it ended or is leased, unless its requester only `read` it."""
    message = Message(id=name, topic=topic, body="", created_at=NOW, parent_id=parent or reply_to, conversation_id="c")
    state = "dead" if ending == "dead" else "done" if ending else "leased" if leased else "ready"
    attempts = int((ending is not None or leased) and not read)
    reply = reply_to is not None
    stands = Delivery(message_id=name, topic=topic, state=state, ending=ending, reply=reply, attempts=attempts)
    return MessageEntry(message=message, delivery=stands)


def test_waits_double_up_to_the_longest_and_are_a_little_shorter_by_the_key():
    waits = [backoff.delay(POLICY, attempt, "m", shortest=timedelta()) for attempt in range(1, 100)]

    full = [timedelta(seconds=min(2**power, 60)) for power in range(99)]
    assert all(0.9 * longest <= wait <= longest for wait, longest in zip(waits, full, strict=True))
    assert waits[0] != backoff.delay(POLICY, 1, "another", shortest=timedelta())


@pytest.mark.parametrize(
    ("entries", "outcome"),
    [
        ([an_entry("a")], "pending"),
        ([an_entry("a", leased=True)], "pending"),
        ([an_entry("a", "completed")], "success"),
        ([an_entry("a", "failed")], "failure"),
        ([an_entry("a", "timed_out")], "timed_out"),
        ([an_entry("a", "dead")], "dead"),
        ([an_entry("a", "cancelled")], "cancelled"),
        ([an_entry("a", "completed"), an_entry("b")], "pending"),
        ([an_entry("a", "completed"), an_entry("b", "cancelled"), an_entry("c", "failed")], "failure"),
        ([an_entry("a", "failed"), an_entry("b", "timed_out")], "timed_out"),
        ([an_entry("a", "timed_out"), an_entry("b", "dead")], "dead"),
        # a reply that is read, and one that is somebody's work
        ([an_entry("a", "failed"), an_entry("b", topic="answers", reply_to="a")], "failure"),
        ([an_entry("a", "failed"), an_entry("b", topic="work", reply_to="a")], "pending"),
        ([an_entry("a", "failed"), an_entry("b", "completed", reply_to="a")], "success"),
        ([an_entry("a", "completed"), an_entry("b", "dead", reply_to="a")], "dead"),
        ([an_entry("a", "failed"), an_entry("b", "completed", reply_to="a", read=True)], "failure"),
        ([an_entry("a", "completed"), an_entry("b", "completed", reply_to="a", read=True)], "success"),
        # a note that is read, one that is somebody's work, and a request that waits for its first worker
        ([an_entry("a", "completed"), an_entry("b", topic="progress", parent="a")], "success"),
        ([an_entry("a", leased=True), an_entry("b", topic="progress", parent="a")], "pending"),
        ([an_entry("a", "completed"), an_entry("b", topic="work", parent="a")], "pending"),
        ([an_entry("a", "completed"), an_entry("b", topic="progress", parent="a", leased=True)], "pending"),
        ([an_entry("a", "completed"), an_entry("b", topic="progress")], "pending"),
        # it failed, which was repaired; it was tried again, and died
        (
            [
                an_entry("a", "dead"),
                an_entry("b", "completed", reply_to="a"),
                an_entry("c", topic="work.dead", reply_to="a"),
            ],
            "dead",
        ),
        ([], "pending"),
    ],
)
def test_a_conversations_outcome_is_that_of_its_work(entries: list[MessageEntry], outcome: str):
    assert rules.outcome(entries, {"work"}) == outcome
