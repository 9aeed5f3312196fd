"""Notices: what only happened is for plugins, moves the plan's status, and costs no agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from stage import Stage, said, until

from prloom.api import NOTICES, Author, Comment, Event, HookContext, PluginContext, Refused, TriageContext
from prloom.engine.operator import offline
from prloom.engine.views import status, why


def told(kind: str, event_id: str = "", **fields: Any) -> Event:
    return said(event_id or kind, body="", **{"type": kind, "title": kind, **fields})


def deleted(comment: str, **fields: Any) -> Event:
    return told("comment_deleted", f"{comment}:gone", context={"supersedes": comment}, **fields)


def plan_status(stage: Stage) -> str:
    (plan,) = status.read(stage.paths, stage.clock()).plans
    return plan.status


@pytest.mark.parametrize("kind", NOTICES)
async def test_a_notice_is_shown_to_every_plugin_and_costs_no_agent(stage: Stage, kind: str, pr_7: Path):
    def register(ctx: PluginContext) -> None:
        @ctx.hook("onEvent")
        def seen(event: Event, ctx: HookContext) -> None: ...

        @ctx.hook("beforeTriage")
        def look(plan: str, triage: TriageContext) -> None: ...

    host = stage.plugin("watcher", register)

    await stage.poll(told(kind))

    assert [call.hook for call in host.calls] == ["onEvent", "beforeTriage"]
    assert stage.triager.batches == []
    assert stage.state()["done"] == {"handled": 1}
    last = why.document(why.find(stage.paths, kind)).steps[-1]
    assert (last.stage, last.by, last.verdict) == ("notice", "prloom", "handled")
    assert last.reason == "a notice, shown to every plugin; it needs no answer"


@pytest.mark.parametrize(
    "event",
    [
        told("merge_conflict"),
        told("pr_merged", author=Author("ann", "write")),
        said("e", body="I merged it because of this.", type="pr_merged"),
    ],
    ids=["another type", "by somebody", "with words"],
)
async def test_what_may_want_an_answer_goes_to_the_agent(stage: Stage, event: Event, pr_7: Path):
    await stage.poll(event)

    assert stage.triager.batches == [(event.id,)]


async def test_a_plugin_may_put_a_notice_off_and_answer_it(stage: Stage, pr_7: Path):
    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def later(plan: str, triage: TriageContext) -> None:
            (event,) = triage.events
            if triage.deferral(event.id) is None:
                triage.mark_event_deferred(event.id, "when it is calm", 60_000)
            else:
                triage.emit_comment(event.reply_to, "Thank you.")
                triage.mark_event_handled(event.id, "thanked")

    stage.plugin("thanks", register)
    await stage.poll(told("pr_merged"))
    assert stage.open()["pr_merged"]["state"] == "deferred"

    await stage.tick_after(minutes=1)

    assert stage.bridge.said == ["Thank you."]
    assert stage.state()["done"] == {"handled": 1}


async def test_a_notice_does_not_keep_a_comment_from_the_agent(stage: Stage, pr_7: Path):
    await stage.poll(said("a"), told("pr_pushed"), said("b"))

    assert stage.triager.batches == [("a", "b")]
    assert stage.state()["done"] == {"triaged": 2, "handled": 1}


# ---- the plan's status


async def test_the_plan_is_what_its_pull_request_has_become_and_its_comments_are_still_answered(stage: Stage):
    stage.adopt()
    found = []
    for kind in ("pr_closed", "pr_reopened", "pr_merged"):
        stage.bridge.news += [told(kind)]
        await stage.tick()
        found.append(plan_status(stage))
    await stage.poll(said("late"))

    assert found == ["closed", "review", "merged"]
    assert stage.bridge.said == ["re late"]


async def test_of_several_in_one_poll_the_last_counts(stage: Stage, pr_7: Path):
    await stage.poll(told("pr_closed"), told("pr_reopened"), told("pr_pushed"))

    assert plan_status(stage) == "review"


def killed_after_the_intake(local: Path) -> None:
    """Leave of a plan's folder what a kill right after the first record of the log would have left."""
    log = local / "bus/decisions.jsonl"
    log.write_text(log.read_text().splitlines(keepends=True)[0])
    (local / "bus/state/dispatcher.json").unlink()
    state = json.loads((local / "state.json").read_text())
    (local / "state.json").write_text(json.dumps({**state, "status": "active"}))


async def test_a_kill_before_the_status_is_written_leaves_it_to_the_next_start(stage: Stage, pr_7: Path):
    await stage.poll(told("pr_merged"))
    killed_after_the_intake(pr_7)

    await stage.tick()

    assert plan_status(stage) == "merged"
    assert stage.state()["done"] == {"handled": 1}


async def test_a_command_beside_no_dispatcher_writes_the_status_that_a_kill_left_undone(stage: Stage, pr_7: Path):
    await stage.poll(said("held", author=Author("eve", "none")), told("pr_merged"))
    killed_after_the_intake(pr_7)
    stage.ask("drop", "held", reason="spam")

    assert offline.carry_out(stage.paths, stage.clock) is None

    assert plan_status(stage) == "merged"


