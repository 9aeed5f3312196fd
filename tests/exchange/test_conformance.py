"""What every store keeps: run against each of them."""

from __future__ import annotations

from datetime import timedelta
from select import select
from typing import Any

import pytest

from prloom.exchange import notifier, validation
from prloom.exchange.claim import Completed, Ended
from prloom.exchange.errors import ClaimOverError, ExchangeError, KeyTakenError, UnknownMessageError
from prloom.exchange.exchange import Exchange

MINUTE = timedelta(minutes=1)


def bodies(messages: Any) -> list[str]:
    return [message.body for message in messages]


def drained(exchange: Exchange, topic: str = "work") -> list[str]:
    taken = []
    for claimed in exchange.claims(topic, patience=timedelta(0)):
        taken.append(claimed.message.body)
        claimed.complete("done")
    return taken


# ---- messages


def test_a_message_is_read_as_it_was_published(exchange: Exchange, clock: Any):
    published = exchange.publish("work", "do\0 it ✓", producer="me", metadata={"n": 1, "s": "t", "b": True, "x": None})

    assert exchange.message(published.id) == published
    assert (published.topic, published.body, published.producer) == ("work", "do\0 it ✓", "me")
    assert published.metadata == {"n": 1, "s": "t", "b": True, "x": None}
    assert published.created_at == clock()


def test_a_body_that_is_longer_than_the_reader_wants_is_left_out(exchange: Exchange):
    wanted = exchange.publish("work", "short")
    exchange.publish("work", "ä" * 10)

    read, left_out = exchange.read(topic="work", longest_body=19)
    assert read == wanted
    assert (left_out.body, left_out.omitted) == ("", 20)
    assert [each.body for each in exchange.read(topic="work", longest_body=20)] == ["short", "ä" * 10]


def test_a_message_is_of_its_parents_conversation_unless_one_is_given(exchange: Exchange):
    first = exchange.publish("work", "x", conversation="talk")
    child = exchange.publish("work", "y", parent=first.id)
    other = exchange.publish("work", "z", parent=first.id, conversation="other")

    assert (child.parent_id, child.conversation_id) == (first.id, "talk")
    assert (other.parent_id, other.conversation_id) == (first.id, "other")


def test_an_unknown_parent_is_an_error_and_nothing_is_published(exchange: Exchange):
    with pytest.raises(UnknownMessageError, match="there is no message 'nobody' here"):
        exchange.publish("work", "x", parent="nobody")

    assert exchange.read() == ()


def test_of_several_drafts_all_are_published_or_none(exchange: Exchange):
    good, bad = validation.draft("work", "x"), validation.draft("work", "y", parent="nobody")

    with pytest.raises(UnknownMessageError):
        exchange.publish_all([good, bad])

    assert exchange.read() == ()


def test_messages_are_read_by_publication_even_when_the_clock_goes_back(exchange: Exchange, clock: Any):
    first = exchange.publish("work", "1")
    clock.pass_(hours=-2)
    exchange.publish("other", "2")
    exchange.publish("work", "3")

    assert bodies(exchange.read()) == ["1", "2", "3"]
    assert bodies(exchange.read(topic="work")) == ["1", "3"]
    assert bodies(exchange.read(since=first.id, limit=1)) == ["2"]
    assert bodies(exchange.read(conversation=first.id)) == ["1"]


@pytest.mark.parametrize("name", ["\udc80", "a\0b"])
def test_a_name_that_no_message_can_have_is_an_unknown_one(exchange: Exchange, name: str):
    for ask in (
        exchange.message,
        exchange.inspect,
        exchange.check,
        exchange.cancel,
        exchange.retry,
        exchange.subscribe,
    ):
        with pytest.raises(UnknownMessageError, match=r"there is no (message|conversation) '"):
            ask(name)
    with pytest.raises(UnknownMessageError):
        exchange.read(since=name)
    assert exchange.read(topic=name) == exchange.read(conversation=name) == ()
    with pytest.raises(ClaimOverError):
        exchange.store.settle(f"1-{name}", Completed(body=""))
    assert not exchange.ack_notification(Ended(conversation_id=name, outcome="success", token=name))


def test_reading_since_an_unknown_message_is_an_error(exchange: Exchange):
    with pytest.raises(UnknownMessageError, match="there is no message 'nobody' here"):
        exchange.read(since="nobody")


