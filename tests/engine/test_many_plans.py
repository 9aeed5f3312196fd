"""Many plans at rest cost one look each, and nothing that happens to one of them is missed."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from stage import Stage, said
from stage_parts import deferring

from prloom.api import PluginContext, TriageContext
from prloom.engine import idle_plans
from prloom.engine.bus import plans
from prloom.engine.plan import admission

PLANS = [f"plan-{number:02}" for number in range(12)]
Round = Callable[[], Awaitable[None]]


@pytest.fixture
async def rest(stage: Stage) -> AsyncIterator[Round]:
    """Have twelve plans at rest; what it gives does a round."""
    for number, plan_id in enumerate(PLANS):
        stage.adopt(plan_id, pr=number)
        stage.append(said(f"first-{plan_id}"), plan_id=plan_id)
    async with stage.rounds() as again:
        for _ in range(3):
            await again()
        yield again


def done(stage: Stage, plan_id: str) -> int:
    return sum(stage.state(plan_id)["done"].values())


async def test_what_is_appended_to_any_of_many_plans_is_taken_in_by_the_next_tick(stage: Stage, rest: Round):
    for plan_id in PLANS:
        stage.append(said("second"), plan_id=plan_id)
        await rest()

        assert done(stage, plan_id) == 2


async def test_what_is_appended_to_the_repositorys_own_bus_beside_many_plans_is_taken_in_by_the_next_tick(
    stage: Stage, rest: Round
):
    own = stage.root / "prloom/.local/bus"
    for number in range(3):
        stage.append(said(f"global-{number}"), plan_id=PLANS[0])
        lines = (stage.local(PLANS[0]) / "bus/events.jsonl").read_text().splitlines(keepends=True)
        with (own / "events.jsonl").open("a") as events:
            events.write(lines[-1])
        await rest()

        assert json.loads((own / "state/dispatcher.json").read_text())["done"] == {"handled": number + 1}


async def test_a_wait_that_is_over_ends_in_any_of_many_plans(stage: Stage, tmp_path: Path):
    stage.plugin("p", deferring(once=True))
    for number, plan_id in enumerate(PLANS):
        stage.adopt(plan_id, pr=number)
        stage.append(said("a"), plan_id=plan_id)
    async with stage.rounds() as again:
        for _ in range(3):
            await again()
        assert {done(stage, plan_id) for plan_id in PLANS} == {0}
        await again(seconds=61)

        assert {done(stage, plan_id) for plan_id in PLANS} == {1}


async def test_a_line_that_comes_late_into_a_closed_segment_is_seen_by_the_next_tick(stage: Stage, rest: Round):
    bus = stage.local(PLANS[5]) / "bus"
    os.link(bus / "events.jsonl", bus / "events-000001.jsonl")
    (bus / "events.jsonl").unlink()
    stage.append(said("second"), plan_id=PLANS[5])
    await rest()
    with (bus / "events-000001.jsonl").open("a") as late:
        late.write((bus / "events.jsonl").read_text().replace("second", "late"))
    await rest()

    assert done(stage, PLANS[5]) == 3


async def test_a_todo_that_is_written_into_any_of_many_plans_is_seen_within_a_few_ticks(stage: Stage, rest: Round):
    for plan_id in PLANS:
        (stage.local(plan_id) / "plan.md").write_text("# The plan\n\n## TODO\n- [ ] Do it\n")
    for _ in range(idle_plans.TEXTS_EACH):
        await rest()

    missed = [each for each in PLANS if "prloom:todo t-" not in (stage.local(each) / "plan.md").read_text()]
    assert missed == []


async def test_a_plan_that_is_adopted_or_given_up_among_many_is_seen(stage: Stage, rest: Round):
    stage.adopt("new", pr=99)
    stage.append(said("a"), plan_id="new")
    await rest()
    assert done(stage, "new") == 1

    shutil.rmtree(stage.paths.worktree(PLANS[3]))
    stage.append(said("b"), plan_id="new")
    await rest()
    assert done(stage, "new") == 2


async def test_a_tick_at_rest_opens_no_file(stage: Stage, rest: Round):
    os.utime(stage.paths.worktrees, (1, 1))  # or it is listed anew: two changes just now could have one time
    await rest()
    opened: list[object] = []
    listening = [True]
    sys.addaudithook(lambda event, args: opened.append(args[0]) if listening[0] and event == "open" else None)
    try:
        for _ in range(3):
            await rest()
    finally:
        listening[0] = False

    assert [name for name in opened if "worktrees" in str(name) or "jsonl" in str(name)] == []


def test_a_listing_sees_a_plan_whose_state_comes_after_its_worktree(stage: Stage):
    for number, plan_id in enumerate(PLANS):
        stage.adopt(plan_id, pr=number)
    local = stage.adopt("slow", pr=77)
    state = (local / "state.json").read_bytes()
    (local / "state.json").unlink()
    os.utime(stage.paths.worktrees, (1, 1))
    listing = plans.PlanListing(stage.paths)
    assert listing.ids() == tuple(PLANS)
    (local / "state.json").write_bytes(state)

    assert listing.ids() == (*PLANS, "slow")


def test_a_listing_sees_within_so_many_looks_that_a_plan_lost_its_state(stage: Stage):
    for number, plan_id in enumerate(PLANS):
        stage.adopt(plan_id, pr=number)
    os.utime(stage.paths.worktrees, (1, 1))
    listing = plans.PlanListing(stage.paths)
    listing.ids()
    (stage.local(PLANS[0]) / "state.json").unlink()

    assert any(PLANS[0] not in listing.ids() for _ in range(60))


def handler(shown: list[int]) -> Callable[[PluginContext], None]:
    """Return a plugin that handles everything, and notes how many events it was shown at a time."""

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def hook(plan: str, triage: TriageContext) -> None:
            shown.append(len(triage.events))
            for event in triage.events:
                triage.mark_event_handled(event.id)

    return register


async def test_more_events_than_memory_is_meant_for_are_taken_in_bit_by_bit(stage: Stage):
    shown: list[int] = []
    stage.plugin("p", handler(shown))
    stage.adopt()

    await stage.take_in(*(said(f"e{number}") for number in range(admission.MOST + 1500)))

    assert stage.state()["done"] == {"handled": admission.MOST + 1500}
    assert max(shown) <= admission.MOST


async def test_a_command_is_found_behind_more_events_than_memory_is_meant_for(stage: Stage):
    stage.plugin("p", handler([]))
    stage.adopt()
    await stage.take_in(said("pause", "/prloom pause"))

    await stage.take_in(
        *(said(f"e{number}") for number in range(admission.MOST + 10)), said("resume", "/prloom resume")
    )

    assert not stage.open()
    assert stage.state()["done"]["handled"] >= admission.MOST + 10
