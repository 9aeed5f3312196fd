"""The backlog of one plan holds up no other plan: what is counted here are steps and writes, never seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from faulty_disks import NotingDisk
from stage import ListBridge, Stage, said

from prloom.api import Action, BridgeContext, Delivered, Event, HookContext, PluginContext, Refused, TriageContext
from prloom.core.commands.requests import OperatorRequest
from prloom.core.delivery import outbox
from prloom.engine.operator import control
from prloom.engine.operator.request_reader import RequestReader
from prloom.engine.plan import admission, delivery, reconcile, scheduler, unclaimed_actions
from prloom.model.event import Author

MANY = 600


class BatchBridge(ListBridge):
    """A target that takes many actions at once; `poison` is an action that it cannot even look at."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.poison: str | None = None

    async def deliver_batch(self, ctx: BridgeContext, actions: Sequence[Action]) -> Sequence[Delivered | Refused]:
        self.batches.append(len(actions))
        if any(self._is_poison(action) for action in actions):
            raise RuntimeError("cannot look at that")
        return [Delivered(remote_id=f"remote-{action.id}") for action in actions]

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        if self._is_poison(action):
            raise RuntimeError("cannot look at that")
        return await super().actions(ctx, action)

    def _is_poison(self, action: Action) -> bool:
        return self.poison is not None and getattr(action.payload, "message", "") == self.poison


class Silent(BatchBridge):
    """A target that does not return a result for each action."""

    async def deliver_batch(self, ctx: BridgeContext, actions: Sequence[Action]) -> Sequence[Delivered | Refused]:
        return [Delivered()]


@pytest.fixture
def many(stage: Stage) -> Stage:
    """Have plan pr-7 with as many events as one agent's run can answer, and plan pr-8 beside it."""
    stage.adopt("pr-7")
    stage.adopt("pr-8", pr=8)
    stage.append(*(said(f"a{number}") for number in range(MANY)))
    return stage