# ---- keys


def test_publishing_twice_with_one_key_gives_the_same_message(exchange: Exchange, another: Exchange):
    first = exchange.publish("work", "x", key="k")

    assert another.publish("work", "x", key="k") == first
    assert bodies(exchange.read()) == ["x"]


def test_a_key_of_another_body_is_an_error(exchange: Exchange):
    first = exchange.publish("work", "x", key="k")

    with pytest.raises(
        KeyTakenError, match=f"the key 'k' on topic work belongs to message {first.id}, which has another"
    ):
        exchange.publish("work", "y", key="k")


def test_a_key_is_of_its_topic(exchange: Exchange):
    exchange.publish("work", "x", key="k")
    exchange.publish("other", "y", key="k")

    assert bodies(exchange.read()) == ["x", "y"]


def test_a_draft_that_is_published_again_is_the_same_message(exchange: Exchange):
    draft = validation.draft("work", "x")

    assert exchange.publish_all([draft]) == exchange.publish_all([draft])
    assert bodies(exchange.read()) == ["x"]


# ---- claims


def test_of_several_topics_the_message_published_first_is_claimed_first(exchange: Exchange):
    for topic in ("b", "a", "c", "b"):
        exchange.publish(topic, topic)

    taken = [claimed.message.body for claimed in exchange.claims(["a", "b"], patience=timedelta(0))]

    assert taken == ["b", "a", "b"]


def test_a_message_has_one_active_claim_at_most(exchange: Exchange, another: Exchange):
    exchange.publish("work", "x")

    assert exchange.claim("work") is not None
    assert another.claim("work") is None


def test_a_claim_names_its_worker_and_its_times(exchange: Exchange, clock: Any):
    published = exchange.publish("work", "x")

    claimed = exchange.claim("work", group="g", instance="i", lease=MINUTE)

    assert claimed is not None
    claim = claimed.claim
    assert (claim.message_id, claim.worker_group, claim.worker_instance_id) == (published.id, "g", "i")
    assert (claim.claimed_at, claim.lease_until) == (clock(), clock() + MINUTE)
    assert (claim.status, claim.attempt, claim.completed_at) == ("active", 1, None)
    entry = exchange.inspect(published.id)
    assert entry.claims == (claim,)
    assert entry.delivery.state == "leased"


# ---- settling


def test_a_completed_claim_publishes_its_reply(exchange: Exchange, clock: Any):
    request = exchange.publish("work", "x", conversation="talk")
    claimed = exchange.claim("work")
    clock.pass_(seconds=3)

    settled = claimed.complete("the answer", topic="answers", metadata={"plugin": "cat", "exit_code": 0})

    assert settled.reply is not None
    assert (settled.reply.topic, settled.reply.body) == ("answers", "the answer")
    assert (settled.reply.parent_id, settled.reply.conversation_id) == (request.id, "talk")
    assert settled.reply.metadata == {"status": "completed", "plugin": "cat", "exit_code": 0}
    assert (settled.claim.status, settled.claim.completed_at) == ("completed", clock())
    entry = exchange.inspect(request.id)
    assert (entry.delivery.state, entry.delivery.ending, entry.delivery.ended_at) == ("done", "completed", clock())


@pytest.mark.parametrize(
    ("how", "topic", "status", "body", "outcome"),
    [
        (lambda claimed: claimed.complete("fine"), "work.completed", "completed", "fine", "success"),
        (lambda claimed: claimed.fail("broke"), "work.failed", "failed", "broke", "failure"),
        (lambda claimed: claimed.fail("broke", body="out", topic="f"), "f", "failed", "out", "failure"),
        (lambda claimed: claimed.time_out("too long"), "work.timed_out", "timed_out", "too long", "timed_out"),
        (
            lambda claimed: claimed.fail("died", retry=True),
            "work.dead",
            "dead",
            "died (attempt 1, the last one)",
            "dead",
        ),
    ],
)
def test_each_ending_has_its_reply_and_ends_the_conversation(  # noqa: PLR0917 (the columns of the table)
    exchange: Exchange, how: Any, topic: str, status: str, body: str, outcome: str
):
    request = exchange.publish("work", "x", max_attempts=1)
    claimed = exchange.claim("work")
    assert exchange.check(request.id).outcome == "pending"

    reply = how(claimed).reply

    assert (reply.topic, reply.metadata["status"], reply.body) == (topic, status, body)
    assert exchange.inspect(request.id).delivery.state == ("dead" if outcome == "dead" else "done")
    assert exchange.check(request.id).outcome == outcome
    assert bodies(exchange.read(topic=topic)) == [body]


