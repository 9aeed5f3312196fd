"""Actions on their way out: each with its own attempts, none twice, and the end of each visible."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from stage import ListBridge, Stage, said
from stage_parts import refusing

from prloom.api import Action, Delivered, Merge, PluginContext, Refused, Target, TriageContext, marker
from prloom.core.delivery import outbox
from prloom.engine.plan.dependencies import AT_ONCE


def queue(stage: Stage, plan_id: str = "pr-7") -> list[dict[str, Any]]:
    return list(stage.state(plan_id)["queue"].values())


def attempts(stage: Stage) -> dict[str, Any]:
    file = stage.local() / "bus/state/bridge.forge.actions.json"
    return json.loads(file.read_text())["attempts"]


async def test_what_is_delivered_has_a_receipt_and_is_decided(stage: Stage, pr_7: Path):
    await stage.poll(said("a"))

    file = json.loads((stage.local() / "bus/state/bridge.forge.actions.json").read_text())
    (receipt,) = file["receipts"]
    assert receipt["actionId"] == stage.bridge.actions_seen[0].id
    assert receipt["url"].startswith("https://forge.example/")
    assert file["attempts"] == {}
    assert stage.decisions()[-1]["deliveries"][0]["state"] == "delivered"


async def test_a_refusal_that_may_pass_is_tried_again_by_the_backoff(stage: Stage, pr_7: Path):
    stage.bridge.refuse = refusing(Refused("busy", retryable=True))
    await stage.poll(said("a"))
    (waiting,) = queue(stage)
    assert (waiting["attempts"], waiting["error"]) == (1, "busy")
    assert "2026-01-01T12:00:27" <= waiting["nextTry"] <= "2026-01-01T12:00:30.000Z"

    await stage.tick_after(seconds=30)

    assert stage.bridge.said == ["re a"]
    assert queue(stage) == []


async def test_retry_after_is_kept(stage: Stage, pr_7: Path):
    stage.bridge.refuse = refusing(Refused("slow down", retryable=True, retry_after=timedelta(minutes=7)))

    await stage.poll(said("a"))

    assert queue(stage)[0]["nextTry"] == "2026-01-01T12:07:00.000Z"


async def test_a_failed_action_is_revived_by_a_retry(stage: Stage, pr_7: Path):
    stage.bridge.refuse = refusing(Refused("locked"))
    await stage.poll(said("a"))

    await stage.poll(said("again", "/prloom retry"))

    assert sorted(stage.bridge.said) == ["Retrying 0 events and 1 failed action.", "re a"]


async def test_an_action_for_a_target_that_nobody_claims_is_failed_with_a_remedy(stage: Stage, pr_7: Path):
    await stage.poll(said("a", reply_to=Target("carrier-pigeon", {})))

    (failed,) = queue(stage)
    assert failed["failed"]
    assert "no bridge claims the target 'carrier-pigeon'" in failed["error"]
    assert f"`prloom retry {failed['id']}`" in failed["error"]


@pytest.mark.parametrize(
    "error",
    [ConnectionError("cut off"), SystemExit(1), KeyError("bug"), KeyboardInterrupt("x"), asyncio.CancelledError()],
)
async def test_a_bridge_that_breaks_leaves_the_outcome_unknown_and_is_asked_to_look_first(
    stage: Stage, error: BaseException, pr_7: Path
):
    uncertain: list[bool] = []
    failures = [error]

    class Breaking(ListBridge):
        async def actions(self, ctx: Any, action: Action) -> Delivered | Refused:
            uncertain.append(ctx.uncertain)
            if failures:
                raise failures.pop()
            return await super().actions(ctx, action)

    bridge = Breaking()
    stage.bridges = [bridge]
    bridge.news = [said("a")]
    await stage.tick()
    assert queue(stage)[0]["error"].startswith(f"{type(error).__name__}: {error}")

    await stage.tick_after(minutes=1)

    assert uncertain == [False, True]
    assert bridge.said == ["re a"]


async def test_a_refusal_whose_outcome_is_known_leaves_no_doubt(stage: Stage, pr_7: Path):
    stage.bridge.refuse = refusing(Refused("busy", retryable=True))

    await stage.poll(said("a"))

    assert attempts(stage) == {}


async def test_an_answer_that_is_none_is_a_failure_with_doubt(stage: Stage, pr_7: Path):
    stage.bridge.refuse = lambda action: "posted"  # type: ignore[assignment,return-value]

    await stage.poll(said("a"))

    assert queue(stage)[0]["error"] == "the bridge forge returned str, not Delivered or Refused"
    assert len(attempts(stage)) == 1


@pytest.mark.parametrize(
    ("result", "wrong"),
    [
        (Refused("slow", retryable=True, retry_after=60), "`retry_after` of Refused is int, not timedelta or None"),  # type: ignore[arg-type]
        (Refused(ValueError("slow")), "`error` of Refused is ValueError, not str"),  # type: ignore[arg-type]
        (Refused("slow", commit=7), "`commit` of Refused is int, not str or None"),  # type: ignore[arg-type]
        (Delivered(remote_id=55), "`remote_id` of Delivered is int, not str or None"),  # type: ignore[arg-type]
        (Delivered(url=Path("/a")), "`url` of Delivered is PosixPath, not str or None"),  # type: ignore[arg-type]
    ],
)
async def test_a_field_of_a_result_with_a_wrong_type_fails_the_action_and_nothing_else_of_the_plan(
    stage: Stage, result: Delivered | Refused, wrong: str, pr_7: Path
):
    answers = [result]
    stage.bridge.refuse = lambda action: answers.pop() if answers else None
    await stage.poll(said("a"))

    await stage.poll(said("b"))

    (failed,) = queue(stage)
    assert failed["error"] == f"the bridge forge returned a wrong field: {wrong}; correct the bridge"
    assert failed["failed"]
    assert len(attempts(stage)) == 1  # it may have arrived all the same
    assert stage.bridge.said == ["re b"]


async def test_so_does_one_of_several_results(stage: Stage, pr_7: Path):
    class Together(ListBridge):
        async def deliver_batch(self, ctx: Any, actions: Sequence[Action]) -> Sequence[Delivered | Refused]:
            results = [await self.actions(ctx, action) for action in actions]
            return [Delivered(remote_id=1), *results[1:]]  # type: ignore[arg-type]

    stage.bridges = [Together()]
    stage.bridges[0].news = [said("a"), said("b")]

    await stage.tick()

    (failed,) = queue(stage)
    assert "`remote_id` of Delivered is int, not str or None" in failed["error"]


async def test_after_its_file_of_attempts_was_damaged_an_action_is_looked_for_before_it_is_posted(stage: Stage):
    stage.adopt()

    def lose(action: Action) -> None:
        stage.bridge.refuse = lambda action: None
        stage.bridge.posts.append(f"re a\n\n{marker(action.id)}")
        raise ConnectionError("the answer was lost")

    stage.bridge.refuse = lose
    await stage.poll(said("a"))
    (stage.local() / "bus/state/bridge.forge.actions.json").write_text('{"attempts": ')

    await stage.tick_after(minutes=1)

    assert stage.bridge.said == ["re a"]
    assert queue(stage) == []


async def test_while_one_action_hangs_other_plans_deliver(stage: Stage, pr_7: Path):
    stage.adopt("pr-8", pr=8)
    release = asyncio.Event()
    seen = stage.bridge.actions_seen

    async def hang(what: str) -> None:
        if what == "actions" and seen[-1].related_event_id == "a":
            await release.wait()

    stage.bridge.waits = hang
    stage.bridge.news = [said("a"), said("b", pr=8)]
    async with stage.running():
        await stage.until(lambda: stage.bridge.said == ["re b"])
        release.set()
        await stage.until(lambda: stage.bridge.said == ["re b", "re a"])


async def test_an_action_that_was_revived_while_it_was_tried_keeps_its_new_time(stage: Stage, pr_7: Path):
    """What came of the attempt is told of the action as it is by then, not as it was."""
    trying, go_on = asyncio.Event(), asyncio.Event()

    async def hang(what: str) -> None:
        if what == "actions" and stage.bridge.actions_seen[-1].related_event_id == "a":
            trying.set()
            await go_on.wait()

    stage.bridge.refuse = refusing(*[Refused("busy", retryable=True)] * 4)
    stage.bridge.news = [said("a")]
    for _ in range(3):
        await stage.tick()
        stage.clock.advance(hours=1)
    assert queue(stage)[0]["attempts"] == 3
    stage.bridge.waits = hang
    async with stage.running() as dispatcher:
        await trying.wait()
        runtime = dispatcher.registry.runtimes["pr-7"]
        (action,) = runtime.event_store.state.queue.values()
        runtime.event_store.commit("operator", "operator", deliveries=(outbox.revived(action),))
        go_on.set()
        await stage.until(lambda: queue(stage)[0]["error"] == "busy")

    assert queue(stage)[0]["attempts"] == 1


async def test_the_replies_of_one_plan_appear_in_the_order_in_which_they_were_decided(stage: Stage, pr_7: Path):
    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def speak(plan: str, triage: TriageContext) -> None:
            for number in range(5):
                triage.emit_comment(triage.events[0].reply_to, f"part {number}")
            triage.mark_event_handled(triage.events[0].id)

    stage.plugin("p", register)

    await stage.poll(said("a"))

    assert stage.bridge.said == [f"part {number}" for number in range(5)]


async def test_an_action_whose_line_is_lost_is_failed_and_says_so(stage: Stage, pr_7: Path):
    stage.bridge.refuse = refusing(Refused("busy", retryable=True))
    await stage.poll(said("a"))
    file = pr_7 / "bus/actions.jsonl"
    file.write_bytes(b"?" * (len(file.read_bytes()) - 1) + b"\n")

    await stage.tick_after(minutes=1)

    assert "its line in actions.jsonl cannot be read" in queue(stage)[0]["error"]


async def test_of_very_many_replies_at_once_a_bridge_is_given_a_few_at_a_time(stage: Stage):
    """Or most would wait for the bridge's one connection until their time is up, and nobody knew what came of them."""
    under_way, most = 0, 0

    async def slowly(call: str) -> None:
        nonlocal under_way, most
        if call == "actions":
            under_way += 1
            most = max(most, under_way)
            for _ in range(50):
                await asyncio.sleep(0)
            under_way -= 1

    names = [f"pr-{number}" for number in range(40)]
    for number, name in enumerate(names):
        stage.adopt(name, pr=number)
    stage.bridge.news = [said(f"{number}", pr=number) for number in range(40)]
    stage.bridge.waits = slowly

    await stage.tick()

    assert len(stage.bridge.said) == len(names)
    assert 1 < most <= AT_ONCE


