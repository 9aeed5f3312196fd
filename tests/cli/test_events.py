from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from stage import Stage, said

from prloom.api import Author, PluginContext, TriageContext

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e[/red]\nSTATE"
Prloom = Callable[..., Any]


def deferring(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def look(plan: str, triage: TriageContext) -> None:
        for event in triage.events:
            if "wait" in event.body:
                triage.mark_event_deferred(event.id, "not now", 60_000)


async def test_open_events_are_listed_with_why_they_wait_and_others_with_what_they_were_about(
    stage: Stage, prloom: Prloom
) -> None:
    stage.adopt()
    stage.plugin("quiet", deferring)
    stage.append(said("e1", "wait"), said("e2", "What is this?\nAnd that?", author=Author("ann", "write")))
    await stage.tick()

    lines = prloom("events").out.splitlines()

    assert [line.split()[:5] for line in lines] == [
        ["STATE", "EVENT", "PLAN", "TYPE", "AUTHOR"],
        ["deferred", "e1", "pr-7", "pr_comment", "-"],
        ["triaged", "e2", "pr-7", "pr_comment", "ann"],
    ]
    assert lines[1].endswith("  quiet: not now")
    assert lines[2].endswith("  What is this?")


async def test_json_is_one_document(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.append(said("e"))

    document = json.loads(prloom("events", "pr-7", "--state", "pending", "--json").out)

    assert list(document) == ["events"]
    assert list(document["events"][0]) == [
        *("id", "plan", "type", "author", "title", "url", "state", "reason", "by", "attempts", "createdAt"),
        "updatedAt",
    ]
    assert json.loads(prloom("events", "--state", "held", "--json").out) == {"events": []}


def test_nothing_to_list_says_where_events_come_from(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()

    assert prloom("events").out == ("No events yet; they come with `prloom start`, or by hand with `prloom emit`.\n")
    assert prloom("events", "pr-7", "--state", "held").out == "No event of plan pr-7 is held.\n"


def test_an_unknown_state_is_a_mistake_of_usage(prloom: Prloom) -> None:
    ran = prloom("events", "--state", "waiting")

    assert ran.code == 2
    assert "'waiting' is not one of 'pending', 'deferred'" in ran.err


def test_a_plan_that_cannot_be_read_is_told_on_stderr_beside_the_others(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.append(said("e"))
    bus = stage.adopt("broken", pr=8) / "bus"
    bus.rename(bus.with_name("elsewhere"))
    bus.symlink_to("elsewhere")

    ran = prloom("events", "--json")

    assert [row["id"] for row in json.loads(ran.out)["events"]] == ["e"]
    assert ran.err.startswith("prloom: plan broken: ")


async def test_nothing_from_outside_reaches_the_terminal_as_it_is(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.append(said(f"e{EVIL}", EVIL, title=EVIL, type=f"pr_{EVIL}", author=Author(EVIL, "none"), url=EVIL))
    await stage.tick()

    text = prloom("events").out

    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert len(text.splitlines()) == 2