def test_a_claim_that_is_settled_twice_the_same_way_replies_once(exchange: Exchange):
    exchange.publish("work", "x")
    claimed = exchange.claim("work")

    assert claimed.complete("y") == claimed.complete("y")
    assert bodies(exchange.read()) == ["x", "y"]


def test_a_claim_cannot_be_settled_in_two_ways(exchange: Exchange):
    exchange.publish("work", "x")
    claimed = exchange.claim("work")
    claimed.complete("y")

    with pytest.raises(
        ClaimOverError, match=rf"claim {claimed.id} on message {claimed.message.id} is over \(completed at"
    ):
        claimed.fail("no")


def test_an_unknown_claim_cannot_be_settled(exchange: Exchange):
    with pytest.raises(ClaimOverError, match="there is no claim nobody"):
        exchange.store.settle("nobody", Completed(body="x"))


def test_a_released_message_is_ready_at_once_and_the_attempt_does_not_count(exchange: Exchange):
    exchange.publish("work", "x", max_attempts=1)
    claimed = exchange.claim("work")

    assert claimed.release("stopping").reply is None

    again = exchange.claim("work")
    assert again.claim.attempt == 1
    before = exchange.inspect(claimed.message.id).claims[0]
    assert (before.status, before.error) == ("cancelled", "stopping")


def test_a_message_that_is_released_with_a_delay_is_claimed_only_after_it_and_the_attempt_does_not_count(
    exchange: Exchange, clock: Any
):
    exchange.publish("work", "x", max_attempts=1)
    claimed = exchange.claim("work")

    settled = claimed.release("not for me", delay=MINUTE)

    assert settled.retry_at is not None
    assert exchange.claim("work") is None
    clock.pass_(seconds=61)
    assert exchange.claim("work").claim.attempt == 1


# ---- leases


def test_a_message_whose_lease_is_over_is_claimed_by_another_worker(exchange: Exchange, another: Exchange, clock: Any):
    exchange.publish("work", "x")
    claimed = exchange.claim("work", instance="first", lease=MINUTE)
    clock.pass_(seconds=70)
    assert another.claim("work") is None  # it backs off first
    clock.pass_(seconds=2)

    taken = another.claim("work")

    assert taken is not None
    assert taken.claim.attempt == 2
    old, new = exchange.inspect(claimed.message.id).claims
    assert (old.status, old.error, new.status) == ("expired", "the lease of worker first ran out", "active")


def test_a_worker_whose_lease_is_over_can_neither_renew_nor_settle(exchange: Exchange, clock: Any):
    exchange.publish("work", "x")
    claimed = exchange.claim("work", lease=MINUTE)
    clock.pass_(minutes=1)

    with pytest.raises(ClaimOverError, match=r"is over \(expired at 2026-11-21 12:01:00 UTC\); discard its work"):
        claimed.complete("late")
    with pytest.raises(ClaimOverError, match="discard its work"):
        claimed.renew()
    assert bodies(exchange.read()) == ["x"]


def test_a_renewed_lease_lasts_from_then_on(exchange: Exchange, another: Exchange, clock: Any):
    exchange.publish("work", "x")
    claimed = exchange.claim("work", lease=MINUTE)
    clock.pass_(seconds=50)

    assert claimed.renew().lease_until == clock() + MINUTE

    clock.pass_(seconds=50)
    assert another.claim("work") is None
    assert claimed.complete("y").claim.status == "completed"


def test_a_claim_that_was_renewed_ends_with_its_last_lease(exchange: Exchange, another: Exchange, clock: Any):
    exchange.publish("work", "x")
    claimed = exchange.claim("work", lease=MINUTE)
    clock.pass_(seconds=30)
    another.store.renew(claimed.id, 2 * MINUTE)
    clock.pass_(seconds=60)

    ended = claimed.complete("y").claim

    assert ended.lease_until == clock() + MINUTE
    assert exchange.inspect(claimed.message.id).claims == (ended,)


