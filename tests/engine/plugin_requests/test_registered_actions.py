"""Actions that daemons register, and that people run."""

from __future__ import annotations

from datetime import timedelta

import pytest
from request_bench import RequestBench
from stage import said

from prloom.core.events import dispatch
from prloom.core.plugins.plugin_action import Absence
from prloom.engine.plugin_requests import operator_actions
from prloom.errors import PrloomError
from prloom.extensions.background import call_error
from prloom.model.event import Author
from prloom.model.hook import HookCall

LIMIT = timedelta(minutes=1)
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def a_deploy(bench: RequestBench, **fields: object) -> None:
    await bench.plugins.start()
    await bench.ask("register_action", {"name": "deploy", "description": "Deploy it", **fields})


def by_comment(body: str = "/deploy to staging\nplease") -> HookCall:
    event = said("c-1", body, author=Author("ada", "write"))
    return HookCall(hook="command:/deploy", plan_id="pr-7", repo_root="", worktree="", now="", events=(event,))


async def test_an_action_stays_a_command_of_its_plugin_while_the_daemon_or_the_dispatcher_is_started_again(
    closed: RequestBench,
):
    with closed.open():
        await a_deploy(closed)
        running = closed.actions.is_registered("ci", "command:/deploy")
        closed.grants.end("ci")
        ended = closed.actions.is_registered("ci", "command:/deploy")
        offered = closed.plugins.subscribers().commands
    with closed.open():
        later = closed.actions.offered("ci")
        await a_deploy(closed)

        assert (running, ended) == (True, False)
        assert offered == closed.plugins.subscribers().commands == {"deploy": "ci"}
        assert later == {"deploy": "Deploy it"}
        assert closed.actions.answers("ci", "command:/deploy")
        assert not closed.actions.answers("other", "command:/deploy")


async def test_a_comment_is_told_why_its_action_does_not_run_and_one_that_is_gone_for_good_is_forgotten(
    bench: RequestBench,
):
    await a_deploy(bench)
    bench.grants.end("ci")
    stopped = bench.actions.decline("ci", by_comment(), Absence("It is not running."))
    still = dict(bench.actions.offered("ci"))
    bench.actions.decline("ci", by_comment(), Absence("It is over.", over=True))

    assert stopped.actions[0].payload.message == "It is not running."  # type: ignore[union-attr]
    assert list(still) == ["deploy"]
    assert bench.actions.offered("ci") == bench.plugins.subscribers().commands == {}


async def test_a_comment_goes_to_the_plugin_that_offers_its_action_not_to_one_that_did_at_an_earlier_start(
    closed: RequestBench,
):
    with closed.open():
        await a_deploy(closed)
    with closed.open():
        await closed.plugins.start()
        await closed.ask("register_action", {"name": "deploy"}, "other")
        taken_over = closed.plugins.subscribers().commands
        remembered = dict(closed.actions.offered("ci"))
        await closed.ask("register_action", {"name": "deploy"})

        assert (taken_over, remembered) == ({"deploy": "other"}, {})
        assert closed.plugins.subscribers().commands == {"deploy": "ci"}


async def test_an_action_of_a_plugin_that_is_not_enabled_any_more_hinders_no_other(closed: RequestBench):
    with closed.open():
        await a_deploy(closed)
    del closed.stage.hosts[0]
    with closed.open():
        await closed.plugins.start()

        assert await closed.ask("register_action", {"name": "deploy"}, "other") == {"success": True}
        assert closed.plugins.subscribers().commands == {"deploy": "other"}


async def test_an_action_that_is_registered_again_and_again_leaves_nothing_behind(bench: RequestBench):
    grant = bench.grants.current("ci")
    assert grant is not None
    before = len(grant.on_end)
    for _ in range(3):
        await bench.ask("register_action", {"name": "deploy"})
        await bench.ask("unregister_action", {"name": "deploy"})

    assert len(grant.on_end) == before + 1


async def test_an_action_can_be_taken_back(bench: RequestBench):
    await a_deploy(bench)
    assert await bench.ask("unregister_action", {"name": "deploy"}) == {"success": True}

    assert bench.plugins.subscribers().commands == {}
    assert str(await bench.error("unregister_action", {"name": "deploy"})) == (
        "unregister_action: name: there is no action 'deploy'"
    )


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"name": "prloom"}, "name: /prloom is built in; choose another name"),
        ({"name": "De ploy"}, "name: 'De ploy' cannot be used; use a letter"),
        ({"name": "x", "description": "x" * 301}, "description: it has 301 characters; write at most 300"),
        ({"name": "x", "params_schema": {"type": "array"}}, 'params_schema: its type is not "object"'),
        ({"name": "x", "params_schema": {"required": 3}}, "params_schema: "),
    ],
)
async def test_an_action_that_cannot_be_run_is_refused(bench: RequestBench, params: dict[str, object], text: str):
    error = await bench.error("register_action", params)

    assert error.code == -32602
    assert str(error).startswith(f"register_action: {text}")


