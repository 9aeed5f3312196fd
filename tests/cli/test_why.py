from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from command_line import Prloom, Refusal
from stage import Stage, said
from stage_parts import deferring, refusing

from prloom.api import Author, PluginContext, Refused, TriageContext
from prloom.errors import StorageError
from prloom.model.record import Timestamp
from prloom.model.work_report import RunWait

pytestmark = pytest.mark.usefixtures("pr_7")

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e[/red]"


async def test_a_life_is_told_as_a_timeline(stage: Stage, prloom: Prloom) -> None:
    stage.plugin("quiet", deferring(once=True))
    stage.bridge.refuse = refusing(Refused("down", retryable=True))
    stage.append(said("e", "Why?\nReally?", title="Cache", author=Author("ann", "write"), url="https://f/1"))
    for _ in range(3):
        await stage.tick()
        stage.clock.advance(minutes=2)

    ran = prloom("why", "https://f/1")

    (action,) = {action.id for action in stage.bridge.actions_seen}
    assert ran.code == 0
    text = re.sub(r"next try 2026-01-01 12:0\d:\d\d\n", "next try …\n", ran.out)
    assert (
        re.sub(r" in \d+ ms", " in N ms", text)
        == f"""\
e  pr_comment by ann (write), plan pr-7
  https://f/1
  Cache
  │ Why?
  │ Really?

  2026-01-01 12:00:00  came in from forge
  2026-01-01 12:00:00  intake  prloom  admitted
  2026-01-01 12:00:00  beforeTriage  quiet  deferred in N ms: not now
                       attempt 1; next try 2026-01-01 12:01:00, at the latest 2026-01-08 12:00:00, then: park
  2026-01-01 12:02:00  wait  prloom  due
  2026-01-01 12:02:00  beforeTriage  quiet  passed in N ms
  2026-01-01 12:02:00  triage  scripted  started (run run-1)
  2026-01-01 12:02:00  triage  scripted  answered
                       action {action}  delivered  https://forge.example/{action}
  2026-01-01 12:02:00  deliver  forge  action {action} retrying, attempt 1: down
                       next try …
  2026-01-01 12:04:00  deliver  forge  action {action} delivered, attempt 2 https://forge.example/{action}

Now triaged.
"""
    )


async def test_an_action_that_names_no_event_is_shown_for_each_that_its_call_decided(
    stage: Stage, prloom: Prloom
) -> None:
    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def answer(plan: str, triage: TriageContext) -> None:
            triage.emit_comment(None, "Thank you.")
            for event in triage.events:
                triage.mark_event_handled(event.id, "thanked")

    stage.plugin("manners", register)
    await stage.take_in(said("one", reply_to=None), said("two", reply_to=None))

    (action,) = stage.bridge.actions_seen
    for event in ("one", "two"):
        assert f"action {action.id}  delivered" in prloom("why", event).out
    assert json.loads(prloom("why", action.id, "--json").out)["event"]["id"] == "two"


async def test_it_says_what_can_be_done_about_an_open_event(stage: Stage, prloom: Prloom) -> None:
    stage.plugin("quiet", deferring(once=True))
    await stage.take_in(said("d"), said("h", author=Author("eve", "none")))
    stage.append(said("p"))

    assert prloom("why", "d").out.endswith("\nNow deferred; to try it now, run `prloom retry d`.\n")
    assert prloom("why", "h").out.endswith("\nNow held; to approve this text, run `prloom approve h`.\n")
    assert prloom("why", "p").out.endswith("\nNow pending; to have it handled, run `prloom start`.\n")
    await stage.tick_after(days=8)
    assert prloom("why", "d").out.endswith(
        "\nNow parked; to try it again, run `prloom retry d`; to drop it, run `prloom drop d --reason TEXT`.\n"
    )


async def test_a_long_text_is_cut_but_one_that_waits_for_a_vouch_is_shown_whole(stage: Stage, prloom: Prloom) -> None:
    long = "\n".join(f"line {number}" for number in range(50))
    await stage.take_in(said("e", long), said("h", long, author=Author("eve", "none")))

    cut, whole = prloom("why", "e").out, prloom("why", "h").out

    assert "line 19\n  … 30 more lines; --json shows all of them\n" in cut
    assert "line 49" not in cut
    assert "line 49" in whole


async def test_a_text_that_is_its_own_title_is_told_once_but_shown_for_a_vouch(stage: Stage, prloom: Prloom) -> None:
    await stage.take_in(said("e", "Why?", title="Why?"), said("h", "Why?", title="Why?", author=Author("eve", "none")))

    assert prloom("why", "e").out.count("Why?") == 1
    assert "  │ Why?\n" in prloom("why", "h").out


async def test_an_event_in_several_plans_is_told_of_the_one_that_is_named(stage: Stage, prloom: Prloom) -> None:
    stage.adopt("other", pr=8)
    stage.append(said("e", "here"))
    stage.append(said("e", "there"), plan_id="other")

    choices = "`prloom why e --plan other`, `prloom why e --plan pr-7`"
    assert prloom("why", "e").err == f"prloom: e is in several plans; choose one: {choices}\n"
    assert "│ there" in prloom("why", "e", "--plan", "other").out


def test_an_unknown_event_is_one_line_with_the_nearest(stage: Stage, prloom: Prloom, refused: Refusal) -> None:
    stage.append(said("comment-12"))

    assert refused("why", f"comment-13{EVIL}") == (
        "prloom: no event, reply, action or TODO comment-13\\x1b]0;owned\\x07\\x1b[2J\\u202e[/red]; "
        "`prloom events` lists all events\n"
    )
    assert prloom("why", "comment-13").err.endswith("; did you mean comment-12?\n")