def test_any_client_with_a_claims_id_can_settle_it(exchange: Exchange, another: Exchange):
    published = exchange.publish("work", "x", conversation="talk")
    claimed = exchange.claim("work")

    settled = another.store.settle(claimed.id, Completed(body="y"))

    assert settled.reply is not None
    assert (settled.reply.parent_id, settled.reply.conversation_id) == (published.id, "talk")
    assert exchange.inspect(published.id).claims == (settled.claim,)
    assert claimed.complete("y").reply == settled.reply


def test_every_reader_finds_an_expired_lease_ended(exchange: Exchange, clock: Any):
    published = exchange.publish("work", "x", max_attempts=1)
    exchange.claim("work", lease=MINUTE)
    clock.pass_(minutes=2)

    assert exchange.check(published.id).outcome == "dead"
    assert exchange.inspect(published.id).claims[0].status == "expired"
    assert {stats.topic: (stats.ready, stats.leased, stats.dead) for stats in exchange.stats()} == {
        "work": (0, 0, 1),
        "work.dead": (1, 0, 0),
    }


# ---- attempts


def test_what_is_to_be_tried_again_waits_longer_each_time_until_it_is_dead(exchange: Exchange, clock: Any):
    published = exchange.publish("work", "x", max_attempts=3)
    waits = []
    for attempt in (1, 2, 3):
        claimed = exchange.claim("work")
        assert claimed.claim.attempt == attempt
        settled = claimed.fail("no such command", retry=True)
        due = exchange.inspect(published.id).delivery.available_at
        assert settled.retry_at == due
        if due is not None:
            assert exchange.claim("work") is None
            waits.append(due - clock())
            clock.time = due

    assert timedelta(seconds=0.9) <= waits[0] <= timedelta(seconds=1) < waits[1] <= timedelta(seconds=2)
    assert exchange.check(published.id).outcome == "dead"
    (dead,) = exchange.read(topic="work.dead")
    assert (dead.parent_id, dead.body) == (published.id, "no such command (attempt 3, the last one)")


def test_the_workers_limit_counts_where_the_publisher_set_none(exchange: Exchange):
    exchange.publish("work", "x")
    claimed = exchange.claim("work", max_attempts=1)

    assert claimed.fail("died", retry=True).reply is not None


# ---- delay


def test_a_delayed_message_is_claimed_when_its_time_has_come_in_its_place(exchange: Exchange, clock: Any):
    exchange.publish("work", "later", delay=MINUTE)
    exchange.publish("work", "now")
    assert exchange.store.availability(["work"]).ready
    assert drained(exchange) == ["now"]
    assert not exchange.store.availability(["work"]).ready
    assert exchange.store.availability(["work"]).next_at == clock() + MINUTE
    clock.pass_(minutes=1)
    exchange.publish("work", "last")

    assert drained(exchange) == ["later", "last"]


def test_a_message_without_a_delay_is_ready_though_the_clock_went_back(exchange: Exchange, clock: Any):
    exchange.publish("work", "x")
    clock.pass_(days=-1)

    assert drained(exchange) == ["x"]


# ---- concurrency


def test_of_one_concurrency_key_one_message_is_worked_on_at_a_time(exchange: Exchange, another: Exchange):
    for body in ("a", "b"):
        exchange.publish("work", body, concurrency_key="tree")
    exchange.publish("work", "c", concurrency_key="other tree")
    exchange.publish("elsewhere", "d", concurrency_key="tree")

    first, second = exchange.claim("work"), another.claim("work")

    assert first is not None
    assert second is not None
    assert (first.message.body, second.message.body) == ("a", "c")
    assert another.claim(["work", "elsewhere"]) is None
    first.complete("done")
    third = another.claim(["work", "elsewhere"])
    assert third.message.body == "b"


def test_a_message_whose_time_has_come_may_be_claimable_until_a_worker_claims(exchange: Exchange, clock: Any):
    exchange.publish("later", "x", concurrency_key="tree", delay=MINUTE)
    clock.pass_(minutes=1)
    exchange.publish("work", "y", concurrency_key="tree")
    exchange.claim("work")

    assert exchange.store.availability(["later"]).ready
    assert exchange.claim("later") is None
    assert not exchange.store.availability(["later"]).ready


# ---- people


def test_a_waiting_message_that_is_cancelled_is_not_worked_on(exchange: Exchange):
    published = exchange.publish("work", "x")

    reported = exchange.cancel(published.id, "not wanted")

    assert (reported.topic, reported.body, reported.parent_id) == ("work.cancelled", "not wanted", published.id)
    assert exchange.claim("work") is None
    assert exchange.check(published.id).outcome == "cancelled"


