"""What plugins can do about an action that leaves, and a plan that is about to be written."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from stage import Stage, said

from prloom.api import Action, Comment, InterceptContext, PluginContext, Target, UpsertPlan

Route = Callable[[Action, InterceptContext], object]


@pytest.fixture
def stage(tmp_path) -> Stage:
    made = Stage(tmp_path)
    made.adopt()
    return made


def routing(function: Route) -> Callable[[PluginContext], None]:
    return lambda ctx: ctx.register_hook("beforeRoute", function)


async def posts(stage: Stage) -> list[str]:
    stage.bridge.news = [said("a", reply_to=Target("forge", {"pr": 7}))]
    await stage.tick()
    await stage.tick()
    return [str(action.payload.message) for action in stage.bridge.actions_seen if isinstance(action.payload, Comment)]


async def test_a_plugin_refuses_an_action_which_then_shows_as_failed_with_its_reason(stage: Stage):
    stage.plugin("calm", routing(lambda action, ctx: ctx.block("not on a Sunday")))

    assert await posts(stage) == []
    (queued,) = [each for each in stage.state()["queue"].values() if not each.get("courtesy")]
    assert (queued["failed"], queued["error"]) == (True, "plugin calm refuses to send it: not on a Sunday")


async def test_a_plugin_changes_an_action_and_the_next_one_sees_that(stage: Stage):
    def shout(action: Action, ctx: InterceptContext) -> None:
        if isinstance(action.payload, Comment):
            ctx.change(
                {
                    "target": {"target": "forge", "token": {"pr": 7}},
                    "type": "respond",
                    "payload": {"type": "comment", "message": action.payload.message + "!"},
                }
            )

    stage.plugin("a", routing(shout))
    stage.plugin("b", routing(shout))

    (posted,) = await posts(stage)
    assert "!!" in posted


async def test_an_action_waits_while_a_plugin_fails_on_it(stage: Stage):
    stage.plugin("broken", routing(lambda action, ctx: 1 / 0))

    assert await posts(stage) == []
    (queued,) = [each for each in stage.state()["queue"].values() if not each.get("courtesy")]
    assert not queued.get("failed")
    assert "beforeRoute failed, so it is not sent" in queued["error"]


async def test_a_plugin_cannot_send_an_action_elsewhere(stage: Stage):
    elsewhere = Action(id="", target=Target("other", {}), payload=Comment("x"))
    stage.plugin("a", routing(lambda action, ctx: ctx.change(elsewhere)))

    assert await posts(stage) == []


PLAN = UpsertPlan(source="tickets", title="Be polite", plan_markdown="# Be polite\n\n- [ ] Say please\n")


def writing(function: Callable[[str, InterceptContext], object]) -> Callable[[PluginContext], None]:
    def register(ctx: PluginContext) -> None:
        ctx.register_hook("beforeUpsert", function)
        ctx.register_hook(
            "onEvent", lambda event, ctx: ctx.emit_action(Action(id="", target=Target("plans"), payload=PLAN))
        )

    return register


def drafts(stage: Stage) -> dict[str, str]:
    inbox = stage.root / "prloom/.local/inbox"
    return {file.name: file.read_text() for file in inbox.glob("[!.]*.md")} if inbox.exists() else {}


async def test_a_plugin_changes_a_plan_before_it_is_written(stage: Stage):
    stage.plugin("a", writing(lambda plan, ctx: plan.replace("please", "thanks")))

    await posts(stage)

    assert "Say thanks" in drafts(stage)["be-polite.md"]


async def test_a_plugin_refuses_a_plan(stage: Stage):
    stage.plugin("a", writing(lambda plan, ctx: ctx.block(f"no {ctx.upsert.title}") if ctx.upsert else None))

    await posts(stage)

    assert drafts(stage) == {}
    assert "plugin a refuses the plan 'Be polite': no Be polite" in [
        each.get("error") for each in stage.state()["queue"].values()
    ]
