"""The built-in commands of a comment: obeyed at once, answered once, and never shadowed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from stage import Stage, said
from stage_parts import by, deferring

from prloom.api import Author, Event, HookContext, PluginContext, TriageContext

LATER = deferring(3_600_000, "asked for", saying="later")


async def told(stage: Stage, *bodies: str, author: Author | None = None) -> list[str]:
    """Say things in one go, and return what was answered by that."""
    before = len(stage.bridge.said)
    count = len(stage.bridge.news)
    stage.bridge.news += [said(f"c{count + n}", body, author=author) for n, body in enumerate(bodies)]
    await stage.tick()
    return stage.bridge.posts[before:]


async def test_a_command_needs_no_agent_and_no_plugin(stage: Stage):
    stage.adopt()
    host = stage.plugin("later", LATER)

    (answer,) = await told(stage, "/prloom help")

    assert "`/prloom retry`" in answer
    assert (host.calls, stage.triager.batches) == ([], [])
    assert stage.state()["done"] == {"handled": 1}


async def test_the_status_tells_what_waits_and_does_not_count_the_question(stage: Stage):
    stage.adopt()
    stage.plugin("later", LATER)
    await told(stage, "later please")

    (answer,) = await told(stage, "/prloom status")

    assert answer.startswith("0 pending, nothing done yet.")
    assert "deferred by later: asked for; next try 2026-01-01T13:00:00.000Z" in answer


async def test_two_questions_at_once_are_both_answered(stage: Stage):
    stage.adopt()

    answers = await told(stage, "/prloom status", "/prloom help")

    assert len(answers) == 2


async def test_a_retry_shows_deferred_events_again(stage: Stage):
    stage.adopt()
    host = stage.plugin("later", LATER)
    await told(stage, "later please")

    (answer,) = await told(stage, "/prloom retry")

    assert answer.startswith("Retrying 1 event and 0 failed actions.")
    assert host.shown == [("c0",), ("c0",)]


async def test_while_a_plan_is_paused_only_commands_are_obeyed(stage: Stage):
    stage.adopt()
    host = stage.plugin("later", LATER)
    await told(stage, "/prloom pause")

    assert await told(stage, "hello") == []
    assert stage.open()["c1"]["state"] == "pending"
    assert host.calls == []

    assert await told(stage, "/prloom resume") != []
    assert stage.triager.batches == [("c1",)]


async def test_a_pause_holds_for_what_came_with_it(stage: Stage):
    stage.adopt()
    host = stage.plugin("later", LATER)

    await told(stage, "hello", "/prloom pause")

    assert host.calls == []
    assert stage.triager.batches == []


async def test_an_approval_lets_in_what_stood_there(stage: Stage):
    stage.adopt()
    await told(stage, "let me in", author=by("eve", "none"))

    (answer, _) = await told(stage, "/prloom approve", author=by("ann", "write"))

    assert answer.startswith("Approved 1 held comment.")
    assert stage.triager.batches == [("c0",)]


async def test_a_strangers_command_is_held_like_any_of_their_words(stage: Stage):
    stage.adopt()

    assert await told(stage, "/prloom pause", author=by("eve", "none")) == []

    assert stage.open()["c0"]["state"] == "held"
    assert not stage.state()["paused"]


@pytest.mark.parametrize("command", ["/prloom pause", "/prloom resume", "/prloom retry", "/greet"])
async def test_to_approve_a_strangers_text_does_not_let_the_stranger_command(stage: Stage, command: str):
    def register(ctx: PluginContext) -> None:
        @ctx.command("greet")
        def greet(event: Event, ctx: TriageContext) -> None:
            ctx.emit_comment(event.reply_to, "Hello!")

    stage.adopt()
    stage.plugin("greeter", register)
    await told(stage, command, author=by("eve", "none"))
    paused = command == "/prloom resume"
    if paused:
        await told(stage, "/prloom pause", author=by("ann", "write"))

    answers = await told(stage, "/prloom approve @eve", author=by("ann", "write"))

    assert stage.state()["paused"] is paused
    assert [answer.partition(" ")[0] for answer in answers] == ["Approved", *([] if paused else ["re"])]
    assert stage.triager.batches == ([] if paused else [("c0",)])


async def test_a_plugin_says_that_its_command_is_also_for_strangers_whose_text_was_approved(stage: Stage):
    def register(ctx: PluginContext) -> None:
        @ctx.command("greet", allow_approved=True)
        def greet(event: Event, ctx: TriageContext) -> None:
            ctx.emit_comment(event.reply_to, f"Hello! {ctx.is_vouched(event.id)}")

    stage.adopt()
    stage.plugin("greeter", register)
    await told(stage, "/greet", author=by("eve", "none"))

    answers = await told(stage, "/prloom approve @eve", author=by("ann", "write"))

    assert "Hello! True" in {answer.partition("\n")[0] for answer in answers}
    assert stage.triager.batches == []


@pytest.mark.parametrize(
    ("typed", "shown"), [("frobnicate", "`frobnicate`"), ("`<b>`@all", "`ball`"), ("x" * 99, "x" * 40)]
)
async def test_an_unknown_command_is_answered_with_help_and_does_nothing_with_what_was_typed(
    stage: Stage, typed: str, shown: str
):
    stage.adopt()

    (answer,) = await told(stage, f"/prloom {typed}")

    assert "There is no command" in answer
    assert shown in answer
    assert "@all" not in answer
    assert "`/prloom help`" in answer


async def test_a_plugin_cannot_shadow_a_built_in_command(stage: Stage):
    called: list[Any] = []

    def register(ctx: PluginContext) -> None:
        def mine(event: Any, hook: HookContext) -> None:
            called.append(event)

        ctx.register_command("deploy", mine, help="ship it")

    stage.adopt()
    stage.plugin("p", register)

    answers = await told(stage, "/prloom help", "/deploy now")

    assert "`/deploy`: ship it" in answers[0]
    assert [event.body for event in called] == ["/deploy now"]
    assert stage.state()["done"] == {"handled": 2}


async def test_an_answer_without_a_thread_goes_to_the_pull_request(stage: Stage):
    stage.adopt()
    stage.append(said("a", "/prloom help", reply_to=None))

    await stage.tick()

    assert json.loads((stage.local() / "bus/actions.jsonl").read_text())["data"]["target"] == {
        "target": "forge",
        "token": {"pr": 7},
    }


@pytest.mark.parametrize("kind", ["mr_comment", "discussion_comment"])
async def test_a_command_is_obeyed_in_the_comment_of_any_source(stage: Stage, kind: str):
    stage.adopt()
    await told(stage, "let me in", author=by("eve", "none"))
    stage.bridge.news.append(said("approval", "/prloom approve", type=kind, author=by("ann", "write")))

    await stage.tick()

    assert stage.state()["done"] == {"handled": 1, "triaged": 1}
    assert stage.triager.batches == [("c0",)]


@pytest.mark.parametrize(("trust", "paused"), [("write", True), ("none", False), (None, False)])
async def test_a_box_is_the_command_of_a_trusted_person_and_of_no_other(
    stage: Stage, trust: str | None, *, paused: bool
):
    stage.adopt()
    stage.bridge.permissions["eve"] = "read"
    stage.bridge.news.append(said("box", "/prloom pause", type="box_ticked", author=by("eve", trust)))
    await stage.tick()

    assert stage.state()["paused"] is paused
    assert stage.fate("box")[-1] == ("handled" if paused else "dropped")


async def test_a_box_is_not_answered_by_a_comment(stage: Stage):
    stage.adopt()
    stage.bridge.news.append(said("box", "/prloom pause", type="box_ticked", author=by("ann")))
    await stage.tick()

    assert stage.bridge.posts == []