def test_a_worker_of_a_cancelled_message_can_neither_renew_nor_settle(exchange: Exchange):
    published = exchange.publish("work", "x")
    claimed = exchange.claim("work")
    exchange.cancel(published.id)

    with pytest.raises(ClaimOverError, match=r"is over \(cancelled at"):
        claimed.renew()
    with pytest.raises(ClaimOverError):
        claimed.complete("y")


def test_what_has_ended_cannot_be_cancelled(exchange: Exchange):
    published = exchange.publish("work", "x")
    drained(exchange)

    with pytest.raises(ExchangeError, match=r"has ended \(completed\); there is nothing to cancel"):
        exchange.cancel(published.id)


def test_a_dead_message_that_is_retried_has_all_its_attempts_again(exchange: Exchange):
    published = exchange.publish("work", "x", max_attempts=1)
    claimed = exchange.claim("work")
    claimed.fail("died", retry=True)

    assert exchange.retry(published.id).state == "ready"

    assert exchange.check(published.id).outcome == "pending"
    assert drained(exchange) == ["x"]
    assert exchange.check(published.id).outcome == "success"
    assert len(exchange.inspect(published.id).claims) == 2


def test_what_was_completed_or_is_worked_on_cannot_be_retried(exchange: Exchange):
    published = exchange.publish("work", "x")
    claimed = exchange.claim("work", instance="w")
    with pytest.raises(ExchangeError, match="is being worked on by w; wait for it, or cancel it"):
        exchange.retry(published.id)
    claimed.complete("y")

    with pytest.raises(ExchangeError, match="was completed; publish it again"):
        exchange.retry(published.id)


# ---- conversations


def test_a_conversation_goes_on_where_its_reply_is_the_next_ones_work(exchange: Exchange):
    exchange.publish("repair", "earlier")
    drained(exchange, "repair")
    published = exchange.publish("work", "x")
    claimed = exchange.claim("work", failure_topic="repair")
    claimed.fail("broke")
    assert exchange.check(published.id).outcome == "pending"

    drained(exchange, "repair")

    assert exchange.check(published.id).outcome == "success"


def test_a_reply_on_a_topic_where_a_worker_waits_is_that_ones_work_to_come(exchange: Exchange, another: Exchange):
    assert another.claim(["repair", "review"]) is None
    published = exchange.publish("work", "x")
    claimed = exchange.claim("work", success_topic="review")

    claimed.complete("y")

    assert exchange.check(published.id).outcome == "pending"


def test_a_note_without_a_worker_does_not_keep_its_conversation_from_ending(exchange: Exchange, clock: Any):
    published = exchange.publish("work", "x", track=True)
    claimed = exchange.claim("work")
    exchange.publish("progress", "half", parent=published.id)
    assert exchange.check(published.id).outcome == "pending"
    assert exchange.claim_notifications() == ()

    claimed.complete("y")

    assert exchange.check(published.id).outcome == "success"
    assert [ended.conversation_id for ended in exchange.claim_notifications()] == [published.id]
    clock.pass_(days=2)
    assert exchange.prune(timedelta(days=1)) == 3


def test_a_note_on_a_topic_that_has_workers_is_work(exchange: Exchange, another: Exchange, clock: Any):
    assert another.claim("progress") is None
    published = exchange.publish("work", "x", track=True)
    exchange.publish("progress", "half", parent=published.id)
    drained(exchange)
    clock.pass_(days=2)

    assert exchange.check(published.id).outcome == "pending"
    assert exchange.claim_notifications() == ()
    assert exchange.prune(timedelta(days=1)) == 0


def test_a_request_in_a_conversation_waits_for_its_first_worker(exchange: Exchange, clock: Any):
    published = exchange.publish("work", "x", track=True)
    exchange.publish("later", "y", conversation=published.id)
    drained(exchange)
    clock.pass_(days=2)

    assert exchange.check(published.id).outcome == "pending"
    assert exchange.claim_notifications() == ()
    assert exchange.prune(timedelta(days=1)) == 0


def test_an_unknown_conversation_is_an_error(exchange: Exchange):
    with pytest.raises(UnknownMessageError, match="there is no conversation 'nobody' here"):
        exchange.check("nobody")


