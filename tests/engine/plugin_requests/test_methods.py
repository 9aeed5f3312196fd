"""The other requests: events, contexts, stores, actions to post, and runs of agents."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from request_bench import RequestBench, a_message
from stage import ScriptedTriager, Stage, said, until

from prloom.engine.plan import admission
from prloom.engine.plan.rules import rules
from prloom.model.event import Author, Target

PLAN = {"plan_id": "pr-7"}


async def test_an_unknown_method_names_those_that_there_are(bench: RequestBench):
    error = await bench.error("read_mind")

    assert error.code == -32601
    assert str(error).startswith("there is no method 'read_mind'; there are add_message, emit_event, get_context,")


@pytest.mark.parametrize(
    ("method", "params", "key"),
    [
        ("emit_action", {"plan_id": "nowhere", "action": {}}, "add_messages = true"),
        ("read_events", {"wrong": 1}, "access_context = true"),
        ("run_agent", {**PLAN, "prompt": "x", "stage": "triage"}, "trigger_agent = true"),
    ],
)
async def test_without_a_permission_nothing_is_done_and_the_error_names_the_key(
    tmp_path: Path, method: str, params: object, key: str
):
    bench = RequestBench(tmp_path, "")
    with bench.open():
        error = await bench.error(method, params)

        assert (error.code, str(error)) == (
            -32001,
            f"{method}: permission denied; it needs {key} in [plugins.permissions.ci] of prloom.toml",
        )
        assert not bench.activity
        assert not bench.runs


async def test_permissions_are_those_of_the_plugin_that_a_name_means_and_never_of_one_with_a_similar_name(
    tmp_path: Path,
):
    bench = RequestBench(tmp_path, "[plugins.permissions.my-ci]\nemit_events = true\n")
    for key in ("my_ci", "my-ci"):
        bench.stage.plugin(key, lambda ctx: None)
    with bench.open():
        bench.grants.begin("my_ci")
        bench.grants.begin("my-ci")
        denied = await bench.error("emit_event", {"type": "x"}, "my_ci")
        await bench.ask("emit_event", {"type": "x"}, "my-ci")
        bench.registry.plugins = ("my_ci",)
        await bench.ask("emit_event", {"type": "x"}, "my_ci")

    assert denied.code == -32001


async def test_the_preset_of_a_plan_may_permit_less_and_disable_the_plugin(tmp_path: Path):
    bench = RequestBench(
        tmp_path,
        "[plugins.permissions.ci]\nadd_messages = true\n"
        "[presets.strict.plugins.permissions.ci]\nadd_messages = false\n[presets.without.plugins]\ndisabled = ['ci']\n",
    )
    bench.stage.adopt("strict", pr=8, preset="strict")
    bench.stage.adopt("without", pr=9, preset="without")
    with bench.open():
        await bench.add("m-1")
        strict = await bench.error("add_message", a_message(plan_id="strict"))
        without = await bench.error("set_state", {"plan_id": "without", "key": "a", "value": 1})

    assert (strict.code, without.code) == (-32001, -32001)
    assert str(without) == "set_state: permission denied; plan without disables plugin ci"


async def test_an_event_is_emitted_under_the_plugins_own_name(bench: RequestBench):
    answer = await bench.ask("emit_event", {**PLAN, "type": "build_done", "data": {"ok": True}})

    (event,) = bench.activity
    assert answer == {"success": True, "id": event.id}
    assert (event.type, event.plan_id) == ("PLUGIN_EVENT_EMITTED", "pr-7")
    assert event.data == {"pluginName": "ci", "type": "plugin.ci.build_done", "data": {"ok": True}, "depth": 0}
    assert (await bench.ask("emit_event", {"type": "x"}))["id"] == "prloom:1"


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("emit_event", {"type": "agent_end"}, "type: 'agent_end' is one of prloom's own; choose another name"),
        ("emit_event", {"type": "AGENT_END"}, "type: 'AGENT_END' is one of prloom's own; choose another name"),
        ("emit_event", {"type": "pr_comment"}, "type: 'pr_comment' is one of prloom's own; choose another name"),
        ("emit_event", {"type": "a.b"}, "type: 'a.b' cannot be used; use a-z, 0-9 and '_'"),
        ("emit_event", {"type": "a" * 65}, "type: "),
        ("emit_event", {"type": "x", "run_id": "run-1"}, "run_id: give the plan_id of the run too"),
        (
            "emit_event",
            {**PLAN, "type": "x", "run_id": "../../x"},
            "run_id: no run '../../x' of plan pr-7 is running; leave it out",
        ),
        ("emit_event", {"type": "x", "data": []}, "data: expected `object`, got `array`"),
        ("get_state", {**PLAN, "key": "$prloom"}, "a key is a text that is not empty and does not start with '$'"),
        ("set_state", {**PLAN, "key": "a", "value": "x" * 2**20}, "the store would hold"),
        ("set_global_state", {"key": "", "value": 1}, "a key is a text"),
        ("emit_action", {**PLAN, "action": {}}, "action: Object missing required field `payload`"),
        ("emit_action", {**PLAN, "action": {"payload": {"type": "wave"}}}, "action: Invalid value 'wave'"),
        (
            "emit_action",
            {**PLAN, "action": {"payload": {"type": "comment", "message": "x"}, "relatedEventId": "c-9"}},
            "action.relatedEventId: this plan has no event 'c-9'",
        ),
    ],
)
async def test_params_that_name_what_is_prlooms_own_or_belongs_nowhere_or_is_none_are_refused(
    bench: RequestBench, method: str, params: dict[str, object], text: str
):
    error = await bench.error(method, params)

    assert error.code == -32602
    assert str(error).startswith(f"{method}: {text}")
    assert not bench.activity
    assert not bench.plan.event_store.state.queue


async def test_events_have_a_limit_of_their_own(bench: RequestBench):
    for _ in range(60):
        await bench.ask("emit_event", {"type": "x"})
    error = await bench.error("emit_event", {"type": "x"})

    assert (error.code, error.data) == (-32002, {"retry_after_ms": 60_000})
    await bench.add("m-1")


async def test_a_context_shows_the_plan_and_no_event_of_a_stranger(bench: RequestBench):
    stage = bench.stage
    (stage.local() / "plan.md").write_text("# Greet\n\n## TODO\n\n- [ ] Say hello\n")
    stage.append(said("c-1"), said("c-2", author=Author("stranger", "read")))
    admission.take_in(bench.plan, lambda event: None)
    found = await bench.ask("get_context", PLAN)

    assert list(found) == [
        "plan",
        "todos",
        "events",
        "runs",
        "token_usage",
        "focus",
        "is_processing",
        "read_only",
    ]
    assert (found["plan"]["id"], found["plan"]["pr"], found["plan"]["text"][:7]) == ("pr-7", 7, "# Greet")
    assert [(todo["title"], todo["state"]) for todo in found["todos"]] == [("Say hello", "open")]
    assert [event["id"] for event in found["events"]] == ["c-1"]
    assert (found["runs"], found["focus"], found["is_processing"], found["read_only"]) == ([], None, False, True)
    assert found["token_usage"] == {"runs": 0, "inputTokens": 0, "outputTokens": 0, "cachedTokens": 0, "costUsd": None}


async def test_a_context_has_the_status_that_people_see(bench: RequestBench):
    plan = bench.stage.local() / "plan.md"
    plan.write_text("# Greet\n\n## TODO\n\n- [ ] Say hello\n")
    active = await bench.ask("get_context", PLAN)
    plan.write_text("# Greet\n\n## TODO\n\n- [x] Say hello\n")
    review = await bench.ask("get_context", PLAN)
    bench.plan.event_store.commit("operator", "operator", paused=True)
    paused = await bench.ask("get_context", PLAN)

    assert [each["plan"]["status"] for each in (active, review, paused)] == ["active", "review", "paused"]


async def test_events_are_read_on_from_an_id(bench: RequestBench):
    bench.stage.append(said("c-1"), said("c-2", type="check_failed"), said("c-3"))
    admission.take_in(bench.plan, lambda event: None)
    first = await bench.ask("read_events", {**PLAN, "limit": 1})
    rest = await bench.ask("read_events", {**PLAN, "since_id": first["last_id"], "types": ["pr_comment"]})
    unknown = await bench.error("read_events", {**PLAN, "since_id": "c-9"})
    none = await bench.error("read_events", {**PLAN, "limit": 0})

    assert ([each["id"] for each in first["events"]], first["last_id"]) == (["c-1"], "c-1")
    assert ([each["id"] for each in rest["events"]], rest["last_id"]) == (["c-3"], "c-3")
    assert str(unknown) == "read_events: since_id: this plan has no event 'c-9' to continue from"
    assert str(none) == "read_events: limit: expected `int` >= 1"


async def test_a_long_journal_of_which_nothing_is_wanted_leaves_the_others_their_turn(bench: RequestBench):
    bench.stage.append(*(said(f"c-{number}") for number in range(1000)))
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(count())
    answer = await bench.ask("read_events", {**PLAN, "types": ["check_failed"]})
    other.cancel()

    assert answer == {"events": [], "last_id": "c-999"}
    assert turns >= 4


@pytest.mark.parametrize(("one", "other"), [(True, 1), (1, True), (0, False), ([1], [True]), ({"a": 1}, {"a": True})])
async def test_a_value_that_python_takes_for_another_is_written(bench: RequestBench, one: object, other: object):
    await bench.ask("set_state", {**PLAN, "key": "a", "value": one})
    await bench.ask("set_state", {**PLAN, "key": "a", "value": other})

    assert str(bench.plan.stores.get("ci").values["a"]) == str(other)


async def test_the_stores_are_those_of_the_plugins_hooks(closed: RequestBench):
    with closed.open():
        assert await closed.ask("set_state", {**PLAN, "key": "a", "value": [1]}) == {"success": True}
        await closed.ask("set_state", {**PLAN, "key": "b", "value": 2})
        await closed.ask("set_state", {**PLAN, "key": "b", "value": None})
        await closed.ask("set_global_state", {"key": "g", "value": "x"})
        before = closed.plan.event_store.state.seq
        await closed.ask("set_state", {**PLAN, "key": "a", "value": [1]})
        assert closed.plan.event_store.state.seq == before
    with closed.open():
        assert await closed.ask("get_state", {**PLAN, "key": "a"}) == {"value": [1]}
        assert await closed.ask("get_state", {**PLAN, "key": "b"}) == {"value": None}
        assert await closed.ask("get_global_state", {"key": "g"}) == {"value": "x"}
        assert await closed.ask("get_state", {**PLAN, "key": "a"}, "other") == {"value": None}
        assert closed.plan.stores.get("ci").values == {"a": [1]}


async def test_what_a_plugin_writes_into_its_stores_in_a_minute_has_a_limit_over_all_plans(bench: RequestBench):
    for number in range(16):
        bench.ticks += 1
        await bench.ask("set_state", {**PLAN, "key": "a", "value": f"{number}" + "x" * 1_000_000})
    same = await bench.ask("set_state", {**PLAN, "key": "a", "value": "15" + "x" * 1_000_000})
    refused = await bench.error("set_global_state", {"key": "a", "value": "x" * 1_000_000})
    bench.ticks += 45
    again = await bench.ask("set_global_state", {"key": "a", "value": "x" * 1_000_000})

    assert same == again == {"success": True}
    assert (refused.code, refused.data) == (-32002, {"retry_after_ms": 45_000})
    assert "set_global_state: a plugin may write 16777216 bytes of state in a minute; these are used up" in str(refused)


async def test_an_action_goes_where_the_plan_is_talked_about_and_counts_as_a_message(bench: RequestBench):
    answer = await bench.ask("emit_action", {**PLAN, "action": {"payload": {"type": "comment", "message": "Hi"}}})
    label = {"payload": {"type": "add_labels", "labels": ["x"]}, "target": {"target": "forge", "token": {"pr": 7}}}
    for _ in range(9):
        await bench.ask("emit_action", {**PLAN, "action": label})

    queue = bench.plan.event_store.state.queue
    assert (len(queue), queue[answer["action_id"]].target) == (10, "forge")
    assert (await bench.error("add_message", a_message())).code == -32002
    assert bench.activity[0].data["kind"] == "comment"


@pytest.mark.parametrize(
    ("name", "token"),
    [
        ("local", {"plan": "feat2", "section": "replies"}),
        ("local", {"plan": "pr-7", "item": "of-no-event"}),
        ("forge", {"pr": 8}),
        ("forge", {"pr": 7, "thread": 99}),
        ("elsewhere", {"channel": "all"}),
    ],
)
async def test_an_action_with_a_target_that_is_not_of_its_plan_is_refused(
    bench: RequestBench, name: str, token: dict[str, object]
):
    action = {"payload": {"type": "comment", "message": "Hi"}, "target": {"target": name, "token": token}}

    error = await bench.error("emit_action", {**PLAN, "action": action})

    assert error.code == -32602
    assert str(error).startswith("emit_action: action.target: it is neither the conversation of plan pr-7 nor")
    assert not bench.plan.event_store.state.queue
    assert not bench.activity


async def test_an_action_may_go_where_an_event_of_its_plan_is_answered(bench: RequestBench):
    thread = {"target": "forge", "token": {"pr": 7, "thread": 5}}
    bench.stage.append(said("c-1", reply_to=Target("forge", {"pr": 7, "thread": 5})))
    payload = {"type": "comment", "message": "Hi"}

    for target in (thread, {"target": "local", "token": {"plan": "pr-7", "section": "replies"}}, {"target": "forge"}):
        await bench.ask("emit_action", {**PLAN, "action": {"payload": payload, "target": target}})

    assert len(bench.plan.event_store.state.queue) == 3


async def test_an_agent_runs_in_the_stage_that_is_permitted(bench: RequestBench):
    answer = await bench.ask("run_agent", {**PLAN, "prompt": "Look", "stage": "triage"})
    worker = await bench.error("run_agent", {**PLAN, "prompt": "Look", "stage": "worker"})
    other = await bench.error("run_agent", {**PLAN, "prompt": "Look", "stage": "designer"})
    empty = await bench.error("run_agent", {**PLAN, "prompt": " ", "stage": "triage"})

    assert (answer, bench.runs) == ({"run_id": "run-1", "message": "done"}, [("triage", "Look", "ci")])
    assert (worker.code, 'trigger_agent = "worker"' in str(worker)) == (-32001, True)
    assert (other.code, empty.code) == (-32602, -32602)


async def test_a_run_that_has_waited_for_its_turn_is_refused_where_it_is_not_permitted_any_more(bench: RequestBench):
    asked = {**PLAN, "prompt": "Look", "stage": "triage"}
    async with bench.slot:  # another run has the only slot
        for_the_slot = asyncio.create_task(bench.error("run_agent", asked))
        for_the_first = asyncio.create_task(bench.error("run_agent", asked))
        await until(lambda: bool(bench.slot._waiters))
        bench.stage.configure("[plugins.permissions.ci]\ntrigger_agent = false\n")
        bench.plan.rules = rules(bench.stage.config)
    refused = (await for_the_slot, await for_the_first)

    assert [error.code for error in refused] == [-32001, -32001]
    assert str(refused[0]).startswith("run_agent: permission denied; it needs trigger_agent = true")
    assert bench.runs == []


async def test_runs_that_a_plugin_requests_because_of_its_runs_end_like_a_chain_of_messages(bench: RequestBench):
    for depth in (1, 2, 3):
        answer = await bench.ask("run_agent", {**PLAN, "prompt": "Look", "stage": "triage"})
        assert bench.chains.depth_of_run("pr-7", answer["run_id"]) == depth
        bench.chains.showed("ci", depth)
    error = await bench.error("run_agent", {**PLAN, "prompt": "Look", "stage": "triage"})

    assert (error.code, error.data) == (-32002, {"retry_after_ms": 60_000})
    assert len(bench.runs) == 3


async def test_a_dispatcher_accepts_requests_from_its_first_look_at_the_plans_until_it_begins_to_end(tmp_path: Path):
    stage = Stage(tmp_path)
    stage.adopt()
    accepting: list[bool] = []

    class Ending(ScriptedTriager):
        async def close(self) -> None:
            accepting.append(dispatcher.registry.accepting)

    stage.triager = Ending()
    dispatcher = stage.dispatcher()
    assert not dispatcher.registry.accepting
    task = asyncio.create_task(dispatcher.run(timedelta(milliseconds=5)))
    await until(lambda: dispatcher.registry.accepting)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    assert accepting == [False]