def answer_to_pr_8(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def hook(plan: str, triage: TriageContext) -> None:
        for event in triage.events:
            if event.pr == 8:
                triage.mark_event_handled(event.id)


async def sent_before_pr_8(many: Stage, bridge: ListBridge) -> int:
    """Have an event of pr-8 come after ten actions of pr-7, and return how many were sent when it was taken in."""
    many.plugin("p", answer_to_pr_8)
    begun: list[int] = []

    def first(action: Action) -> None:
        if len(bridge.actions_seen) == 10:
            many.append(said("b", pr=8), plan_id="pr-8")

    bridge.refuse = first
    async with many.running():
        await many.until(lambda: bool(many.decisions("pr-8")) and not begun.append(len(bridge.actions_seen)))
    return begun[0]


async def test_deliveries_through_a_bridge_that_never_waits_hold_up_no_other_plan(many: Stage):
    """Before, the event of pr-8 was taken in when all of the actions of pr-7 were delivered."""
    assert await sent_before_pr_8(many, many.bridge) < MANY / 4


async def test_a_bridge_that_takes_many_actions_at_once_costs_few_writes(many: Stage):
    bridge = BatchBridge()
    many.bridges = [bridge]
    disk = many.disk = NotingDisk()
    many.triager.answer = lambda batch: disk.done.clear() or _answered(batch)

    await many.tick()

    assert bridge.batches == [delivery.BATCH] * (MANY // delivery.BATCH)
    assert many.state()["queue"] == {}
    assert many.state()["delivered"] == MANY
    assert disk.done.count("rename") < 4 * len(bridge.batches)
    assert disk.done.count("fdatasync") + disk.done.count("fsync") < 20 * len(bridge.batches)


def _answered(batch: Sequence[Any]) -> dict[str, Any]:
    items = [{"eventId": event.id, "verdict": "answered", "reply": f"re {event.id}"} for event in batch]
    return {"items": items, "todos": []}


async def test_an_action_that_a_bridge_fails_on_keeps_none_from_being_delivered_that_was_sent_with_it(stage: Stage):
    bridge = BatchBridge()
    bridge.poison = "re a1"
    stage.bridges = [bridge]
    stage.adopt()

    await stage.take_in(said("a0"), said("a1"), said("a2"))

    assert bridge.said == ["re a0", "re a2"]
    (left,) = stage.state()["queue"].values()
    assert (left["attempts"], left["error"]) == (1, "RuntimeError: cannot look at that")


async def test_actions_are_sent_one_by_one_where_a_bridge_does_not_answer_for_each(
    stage: Stage, caplog: pytest.LogCaptureFixture, pr_7: Path
):
    bridge = Silent()
    stage.bridges = [bridge]

    await stage.take_in(said("a0"), said("a1"))

    assert bridge.said == ["re a0", "re a1"]
    assert (
        "bridge forge: deliver_batch: it did not return one result for each action; 2 actions are sent one by one"
        in caplog.messages
    )


async def test_where_a_bridge_fails_on_many_at_once_others_have_their_turn_between_the_single_ones(many: Stage):
    bridge = BatchBridge()
    bridge.poison = "re a0"
    many.bridges = [bridge]

    assert await sent_before_pr_8(many, bridge) < delivery.BATCH - 1


async def test_what_is_withdrawn_while_a_bridge_fails_on_many_at_once_is_not_sent_alone(stage: Stage, pr_7: Path):
    bridge = BatchBridge()
    bridge.poison = "re a0"
    stage.bridges = [bridge]
    stage.append(said("a0"), said("a1"), said("a2"))
    async with stage.running() as dispatcher:

        def withdraw(action: Action) -> None:
            runtime = dispatcher.registry.runtimes["pr-7"]
            (other,) = [each for each in runtime.event_store.state.queue.values() if each.event_id == "a2"]
            runtime.event_store.commit("operator", "operator", deliveries=(outbox.dropped(other, "withdrawn"),))

        bridge.refuse = lambda action: withdraw(action) if len(bridge.actions_seen) == 1 else None
        await stage.until(lambda: bridge.said != [] and not dispatcher.registry.runtimes["pr-7"].in_flight.deliveries)

    assert bridge.said == ["re a1"]


async def test_actions_that_were_delivered_together_have_a_receipt_each_and_are_not_sent_again(stage: Stage):
    bridge = BatchBridge()
    stage.bridges = [bridge]
    stage.adopt()
    await stage.take_in(said("a0"), said("a1"), said("a2"))

    await stage.tick()

    assert bridge.batches == [3]
    deliveries = [each for decision in stage.decisions() for each in decision.get("deliveries", [])]
    assert [each["state"] for each in deliveries] == ["delivered"] * 3
    assert len({each["remoteId"] for each in deliveries}) == 3


async def test_actions_that_no_bridge_claims_fail_many_at_a_time(many: Stage):
    many.bridges = [ListBridge("other")]

    await many.tick()

    failed = [decision for decision in many.decisions() if decision["by"] == unclaimed_actions.NO_BRIDGE]
    assert [len(decision["deliveries"]) for decision in failed] == [delivery.BATCH] * (MANY // delivery.BATCH)


async def test_built_in_commands_are_carried_out_a_few_at_a_time(stage: Stage):
    stage.adopt("pr-7")
    stage.adopt("pr-8", pr=8)
    stage.append(*(said(f"c{number}", "/prloom help") for number in range(100)))
    stage.append(said("b", pr=8), plan_id="pr-8")
    done: list[int] = []
    stage.triager.answer = lambda batch: done.append(len(stage.decisions())) or _answered(batch)

    await stage.tick()

    assert done[0] <= 1 + 2 * scheduler.COMMANDS
    assert stage.state()["done"] == {"handled": 100}


async def test_only_so_many_hook_calls_of_one_plan_are_under_way(stage: Stage, pr_7: Path):
    def register(ctx: PluginContext) -> None:
        @ctx.command("go", help="Go.")
        def go(event: Any, triage: TriageContext) -> None:
            return

    host = stage.plugin("p", register)
    under_way, most = [0], [0]

    async def meets(call: Any) -> None:
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        await asyncio.sleep(0)
        under_way[0] -= 1

    host.meets = meets

    await stage.take_in(*(said(f"c{number}", "/go") for number in range(3 * scheduler.HOOKS)))

    assert most[0] == scheduler.HOOKS
    assert stage.state()["done"] == {"handled": 3 * scheduler.HOOKS}


async def test_only_so_many_permissions_are_looked_up_for_one_plan_at_a_time(stage: Stage, pr_7: Path):
    under_way, most = [0], [0]

    async def waits(what: str) -> None:
        if what != "permission":
            return
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        await asyncio.sleep(0)
        under_way[0] -= 1

    stage.bridge.waits = waits
    people = [Author(f"person-{number}") for number in range(3 * reconcile.LOOKUPS)]

    await stage.take_in(*(said(person.login, author=person) for person in people))

    assert len(stage.bridge.asked) == 3 * reconcile.LOOKUPS
    assert most[0] == reconcile.LOOKUPS


async def test_a_request_takes_in_only_so_much_of_a_backlog_in_one_tick_and_is_carried_out_when_all_is_taken_in(
    stage: Stage,
):
    stage.adopt()
    take_in = partial(admission.take_in, sign=lambda event: None)
    backlog = control.CATCH_UP_BATCHES * admission.LINES
    stage.append(*(said(f"e{number}", author=Author("eve", "none")) for number in range(backlog + 1)))
    dispatcher = stage.dispatcher()
    registry = dispatcher.registry
    control.append_request(
        registry.local, OperatorRequest("r-1", "drop", (f"e{backlog}",), reason="spam"), stage.clock()
    )
    reader = RequestReader(registry.local)
    registry.update(dispatcher._rules)

    control.carry_out_all(reader, registry, take_in)

    runtime = registry.runtimes["pr-7"]
    assert len(runtime.event_store.state.open) == backlog
    control.carry_out_all(reader, registry, take_in)
    assert runtime.event_store.state.done == {"dropped": 1}
    registry.close()


async def test_a_hook_that_asks_for_too_many_actions_fails_with_an_error_that_names_the_plugin_and_the_limit(
    stage: Stage,
):
    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def flood(plan: str, triage: TriageContext) -> None:
            for number in range(1001):
                triage.emit_comment(None, f"comment {number}")

    stage.plugin("flood", register)
    stage.adopt()

    await stage.take_in(said("a"))

    assert stage.open()["a"]["state"] == "deferred"
    assert stage.open()["a"]["reason"] == "emit_comment: one call of beforeTriage can ask for at most 1000 actions"
    assert stage.open()["a"]["deferral"]["owner"] == "flood"
    assert stage.bridge.actions_seen == []


async def test_a_call_for_many_events_that_asks_for_too_many_actions_in_all_fails_too(
    stage: Stage, caplog: pytest.LogCaptureFixture, pr_7: Path
):
    def register(ctx: PluginContext) -> None:
        @ctx.hook("onEvent")
        def flood(event: Event, ctx: HookContext) -> None:
            for number in range(501):
                ctx.emit_comment(None, f"comment {number}")

    stage.configure("[limits]\nmax_replies_per_thread_per_day = 0\n")
    stage.plugin("flood", register)
    stage.bridges = [BatchBridge()]

    await stage.take_in(said("a"), said("b"))

    problem = "onEvent asked for 1002 actions in one call; at most 1000 are allowed"
    assert f"plugin flood: {problem}; prloom now shows it the events one by one" in caplog.messages
    assert stage.state()["delivered"] == 2 * 501 + 2