# ---- telling


def test_the_end_of_a_tracked_conversation_is_reported_once(exchange: Exchange, another: Exchange):
    published = exchange.publish("work", "x", track=True)
    assert exchange.claim_notifications() == ()
    drained(exchange)

    (ended,) = exchange.claim_notifications()

    assert (ended.conversation_id, ended.outcome) == (published.id, "success")
    assert another.claim_notifications() == ()
    assert exchange.ack_notification(ended)
    assert another.claim_notifications() == ()


def test_an_end_that_a_notifier_did_not_report_goes_to_the_next(exchange: Exchange, another: Exchange, clock: Any):
    published = exchange.publish("work", "x")
    exchange.subscribe(published.id)
    drained(exchange)
    (first,) = exchange.claim_notifications(MINUTE)
    clock.pass_(minutes=2)

    (second,) = another.claim_notifications(MINUTE)

    assert second.conversation_id == published.id
    assert not exchange.ack_notification(first)
    assert another.ack_notification(second)
    clock.pass_(minutes=2)
    assert exchange.claim_notifications() == ()


def test_a_conversation_that_continues_after_its_end_was_reported_is_reported_again(
    exchange: Exchange, another: Exchange
):
    published = exchange.publish("work", "x", key="k", track=True)
    claimed = exchange.claim("work")
    claimed.fail("broken")
    (first,) = exchange.claim_notifications()
    exchange.ack_notification(first)

    exchange.retry(published.id)
    drained(exchange)
    (second,) = another.claim_notifications()
    another.ack_notification(second)
    exchange.publish("work", "y", parent=published.id, track=True)
    drained(exchange)
    (third,) = exchange.claim_notifications()
    exchange.ack_notification(third)
    exchange.publish("work", "x", key="k", track=True)
    exchange.publish("work", "z", parent=published.id)
    drained(exchange)

    assert [each.outcome for each in (first, second, third)] == ["failure", "success", "success"]
    assert another.claim_notifications() == ()


def test_a_conversation_that_continues_while_its_end_is_reported_is_reported_again(exchange: Exchange):
    published = exchange.publish("work", "x", track=True)
    claimed = exchange.claim("work")
    claimed.fail("broken")
    (first,) = exchange.claim_notifications()

    exchange.retry(published.id)

    assert not exchange.ack_notification(first)
    drained(exchange)
    assert [each.outcome for each in exchange.claim_notifications()] == ["success"]


def test_of_many_tracked_conversations_those_that_ended_are_reported(exchange: Exchange):
    asked = {body: exchange.publish("work", body, track=True) for body in ("done", "leased", "goes on")}
    waiting = exchange.publish("slow", "waits", track=True)
    exchange.publish("work", "not tracked")
    for body in ("done", "leased", "goes on"):
        claimed = exchange.claim("work")
        if body != "leased":
            claimed.complete(body, topic="next" if body == "goes on" else None)
    further = exchange.claim("next")

    assert [each.conversation_id for each in exchange.claim_notifications()] == [asked["done"].id]

    further.complete("y")
    exchange.cancel(waiting.id)
    reported = {each.conversation_id: each.outcome for each in exchange.claim_notifications()}
    assert reported == {asked["goes on"].id: "success", waiting.id: "cancelled"}


def test_a_conversation_that_is_not_tracked_is_not_reported(exchange: Exchange):
    exchange.publish("work", "x")
    drained(exchange)

    assert exchange.claim_notifications() == ()
    with pytest.raises(UnknownMessageError, match="there is no conversation 'nobody' here"):
        exchange.subscribe("nobody")


# ---- upkeep


def test_pruning_removes_what_ended_long_ago_and_nothing_else(exchange: Exchange, clock: Any):
    old = exchange.publish("work", "old", track=True)
    drained(exchange)
    waiting = exchange.publish("later", "waiting")
    clock.pass_(days=2)
    new = exchange.publish("work", "new")
    drained(exchange)

    assert exchange.prune(timedelta(days=1)) == 2

    assert bodies(exchange.read()) == ["waiting", "new", "done"]
    with pytest.raises(UnknownMessageError):
        exchange.message(old.id)
    assert exchange.inspect(waiting.id).delivery.state == "ready"
    assert exchange.check(new.id).outcome == "success"
    assert exchange.claim_notifications() == ()


