"""Messages that plugins add to a plan."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace
from request_bench import RequestBench, a_message

from prloom.engine.plan import admission
from prloom.model.activity import ActivityEvent
from prloom.model.decision import Change
from prloom.model.hook import HookCall


async def test_a_users_message_is_an_event_and_an_assistants_is_a_comment(bench: RequestBench):
    said = await bench.add("m-1")
    post = await bench.add("m-2", role="assistant", content="Done.")
    admission.take_in(bench.plan, lambda event: None)

    opened = bench.plan.event_store.state.open[said["event_id"]]
    assert said == {"success": True, "event_id": said["event_id"], "duplicate": False}
    assert (opened.type, opened.source, opened.author, opened.state) == (
        "plugin_message",
        "plugin.ci",
        "plugin.ci",
        "pending",
    )
    queued = bench.plan.event_store.state.queue[post["action_id"]]
    assert (queued.target, queued.draft) == ("forge", False)
    assert [event.type for event in bench.activity] == ["PLUGIN_MESSAGE_RECEIVED"] * 2
    assert bench.activity[0].data == {
        "pluginName": "ci",
        "messageId": "m-1",
        "role": "user",
        "eventId": said["event_id"],
        "depth": 1,
    }


async def test_a_message_id_is_added_once_for_each_plugin_and_plan_whatever_role_and_text_come_later(
    closed: RequestBench,
):
    with closed.open():
        first = await closed.add("m-1")
        again = await closed.add("m-1", role="assistant", content="other")
        others = await closed.add("m-1", plugin="other")
        post = await closed.add("m-2", role="assistant")
    with closed.open():
        later = await closed.add("m-1", content="third")
        post_later = await closed.add("m-2")
        admission.take_in(closed.plan, lambda event: None)

        assert again == later == {**first, "duplicate": True}
        assert post_later == {**post, "duplicate": True}
        assert (others["duplicate"], others["event_id"] == first["event_id"]) == (False, False)
        assert len(closed.plan.event_store.state.open) == 2
        assert list(closed.plan.event_store.state.queue) == [post["action_id"]]
        found = closed.plan.event_store.texts.get(closed.plan.event_store.state.open[first["event_id"]])
        assert found is not None
        assert found.body == "Look at this"


async def test_a_message_is_remembered_also_when_its_event_has_ended(bench: RequestBench):
    first = await bench.add("m-1")
    admission.take_in(bench.plan, lambda event: None)
    bench.plan.event_store.commit("test", "test", changes=_ended(first["event_id"]))

    assert (await bench.add("m-1"))["duplicate"]


def _ended(event_id: str) -> tuple[Change, ...]:
    return (Change(event_id=event_id, verdict="handled", state="handled"),)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"content": "é" * 8193}, "add_message: content: it has 16386 bytes of UTF-8; at most 16384 are accepted"),
        ({"plugin": "other"}, "add_message: Object contains unknown field `plugin`"),
        ({"content": 3}, "add_message: content: expected `str`, got `int`"),
    ],
)
async def test_params_that_cannot_be_accepted_are_an_error_that_says_what_and_where(
    bench: RequestBench, fields: dict[str, object], text: str
):
    error = await bench.error("add_message", a_message(**fields))

    assert (error.code, str(error)[: len(text)]) == (-32602, text)
    assert not bench.activity


async def test_more_messages_than_permitted_in_a_minute_are_refused_and_neither_refusals_nor_duplicates_count(
    bench: RequestBench,
):
    for number in range(10):
        bench.ticks += 1
        await bench.add(f"m-{number}")
        await bench.add(f"m-{number}")
    refused = [await bench.error("add_message", a_message("more")) for _ in range(3)]
    bench.ticks += 50.9
    still = await bench.error("add_message", a_message("more"))
    bench.ticks += 0.2
    await bench.add("more")

    assert refused[0].code == -32002
    assert str(refused[0]) == "add_message: messages_per_minute = 10 is used up; try again in 51000 ms"
    assert [error.data for error in refused] == [{"retry_after_ms": 51000}] * 3
    assert still.data == {"retry_after_ms": 100}
    assert (await bench.error("add_message", a_message("yet another"))).code == -32002


async def test_the_limit_of_one_plugin_leaves_another_alone(bench: RequestBench):
    for number in range(10):
        await bench.add(f"m-{number}")

    assert not (await bench.add("m-1", plugin="other"))["duplicate"]


async def test_a_chain_of_messages_that_cause_each_other_ends_after_three_however_the_plugins_learn_of_them(
    bench: RequestBench,
):
    said = await bench.add("m-1")
    admission.take_in(bench.plan, lambda event: None)
    event = bench.plan.event_store.texts.get(bench.plan.event_store.state.open[said["event_id"]])
    assert event is not None
    call = HookCall(hook="onEvent", plan_id="pr-7", repo_root="", worktree="", now="", events=(event,))
    bench.actions.showed_call("other", call)  # by a hook
    await bench.add("m-2", plugin="other")
    bench.chains.showed_activity("ci", bench.activity[-1])  # by the activity
    await bench.add("m-3")
    bench.chains.showed_activity("other", bench.activity[-1])
    fourth = await bench.error("add_message", a_message("m-4"), "other")
    bench.ticks += 60

    assert [event.data["depth"] for event in bench.activity] == [1, 2, 3]
    assert (fourth.code, fourth.data) == (-32002, {"retry_after_ms": 60_000})
    assert "a chain of plugins' messages that cause each other ends after 3" in str(fourth)
    assert not (await bench.add("m-5", plugin="other"))["duplicate"]
    assert bench.activity[-1].data["depth"] == 1


async def test_a_chain_ends_also_where_two_plugins_pass_their_messages_on_over_two_plans(closed: RequestBench):
    closed.stage.adopt("pr-8", pr=8)
    with closed.open():
        await closed.add("m-1")
        closed.chains.showed_activity("other", closed.activity[-1])
        await closed.add("m-2", plugin="other", plan_id="pr-8")
        closed.chains.showed_activity("ci", closed.activity[-1])
        await closed.add("m-3")
        closed.chains.showed_activity("other", closed.activity[-1])
        fourth = await closed.error("add_message", a_message("m-4", plan_id="pr-8"), "other")

        assert [event.data["depth"] for event in closed.activity] == [1, 2, 3]
        assert (fourth.code, fourth.data) == (-32002, {"retry_after_ms": 60_000})


async def test_a_plugins_own_messages_and_events_are_no_links_of_a_chain_to_itself(bench: RequestBench):
    for number in range(5):
        await bench.add(f"m-{number}")
        bench.chains.showed_activity("ci", bench.activity[-1])
        await bench.ask("emit_event", {"type": "note", "data": {}, "plan_id": "pr-7"})
        bench.chains.showed_activity("ci", bench.activity[-1])

    assert {event.data["depth"] for event in bench.activity if event.type == "PLUGIN_MESSAGE_RECEIVED"} == {1}


async def test_a_run_passes_on_the_depth_of_the_messages_that_it_is_about(bench: RequestBench):
    said = await bench.add("m-1")
    admission.take_in(bench.plan, lambda event: None)
    changes = (replace(_ended(said["event_id"])[0], verdict="started", state="pending"),)
    bench.plan.event_store.commit("triage", "claude", changes=changes, run="run-1")
    end = ActivityEvent(
        id="run-1:9", seq=9, type="AGENT_END", plan_id="pr-7", run_id="run-1", stage="triage", timestamp=0, data={}
    )
    bench.chains.showed_activity("ci", end)
    await bench.add("m-2")

    assert bench.chains.depth_of_run("pr-7", "run-1") == 1
    assert bench.activity[-1].data["depth"] == 2


async def test_what_a_plugin_has_read_counts_once(bench: RequestBench):
    await bench.add("m-1", plugin="other")
    await bench.ask("get_context", {"plan_id": "pr-7"})
    await bench.add("m-2")
    bench.ticks += 60
    await bench.ask("read_events", {"plan_id": "pr-7", "types": ["plugin_message"]})
    bench.ticks += 60
    await bench.ask("get_context", {"plan_id": "pr-7"})
    await bench.add("m-3")

    assert [event.data["depth"] for event in bench.activity] == [1, 2, 1]


async def test_a_plan_that_cannot_be_written_is_not_ready(bench: RequestBench):
    bus = bench.stage.local() / "bus"
    await bench.add("m-0")
    (bus / "events.jsonl").rename(bus / "kept")
    os.mkfifo(bus / "events.jsonl")
    failed = await bench.error("add_message", a_message())
    (bus / "events.jsonl").unlink()
    (bus / "kept").rename(bus / "events.jsonl")
    still = await bench.error("add_message", a_message())

    assert (failed.code, still.code) == (-32003, -32003)
    assert failed.data == {"retry_after_ms": 500}


async def test_without_an_open_plan_or_a_dispatcher_that_is_ready_nothing_is_added(bench: RequestBench):
    unknown = await bench.error("add_message", a_message(plan_id="pr-8"))
    whole = await bench.error("add_message", a_message(plan_id=""))
    bench.registry.accepting = False
    starting = await bench.error("add_message", a_message())

    assert (unknown.code, str(unknown)) == (-32004, "there is no plan 'pr-8'")
    assert whole.code == -32004
    assert (starting.code, str(starting)) == (-32003, "the dispatcher is starting or stopping")


@pytest.mark.parametrize(
    "data",
    [{}, {"log": "x" * 200_000}, {f"k{number}": "y" * 99 for number in range(2000)}, {"n": [[[[1] * 30] * 30] * 30]}],
)
@pytest.mark.parametrize("run", [None, "run-1"])
@pytest.mark.parametrize("about", [{"plan_id": "pr-7"}, {}])
async def test_an_emitted_event_passes_on_the_depth_also_with_a_run_or_without_a_plan(
    bench: RequestBench, about: dict[str, str], run: str | None, data: dict[str, str]
):
    bench.chains.showed("ci", 3)
    await bench.ask("emit_event", {"type": "note", "data": data, **about})
    (emitted,) = bench.activity
    if about:
        emitted = replace(emitted, run_id=run)
    bench.chains.showed_activity("other", emitted)

    assert emitted.data["depth"] == 3
    assert (await bench.error("add_message", a_message("m-1"), "other")).code == -32002