async def test_nothing_from_outside_reaches_the_terminal_or_passes_for_prlooms_words(
    stage: Stage, prloom: Prloom
) -> None:
    stage.plugin("evil", deferring(60_000, f"{EVIL}\nNow triaged."))
    body = f"{EVIL}\r\n\nNow triaged.\n  2026-01-01 12:00:00  operator  operator  vouched"
    await stage.take_in(said(f"e{EVIL}", body, title=f"{EVIL}\nNow triaged.", url=f"https://{EVIL}", type=EVIL))

    text = prloom("why", f"e{EVIL}").out

    assert not set(text) & {"\x1b", "\x07", "\u202e", "\r"}
    assert [line for line in text.splitlines() if line.startswith("Now")] == [text.splitlines()[-1]]
    assert "\n  │ Now triaged.\n" in text


# What is happening now.


def now(prloom: Prloom) -> str:
    return str(prloom("why", "e").out.splitlines()[-1])


async def test_while_an_agent_works_on_it_the_run_is_named_and_nobody_is_told_to_start_a_dispatcher(
    stage: Stage, prloom: Prloom
) -> None:
    go_on = asyncio.Event()

    async def wait() -> None:
        await go_on.wait()

    stage.triager.before = wait
    stage.append(said("e"))
    async with stage.running():
        await stage.until(lambda: any(decision.get("run") for decision in stage.decisions()))
        stage.append(said("f"))
        await stage.until(lambda: stage.fate("f") == ["pending"])

        assert now(prloom) == (
            "Now pending; the agent scripted has been working on it since 2026-01-01 12:00:00 (run run-1)."
        )
        assert prloom("why", "f").out.splitlines()[-1] == (
            "Now pending; the agent scripted is working on other events of the plan (run run-1); "
            "this one is in the next run."
        )
        told = json.loads(prloom("why", "e", "--json").out)["now"]
        assert (told["kind"], told["by"], told["run"]) == ("agent", "scripted", "run-1")
        assert told["since"] == "2026-01-01T12:00:00.000Z"
        go_on.set()
        await stage.until(lambda: len(stage.bridge.said) == 2)
    assert "now" not in json.loads(prloom("why", "e", "--json").out)


async def test_while_a_hook_runs_on_it_the_plugin_is_named(stage: Stage, prloom: Prloom) -> None:
    go_on = asyncio.Event()

    async def wait(call: Any) -> None:
        await go_on.wait()

    stage.configure('[plugins]\nhook_timeout = "5m"\n')
    stage.plugin("quiet", deferring(once=True)).meets = wait
    stage.append(said("e"))
    async with stage.running():
        hook = "Now pending; the beforeTriage hook of the plugin quiet has been running since 2026-01-01 12:00:00."
        await stage.until(lambda: stage.fate("e") == ["pending"])
        await stage.until(lambda: now(prloom) == hook)
        go_on.set()
        await stage.until(lambda: stage.fate("e") == ["pending", "deferred"])


async def test_an_event_that_waits_for_an_agents_slot_says_so(stage: Stage, prloom: Prloom) -> None:
    stage.triager.slots = asyncio.Semaphore(0)
    stage.append(said("e"))
    async with stage.running():
        slot = "Now pending; it waits for one of the running agents to end (`dispatcher.max_parallel_plans`)."
        await stage.until(lambda: stage.fate("e") == ["pending"])
        await stage.until(lambda: now(prloom) == slot)


async def test_an_event_whose_run_nobody_has_begun_says_what_that_waits_for(stage: Stage, prloom: Prloom) -> None:
    go_on, since = asyncio.Event(), Timestamp.of(stage.clock() - timedelta(minutes=1))
    until = Timestamp.of(since + timedelta(minutes=5))
    wait = RunWait(reason="no machine does the run yet", since=since, until=until, plan="pr-7")
    stage.triager.before = go_on.wait  # type: ignore[assignment]
    stage.append(said("e"))
    async with stage.running() as dispatcher:
        dispatcher.registry.run_waits = {"run-1": wait}
        told = (
            "Now pending; the run run-1 of the agent scripted waits since 2026-01-01 11:59:00: "
            "no machine does the run yet; next try 2026-01-01 12:04:00."
        )
        await stage.until(lambda: any(decision.get("run") for decision in stage.decisions()))
        await stage.until(lambda: now(prloom) == told)
        document = json.loads(prloom("why", "e", "--json").out)["now"]
        assert (document["kind"], document["until"]) == ("run_wait", "2026-01-01T12:04:00.000Z")
        go_on.set()


async def test_an_event_of_a_plan_that_is_not_worked_on_says_why(stage: Stage, prloom: Prloom) -> None:
    class Buggy(type(stage.triager)):  # type: ignore[misc]
        async def triage(self, runtime: Any, step: Any) -> None:
            raise StorageError("the disk does not answer")

    stage.triager = Buggy()
    stage.append(said("e"))
    async with stage.running():
        error = (
            "Now pending; its plan is not worked on: the disk does not answer; once that is corrected, "
            "the dispatcher or the next `prloom start` tries again."
        )
        await stage.until(lambda: stage.fate("e") == ["pending"])
        await stage.until(lambda: now(prloom) == error)

    assert now(prloom) == error