def test_a_conversation_that_went_on_lately_is_not_pruned(exchange: Exchange, clock: Any):
    exchange.publish("work", "old")
    clock.pass_(days=2)
    drained(exchange)

    assert exchange.prune(timedelta(days=1)) == 0


def test_only_so_many_conversations_of_a_producer_are_pruned_at_a_time_the_oldest_first(exchange: Exchange, clock: Any):
    for body in ("a", "b", "c"):
        exchange.publish("work", body, producer="mine")
    exchange.publish("work", "d", producer="theirs")
    drained(exchange)
    clock.pass_(days=2)

    assert exchange.prune(timedelta(days=1), producer="mine", limit=2) == 4
    assert bodies(exchange.read(topic="work")) == ["c", "d"]
    assert exchange.prune(timedelta(days=1), producer="mine", limit=2) == 2
    assert bodies(exchange.read(topic="work")) == ["d"]


@pytest.mark.parametrize(("end", "outcome"), [("complete", "success"), ("fail", "failure")])
def test_a_reply_that_was_read_waits_no_more_and_its_conversation_has_the_same_outcome(
    exchange: Exchange, end: str, outcome: str
):
    published = exchange.publish("work", "x", track=True)
    getattr(exchange.claim("work"), end)("y")
    reply = exchange.find_reply(published.id)
    assert reply is not None

    assert exchange.acknowledge(reply.id)

    assert not exchange.acknowledge(reply.id)
    assert [each.ready for each in exchange.stats()] == [0, 0]
    assert exchange.check(published.id).outcome == outcome
    assert [each.outcome for each in exchange.claim_notifications()] == [outcome]
    assert exchange.find_reply(published.id) == reply
    assert len(exchange.read()) == 2


def test_a_reply_that_a_worker_is_to_get_and_a_message_that_is_no_reply_are_not_acknowledged(exchange: Exchange):
    assert exchange.claim("work.completed") is None
    published = exchange.publish("work", "x")
    assert not exchange.acknowledge(published.id)
    exchange.claim("work").complete("y")
    reply = exchange.find_reply(published.id)
    assert reply is not None

    assert not exchange.acknowledge(reply.id)

    assert exchange.claim("work.completed") is not None
    with pytest.raises(UnknownMessageError):
        exchange.acknowledge("nothing")


def test_a_topic_is_counted_by_state(exchange: Exchange, clock: Any):
    for body in ("a", "b", "c"):
        exchange.publish("work", body, max_attempts=1)
    exchange.publish("work", "d", delay=MINUTE)
    clock.pass_(seconds=30)
    first, second = exchange.claim("work"), exchange.claim("work")
    assert second is not None
    first.fail("died", retry=True)

    stats = {each.topic: each for each in exchange.stats()}

    work = stats["work"]
    assert (work.ready, work.delayed, work.leased, work.done, work.dead) == (1, 1, 1, 0, 1)
    assert work.oldest_ready_age == timedelta(seconds=30)
    assert (work.published_per_minute, work.ended_per_minute) == (0.8, 0.2)
    assert list(stats) == ["work", "work.dead"]


def test_a_message_was_published_lately_though_the_clock_was_set_back_since(exchange: Exchange, clock: Any):
    exchange.publish("work", "a")
    clock.pass_(seconds=-30)
    exchange.publish("work", "b")
    clock.pass_(minutes=5)

    (work,) = exchange.stats()

    assert work.published_per_minute == 0.2


def test_a_delayed_message_is_counted_once(exchange: Exchange, clock: Any):
    exchange.publish("work", "x", delay=MINUTE)

    (delayed,) = exchange.stats()
    clock.pass_(minutes=2)
    (ready,) = exchange.stats()

    assert (delayed.ready, delayed.delayed, delayed.oldest_ready_age) == (0, 1, None)
    assert (ready.ready, ready.delayed, ready.oldest_ready_age) == (1, 0, 2 * MINUTE)


# ---- waking


def test_a_listener_hears_of_what_another_client_publishes(exchange: Exchange, another: Exchange):
    listener = exchange.store.listen()
    fd = listener.fileno()
    if fd is None:
        pytest.skip("this store cannot be listened to here")
    another.publish("work", "x")

    notifier.wait_limit(exchange.store, listener, ["work"])

    assert select([fd], [], [], 60)[0] == [fd]
    listener.drain()
    assert select([fd], [], [], 0)[0] == []
    listener.close()
