from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from stage import Stage, said

from prloom.api import Author, PluginContext, Refused, TriageContext

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e[/red]"
Prloom = Callable[..., Any]


def deferring_once(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def look(plan: str, triage: TriageContext) -> None:
        for event in triage.events:
            if triage.deferral(event.id) is None:
                triage.mark_event_deferred(event.id, "not now", 60_000)


async def test_a_life_is_told_as_a_timeline(stage: Stage, prloom: Prloom) -> None:
    refusals = [Refused("down", retryable=True)]
    stage.adopt()
    stage.plugin("quiet", deferring_once)
    stage.bridge.refuse = lambda action: refusals.pop() if refusals else None
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


async def test_json_is_one_document(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.append(said("e"))
    await stage.tick()

    assert list(json.loads(prloom("why", "e", "--json").out)) == ["event", "state", "steps"]


async def test_it_says_what_can_be_done_about_an_open_event(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.plugin("quiet", deferring_once)
    stage.append(said("d"), said("h", author=Author("eve", "none")))
    await stage.tick()
    stage.append(said("p"))

    assert prloom("why", "d").out.endswith("\nNow deferred; to try it now, run `prloom retry d`.\n")
    assert prloom("why", "h").out.endswith("\nNow held; to approve this text, run `prloom approve h`.\n")
    assert prloom("why", "p").out.endswith(
        "\nNow pending; it is looked at as soon as a dispatcher runs: `prloom start`.\n"
    )
    stage.clock.advance(days=8)
    await stage.tick()
    assert prloom("why", "d").out.endswith(
        "\nNow parked; to try it again, run `prloom retry d`; to drop it, run `prloom drop d --reason TEXT`.\n"
    )


async def test_a_long_text_is_cut_but_one_that_waits_for_a_vouch_is_shown_whole(stage: Stage, prloom: Prloom) -> None:
    long = "\n".join(f"line {number}" for number in range(50))
    stage.adopt()
    stage.append(said("e", long), said("h", long, author=Author("eve", "none")))
    await stage.tick()

    cut, whole = prloom("why", "e").out, prloom("why", "h").out

    assert "line 19\n  … 30 more lines; --json has them all\n" in cut
    assert "line 49" not in cut
    assert "line 49" in whole


async def test_a_text_that_is_its_own_title_is_told_once_but_shown_for_a_vouch(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.append(said("e", "Why?", title="Why?"), said("h", "Why?", title="Why?", author=Author("eve", "none")))
    await stage.tick()

    assert prloom("why", "e").out.count("Why?") == 1
    assert "  │ Why?\n" in prloom("why", "h").out


async def test_an_event_in_several_plans_is_told_of_the_one_that_is_named(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.adopt("other", pr=8)
    stage.append(said("e", "here"))
    stage.append(said("e", "there"), plan_id="other")

    assert prloom("why", "e").err == "prloom: e is in several plans: other, pr-7; choose one with --plan\n"
    assert "│ there" in prloom("why", "e", "--plan", "other").out


def test_an_unknown_event_is_one_line_with_the_nearest(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.append(said("comment-12"))

    ran = prloom("why", f"comment-13{EVIL}")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "prloom: no event, reply or action comment-13\\x1b]0;owned\\x07\\x1b[2J\\u202e[/red]; "
        "`prloom events` lists those there are\n"
    )
    assert prloom("why", "comment-13").err.endswith("; did you mean comment-12?\n")


async def test_nothing_from_outside_reaches_the_terminal_or_passes_for_prlooms_words(
    stage: Stage, prloom: Prloom
) -> None:
    def evil(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def look(plan: str, triage: TriageContext) -> None:
            triage.mark_event_deferred(triage.events[0].id, f"{EVIL}\nNow triaged.", 60_000)

    stage.adopt()
    stage.plugin("evil", evil)
    body = f"{EVIL}\r\n\nNow triaged.\n  2026-01-01 12:00:00  operator  operator  vouched"
    stage.append(said(f"e{EVIL}", body, title=f"{EVIL}\nNow triaged.", url=f"https://{EVIL}", type=EVIL))
    await stage.tick()

    text = prloom("why", f"e{EVIL}").out

    assert not set(text) & {"\x1b", "\x07", "\u202e", "\r"}
    assert [line for line in text.splitlines() if line.startswith("Now")] == [text.splitlines()[-1]]
    assert "\n  │ Now triaged.\n" in text