async def test_a_notice_about_the_repository_is_no_plans(stage: Stage, pr_7: Path):
    await stage.poll(told("pr_merged", pr=None))

    assert plan_status(stage) == "review"


# ---- deletions


async def test_a_comment_that_is_deleted_while_it_waits_is_answered_by_nobody(stage: Stage, pr_7: Path):
    await stage.poll(said("a", author=Author("eve", "none")))

    await stage.poll(deleted("a"))

    assert stage.fate("a") == ["held", "superseded"]
    assert stage.open() == {}
    steps = why.document(why.find(stage.paths, "a")).steps
    assert steps[-1].reason == "its comment was deleted: a:gone"
    assert stage.state()["done"] == {"superseded": 1, "handled": 1}


@asynccontextmanager
async def deleted_while_the_agent_thinks(stage: Stage, comment: str) -> AsyncIterator[asyncio.Event]:
    """Have an agent at work, which goes on with the event, and a comment deleted meanwhile."""
    thinking, go_on = asyncio.Event(), asyncio.Event()

    async def think() -> None:
        thinking.set()
        await asyncio.wait_for(go_on.wait(), 60)

    stage.triager.before = think
    async with stage.running():
        await asyncio.wait_for(thinking.wait(), 60)
        stage.append(deleted(comment))
        await until(lambda: "superseded" in stage.fate(comment))
        yield go_on


async def test_an_agents_answer_to_a_comment_that_was_deleted_meanwhile_is_not_posted(stage: Stage, pr_7: Path):
    stage.bridge.news = [said("a"), said("b")]
    async with deleted_while_the_agent_thinks(stage, "a") as go_on:
        go_on.set()
        await until(lambda: stage.bridge.said == ["re b"])

    assert stage.fate("a")[-1] == "superseded"
    assert stage.bridge.said == ["re b"]


async def test_a_run_of_nothing_but_a_deleted_comment_is_settled_all_the_same(stage: Stage, pr_7: Path):
    stage.bridge.news = [said("a")]
    async with deleted_while_the_agent_thinks(stage, "a") as go_on:
        stage.triager.before = None
        go_on.set()
        stage.append(said("b"))
        await until(lambda: stage.bridge.said == ["re b"])


async def test_a_reply_that_is_not_out_yet_goes_with_the_comment_that_it_answers(stage: Stage, pr_7: Path):
    stage.bridge.refuse = lambda action: Refused("busy", retryable=True)
    await stage.poll(said("a"), said("b"))
    stage.bridge.refuse = lambda action: None
    await stage.poll(deleted("a"))

    await stage.tick_after(minutes=1)

    assert stage.bridge.said == ["re b"]
    assert stage.state()["queue"] == {}
    steps = why.document(why.find(stage.paths, "a")).steps
    assert [step.reason for step in steps if step.verdict == "dropped"] == ["its comment was deleted: a:gone"]
    assert stage.fate("a")[-1] == "triaged"


async def test_a_reply_that_failed_is_no_alarm_any_more_when_its_comment_is_deleted(stage: Stage, pr_7: Path):
    stage.bridge.refuse = lambda action: Refused("locked")
    await stage.poll(said("a"))
    assert status.read(stage.paths, stage.clock()).totals.actions_failed == 1

    await stage.poll(deleted("a"))

    assert status.read(stage.paths, stage.clock()).totals.actions_failed == 0


async def test_a_reply_that_is_on_its_way_while_its_comment_is_deleted_is_known_for_prlooms_own(stage: Stage):
    stage.adopt()
    stage.bridge.news = [said("a")]
    sending, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(what: str) -> None:
        if what == "actions":
            sending.set()
            await asyncio.wait_for(go_on.wait(), 60)

    stage.bridge.waits = slowly
    async with stage.running():
        await asyncio.wait_for(sending.wait(), 60)
        stage.append(deleted("a"))
        await until(lambda: any(each.get("deliveries") for each in stage.decisions()))
        go_on.set()
        await until(lambda: stage.decisions()[-1]["stage"] == "deliver")
        (post,) = stage.bridge.posts
        stage.append(said("own", body=post), said("b", body="/prloom help"))
        await until(lambda: "b" in json.dumps(stage.decisions()[-1]))

    assert stage.fate("own") == []
    assert stage.fate("a")[-1] == "triaged"


async def test_only_what_nobody_says_can_take_a_comment_back(stage: Stage, pr_7: Path):
    stage.bridge.refuse = lambda action: Refused("busy", retryable=True)
    await stage.poll(said("a"))
    stage.bridge.refuse = lambda action: None
    await stage.poll(deleted("a", author=Author("eve", "none")))

    await stage.tick_after(minutes=1)

    assert stage.bridge.said == ["re a"]
    assert isinstance(stage.bridge.actions_seen[0].payload, Comment)
