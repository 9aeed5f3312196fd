"""A conversation gets so many replies a day: the others wait for the next day, or for a person."""

from __future__ import annotations

from datetime import UTC, datetime

from stage import Stage, said

from prloom.api import Event, Target
from prloom.core.delivery import reply_limit
from prloom.engine.views import dashboard, status, why
from prloom.model.record import Position, Timestamp
from prloom.model.state import QueuedAction, RepliesToday

NOW = datetime(2026, 11, 21, 23, tzinfo=UTC)


def in_thread(event_id: str, thread: str = "t1") -> Event:
    return said(event_id, reply_to=Target("forge", {"thread": thread}))


async def replies(stage: Stage, limit: int, *events: Event) -> None:
    stage.configure(f"[limits]\nmax_replies_per_thread_per_day = {limit}\n")
    stage.adopt()
    stage.bridge.news += events
    await stage.tick()


async def test_replies_beyond_the_limit_wait_for_the_next_day_and_none_is_lost(stage: Stage):
    await replies(stage, 2, in_thread("a"), in_thread("b"), in_thread("c"), in_thread("d", "t2"))
    assert stage.bridge.said == ["re a", "re b", "re d"]

    await stage.tick_after(hours=1)
    assert len(stage.bridge.said) == 3

    await stage.tick_after(hours=24)
    assert stage.bridge.said == ["re a", "re b", "re d", "re c"]


async def test_replies_to_several_comments_of_a_thread_are_one_conversation(stage: Stage):
    threads = [("a", "t1"), ("b", "t1"), ("c", "t1"), ("d", "t2")]
    targets = {name: Target("forge", {"pr": 7, "thread": thread, "inline": name}) for name, thread in threads}

    await replies(stage, 2, *(said(name, reply_to=target) for name, target in targets.items()))

    assert stage.bridge.said == ["re a", "re b", "re d"]


async def test_status_and_why_name_the_brake_and_how_it_is_lifted(stage: Stage):
    await replies(stage, 1, in_thread("a"), in_thread("b"))

    (plan,) = status.read(stage.paths, stage.clock()).plans

    assert plan.actions.waiting
    (waiting,) = plan.actions.waiting
    assert waiting.reason == (
        "the brake max_replies_per_thread_per_day = 1 is on: the conversation has had as many today; "
        f"`prloom retry {waiting.id}` lifts it"
    )
    assert str(waiting.until).endswith("T00:00:00.000Z")
    assert waiting.reason in [step.reason for step in why.document(why.find(stage.paths, "b")).steps]


async def test_a_person_lifts_it_for_one_reply(stage: Stage):
    await replies(stage, 1, in_thread("a"), in_thread("b"), in_thread("c"))
    (plan,) = status.read(stage.paths, stage.clock()).plans
    assert plan.actions.waiting

    await stage.carry_out("retry", plan.actions.waiting[0].id)

    assert stage.bridge.said == ["re a", "re b"]


async def test_a_resumed_plan_sends_all_that_the_limit_holds_back(stage: Stage):
    await replies(stage, 1, *(in_thread(name) for name in "abcdef"))

    (need,) = dashboard.read(stage.paths, stage.clock()).needs
    assert (need.kind, need.commands) == ("brake", ("prloom resume pr-7",))
    assert need.text == (
        "5 replies wait: the brake max_replies_per_thread_per_day = 1 is on: the conversation has had as many today"
    )
    await stage.carry_out("resume", "pr-7")

    assert stage.bridge.said == [f"re {name}" for name in "abcdef"]


async def test_a_resume_in_a_comment_lifts_the_limit_too(stage: Stage):
    await replies(stage, 1, in_thread("a"), in_thread("b"))

    await stage.take_in(said("r", body="/prloom resume"))

    assert "re b" in stage.bridge.said


async def test_zero_is_no_limit(stage: Stage):
    await replies(stage, 0, *(in_thread(f"e{number}") for number in range(12)))

    assert len(stage.bridge.said) == 12


def a_reply(action_id: str, *, lifted: bool = False) -> QueuedAction:
    since = Timestamp.of(NOW)
    return QueuedAction(
        id=action_id, position=Position(1, 0), target="forge", since=since, thread="forge:1", lifted=lifted
    )


def test_what_goes_at_once_counts_together_and_the_day_begins_anew():
    full = RepliesToday(day="2026-11-21", counts={"forge:1": 1})
    sending = [a_reply("a"), a_reply("b"), a_reply("c", lifted=True)]

    assert list(reply_limit.over_limit(full, sending, 2, NOW)) == ["b"]
    assert list(reply_limit.over_limit(full, sending, 2, NOW.replace(day=22))) == []
    assert reply_limit.counted(full, [a_reply("a")], NOW).counts == {"forge:1": 2}
    assert reply_limit.counted(full, [a_reply("a")], NOW.replace(day=22)).counts == {"forge:1": 1}