async def test_a_plugin_has_fifty_actions_at_most(bench: RequestBench):
    for number in range(50):
        await bench.ask("register_action", {"name": f"a{number}"})

    assert (await bench.error("register_action", {"name": "more"})).code == -32602
    assert await bench.ask("register_action", {"name": "a7", "description": "anew"}) == {"success": True}


async def test_a_command_of_the_plugins_own_code_is_not_replaced(closed: RequestBench):
    closed.stage.hosts.clear()
    closed.stage.plugin("ci", lambda ctx: ctx.register_command("deploy", lambda event, ctx: None))
    closed.stage.plugin("other", lambda ctx: None)
    with closed.open():
        await closed.plugins.start()
        error = await closed.error("register_action", {"name": "deploy"})

        assert str(error) == "register_action: name: the plugin's own code has registered /deploy already"
        assert closed.plugins.subscribers() == dispatch.Subscribers(commands={"deploy": "ci"}, approved_commands=set())


async def test_the_operator_runs_an_action_with_params_that_fit_its_schema(bench: RequestBench):
    await a_deploy(bench, params_schema=SCHEMA)
    bench.result = {"message": "deployed"}
    asked = {"plugin": "ci", "name": "deploy", "params": {"text": "now"}, "plan": "pr-7"}
    answer = await operator_actions.run(bench.actions, bench.registry, LIMIT, asked)

    assert answer == {"result": {"message": "deployed"}}
    params = {"name": "deploy", "params": {"text": "now"}, "plan_id": "pr-7", "by": "operator"}
    assert bench.calls == [("ci", "run_action", params)]
    assert bench.activity[0].type == "PLUGIN_ACTION_REQUESTED"
    assert bench.activity[0].data == {
        "pluginName": "ci",
        "action": "deploy",
        "params": {"text": "now"},
        "by": "operator",
    }


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"params": {}}, "the params of deploy are not valid: 'text' is a required property"),
        ({"params": {"text": 3}}, "the params of deploy are not valid: text: 3 is not of type 'string'"),
        ({"name": "destroy"}, "plugin ci has registered no action destroy; those that it has: deploy"),
        ({"plugin": "other"}, "plugin other has registered no action deploy; those that it has: none"),
        ({"plan": "pr-8"}, "there is no plan pr-8"),
    ],
)
async def test_what_cannot_be_run_is_an_error_and_reaches_no_daemon(
    bench: RequestBench, changed: dict[str, object], text: str
):
    await a_deploy(bench, params_schema=SCHEMA)
    asked = {"plugin": "ci", "name": "deploy", "params": {"text": "now"}, "plan": None, **changed}

    with pytest.raises(PrloomError) as caught:
        await operator_actions.run(bench.actions, bench.registry, LIMIT, asked)

    assert str(caught.value) == text
    assert bench.calls == []


async def test_a_comment_runs_an_action_with_its_text_and_gets_the_answer_in_its_thread(bench: RequestBench):
    await a_deploy(bench)
    bench.result = {"message": "deployed"}
    outcome = await bench.actions.answer("ci", by_comment(), LIMIT)

    params = {"name": "deploy", "params": {"text": "to staging\nplease"}, "plan_id": "pr-7", "by": "ada"}
    assert bench.calls == [("ci", "run_action", params)]
    (reply,) = outcome.actions
    assert (reply.related_event_id, reply.target) == ("c-1", said("c-1").reply_to)
    assert reply.payload.message == "deployed"  # type: ignore[union-attr]


async def test_the_answer_to_a_comment_is_posted_without_its_effects(bench: RequestBench):
    await a_deploy(bench)
    bench.result = {"message": "Ask &#64;eve ![x](https://evil.example/a.png)"}

    (reply,) = (await bench.actions.answer("ci", by_comment(), LIMIT)).actions

    message = reply.payload.message  # type: ignore[union-attr]
    assert message.startswith("Ask ")
    assert not any(part in message for part in ("&#64;eve", "@eve", "![x]("))


async def test_a_comment_that_does_not_fit_is_told_so_and_a_daemon_that_fails_is_tried_again(bench: RequestBench):
    await a_deploy(bench, params_schema={"type": "object", "properties": {"text": {"enum": ["staging"]}}})
    outcome = await bench.actions.answer("ci", by_comment(), LIMIT)
    bench.result = call_error.timed_out("ci", "run_action", LIMIT)

    (reply,) = outcome.actions
    assert "the params of deploy are not valid: text: " in reply.payload.message  # type: ignore[union-attr]
    with pytest.raises(call_error.CallError):
        await bench.actions.answer("ci", by_comment("/deploy staging"), LIMIT)
