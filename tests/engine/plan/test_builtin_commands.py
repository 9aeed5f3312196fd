"""The built-in commands of a comment: obeyed at once, answered once, and never shadowed."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from stage import Stage, said
from stage_parts import by, deferring
from worked_plan import WorkedPlan

from prloom.api import Author, Event, HookContext, PluginContext, TriageContext
from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import work_failures, work_requests
from prloom.core.work.work_steps import WorkRules

LATER = deferring(3_600_000, "asked for", saying="later")


async def told(stage: Stage, *bodies: str, author: Author | None = None) -> list[str]:
    """Say things in one go, and return what was answered by that."""
    before = len(stage.bridge.said)
    count = len(stage.bridge.news)
    stage.bridge.news += [said(f"c{count + n}", body, author=author) for n, body in enumerate(bodies)]
    await stage.tick()
    return stage.bridge.posts[before:]


async def test_a_command_needs_no_agent_and_no_plugin(stage: Stage, pr_7: Path):
    host = stage.plugin("later", LATER)

    (answer,) = await told(stage, "/prloom help")

    assert "`/prloom retry`" in answer
    assert (host.calls, stage.triager.batches) == ([], [])
    assert stage.state()["done"] == {"handled": 1}


async def test_the_status_tells_what_waits_and_does_not_count_the_question(stage: Stage, pr_7: Path):
    stage.plugin("later", LATER)
    await told(stage, "later please")

    (answer,) = await told(stage, "/prloom status")

    assert answer.startswith("- the comment waits: asked for; next try 2026-01-01 13:00 UTC\n")


async def test_a_retry_shows_deferred_events_again(stage: Stage, pr_7: Path):
    host = stage.plugin("later", LATER)
    await told(stage, "later please")

    (answer,) = await told(stage, "/prloom retry")

    assert answer.startswith("Retrying 1 event and 0 failed actions.")
    assert host.shown == [("c0",), ("c0",)]


async def test_while_a_plan_is_paused_only_commands_are_obeyed(stage: Stage, pr_7: Path):
    host = stage.plugin("later", LATER)
    await told(stage, "/prloom pause")

    assert await told(stage, "hello") == []
    assert stage.open()["c1"]["state"] == "pending"
    assert host.calls == []

    assert await told(stage, "/prloom resume") != []
    assert stage.triager.batches == [("c1",)]


async def test_a_pause_holds_for_what_came_with_it(stage: Stage, pr_7: Path):
    host = stage.plugin("later", LATER)

    await told(stage, "hello", "/prloom pause")

    assert host.calls == []
    assert stage.triager.batches == []


async def test_an_approval_lets_in_what_stood_there(stage: Stage, pr_7: Path):
    stage.configure('[outbox]\nothers = "auto"\n')
    await told(stage, "let me in", author=by("eve", "none"))

    (answer, _) = await told(stage, "/prloom approve", author=by("ann", "write"))

    assert answer.startswith("Approved 1 held comment.")
    assert stage.triager.batches == [("c0",)]


async def test_a_strangers_command_is_held_like_any_of_their_words(stage: Stage, pr_7: Path):
    assert await told(stage, "/prloom pause", author=by("eve", "none")) == []

    assert stage.open()["c0"]["state"] == "held"
    assert not stage.state()["paused"]


@pytest.mark.parametrize("command", ["/prloom pause", "/prloom resume", "/prloom retry", "/greet"])
async def test_to_approve_a_strangers_text_does_not_let_the_stranger_command(stage: Stage, command: str, pr_7: Path):
    def register(ctx: PluginContext) -> None:
        @ctx.command("greet")
        def greet(event: Event, ctx: TriageContext) -> None:
            ctx.emit_comment(event.reply_to, "Hello!")

    stage.configure('[outbox]\nothers = "auto"\n')
    stage.plugin("greeter", register)
    await told(stage, command, author=by("eve", "none"))
    paused = command == "/prloom resume"
    if paused:
        await told(stage, "/prloom pause", author=by("ann", "write"))

    answers = await told(stage, "/prloom approve @eve", author=by("ann", "write"))

    assert stage.state()["paused"] is paused
    assert [answer.partition(" ")[0] for answer in answers] == ["Approved", *([] if paused else ["re"])]
    assert stage.triager.batches == ([] if paused else [("c0",)])


async def test_a_plugin_says_that_its_command_is_also_for_strangers_whose_text_was_approved(stage: Stage, pr_7: Path):
    def register(ctx: PluginContext) -> None:
        @ctx.command("greet", allow_approved=True)
        def greet(event: Event, ctx: TriageContext) -> None:
            ctx.emit_comment(event.reply_to, f"Hello! {ctx.is_vouched(event.id)}")

    stage.configure('[outbox]\nothers = "auto"\n')
    stage.plugin("greeter", register)
    await told(stage, "/greet", author=by("eve", "none"))

    answers = await told(stage, "/prloom approve @eve", author=by("ann", "write"))

    assert "Hello! True" in {answer.partition("\n")[0] for answer in answers}
    assert stage.triager.batches == []


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("frobnicate", "`frobnicate`"),
        ("resume; thanks", "`resume;`"),
        ("`<b>`@all", "`ball`"),
        ("x" * 99, "x" * 40),
    ],
)
async def test_an_unknown_command_is_answered_with_help_and_does_nothing_with_what_was_typed(
    stage: Stage, typed: str, shown: str, pr_7: Path
):
    (answer,) = await told(stage, f"/prloom {typed}")

    assert "There is no command" in answer
    assert shown in answer
    assert "@all" not in answer
    assert "`/prloom help`" in answer


async def test_a_plugins_command_is_carried_out_and_help_lists_it_beside_the_built_in_ones(stage: Stage, pr_7: Path):
    called: list[Any] = []

    def register(ctx: PluginContext) -> None:
        def mine(event: Any, hook: HookContext) -> None:
            called.append(event)

        ctx.register_command("deploy", mine, help="ship it")

    stage.plugin("p", register)

    answers = await told(stage, "/prloom help", "/deploy now")

    assert "`/deploy`: ship it" in answers[0]
    assert [event.body for event in called] == ["/deploy now"]
    assert stage.state()["done"] == {"handled": 2}


async def test_an_answer_without_a_thread_goes_to_the_pull_request(stage: Stage, pr_7: Path):
    await stage.take_in(said("a", "/prloom help", reply_to=None))

    assert json.loads((stage.local() / "bus/actions.jsonl").read_text())["data"]["target"] == {
        "target": "forge",
        "token": {"pr": 7},
    }


@pytest.mark.parametrize("kind", ["mr_comment", "discussion_comment"])
async def test_a_command_is_obeyed_in_the_comment_of_any_source(stage: Stage, kind: str, pr_7: Path):
    await told(stage, "let me in", author=by("eve", "none"))

    await stage.poll(said("approval", "/prloom approve", type=kind, author=by("ann", "write")))

    assert stage.state()["done"] == {"handled": 1, "triaged": 1}
    assert stage.triager.batches == [("c0",)]


@pytest.mark.parametrize(("trust", "paused"), [("write", True), ("none", False), (None, False)])
async def test_a_box_is_the_command_of_a_trusted_person_and_of_no_other(
    stage: Stage, trust: str | None, *, paused: bool, pr_7: Path
):
    stage.bridge.permissions["eve"] = "read"
    await stage.poll(said("box", "/prloom pause", type="box_ticked", author=by("eve", trust)))

    assert stage.state()["paused"] is paused
    assert stage.fate("box")[-1] == ("handled" if paused else "dropped")


async def test_a_box_is_not_answered_by_a_comment(stage: Stage, pr_7: Path):
    await stage.poll(said("box", "/prloom pause", type="box_ticked", author=by("ann")))

    assert stage.bridge.posts == []


# The work on TODOs.


async def test_the_status_tells_what_is_in_progress_and_what_that_waits_for(stage: Stage):
    plan = WorkedPlan(stage, "Make it fast").at("ready")
    until = stage.clock() + timedelta(hours=1)
    wait = AgentWait("the usage limit is reached", until, known=True)
    plan.commit(work_failures.limited(plan.ctx, plan.work, wait))

    (answer,) = await told(stage, "/prloom status")

    assert "- in progress: Make it fast; waits: the usage limit is reached; next try 2026-01-01 13:00 UTC\n" in answer


@pytest.mark.parametrize("command", ["resume", "retry"])
async def test_a_todo_that_blocks_the_plan_is_tried_again_on_request(stage: Stage, command: str):
    plan = WorkedPlan(stage, "Make it fast").park()

    (answer,) = await told(stage, f"/prloom {command}")

    assert "The TODO that blocked the plan is tried again." in answer
    assert (plan.state.block, plan.todos[0].state) == (None, "open")


@pytest.mark.parametrize("command", ["resume", "retry"])
@pytest.mark.parametrize(("box", "state"), [("-", "dropped"), ("x", "done")])
async def test_a_todo_that_a_person_has_ended_is_not_tried_again_when_its_block_is_lifted(
    stage: Stage, command: str, box: str, state: str
):
    plan = WorkedPlan(stage, "Make it fast").park()
    text = stage.local() / "plan.md"
    text.write_text(text.read_text().replace("- [b]", f"- [{box}]"))

    (answer,) = await told(stage, f"/prloom {command}")

    assert "The TODO that blocked the plan has ended." in answer
    assert (plan.state.block, plan.todos[0].state) == (None, state)


async def test_a_block_of_the_operator_is_lifted_by_a_resume_and_not_by_a_retry(stage: Stage):
    plan = WorkedPlan(stage, "Make it fast")
    plan.commit(work_requests.blocked(plan.state, "pr-7", "not now", stage.clock()), by="operator", stage="operator")

    await told(stage, "/prloom retry")
    assert plan.state.block is not None
    (answer,) = await told(stage, "/prloom resume")

    assert answer.startswith("Resumed. The plan is not blocked any more.")
    assert plan.state.block is None


async def test_where_todos_have_to_be_allowed_a_comment_allows_one_or_all(stage: Stage):
    plan = WorkedPlan(stage, "Make it fast", "Make it small", "Make it nice", rules=WorkRules(mode="ask"))
    plan.step()

    status, one = await told(stage, "/prloom status", "/prloom go t-3")
    assert "- waits for `/prloom go`: Make it fast\n" in status
    assert one.startswith("Allowed: Make it nice.\n")
    assert plan.state.granted == ("t-3",)
    (rest,) = await told(stage, "/prloom go")

    assert rest.startswith("Allowed: Make it fast; Make it small; Make it nice.\n")
    assert plan.state.granted == ("t-3", "t-1", "t-2")


async def test_a_todo_that_is_not_there_or_done_cannot_be_allowed(stage: Stage):
    WorkedPlan(stage, "Make it fast").done()

    unknown, none = await told(stage, "/prloom go t-<b>1", "/prloom go")

    assert unknown.startswith("There is no open TODO `t-b1`.")
    assert none.startswith("No TODO waits to be allowed.")


async def test_a_rebase_that_is_requested_is_one_todo(stage: Stage):
    plan = WorkedPlan(stage, "Make it fast").done()

    first, second = await told(stage, "/prloom rebase", "/prloom rebase")

    assert first.startswith("There is a TODO now to rebase the branch onto its base.")
    assert second.startswith("A rebase is requested already.")
    assert [todo.state for todo in plan.todos] == ["done", "open"]