def merging(ctx: PluginContext) -> None:
    """Merge whatever it is told."""

    @ctx.hook("beforeTriage")
    def merge(plan: str, triage: TriageContext) -> None:
        for event in triage.events:
            triage.emit_merge(None, "squash", related_event_id=event.id)
            triage.mark_event_handled(event.id)


A, B = "a" * 40, "b" * 40


@pytest.mark.parametrize(("context", "commit"), [({}, A), ({"head": B}, B)], ids=["unknown", "heard"])
async def test_a_merge_is_of_the_head_that_was_known_when_it_was_decided_on(
    stage: Stage, context: dict[str, str], commit: str, pr_7: Path
):
    stage.plugin("merge", merging)
    stage.bridge.heads = {7: A}

    await stage.poll(said("a", context=context))

    assert [action.payload for action in stage.bridge.actions_seen] == [Merge("squash", commit)]


async def test_all_attempts_of_a_merge_without_a_commit_are_about_the_commit_of_the_first(stage: Stage, pr_7: Path):
    """As it is with one that an older prloom had queued: also where it is told anew after it had failed."""
    stage.plugin("merge", merging)
    stage.bridge.refuse = refusing(
        Refused("busy", retryable=True, commit=A), Refused("no", commit=B), Refused("odd", commit=7)
    )  # type: ignore[arg-type]
    await stage.poll(said("a"))
    await stage.tick_after(minutes=1)
    await stage.poll(said("again", "/prloom retry"))

    assert [action.payload for action in stage.bridge.actions_seen if isinstance(action.payload, Merge)] == [
        Merge("squash"),
        Merge("squash", A),
        Merge("squash", A),
    ]
