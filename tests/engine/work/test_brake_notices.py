"""A brake that stops the work is reported once, where people read of the plan."""

from __future__ import annotations

from forge_bridge import ForgeBridge
from workbench import Run, Workbench

from prloom.core.text.reader_words import WAY_ON

ONE = Run({"one.py": "1\n"}, answer={"outcome": "done", "summary": "one", "commitMessage": "Add one"})
TWO = Run({"two.py": "2\n"}, answer={"outcome": "done", "summary": "two", "commitMessage": "Add two"})
LAZY = Run(answer={"outcome": "done", "summary": "x"})


def on_a_forge(bench: Workbench) -> ForgeBridge:
    forge = ForgeBridge()
    bench.stage.bridge, bench.stage.bridges = forge, [forge]
    return forge


def stops(forge: ForgeBridge) -> list[str]:
    return [said for said in forge.said if said.startswith("prloom stopped: ")]


async def test_a_daily_limit_is_reported_once_each_time_that_it_stops_the_work(bench: Workbench):
    forge = on_a_forge(bench)
    bench.configure(rest="[limits]\nmax_runs_per_day = 1")
    bench.script(ONE, TWO)

    await bench.work_on("- [ ] first", "- [ ] second", ticks=2)
    bench.todo("- [ ] third")  # which lifts no brake
    await bench.ticks(2)

    assert bench.commits == ["Add one"]
    (said,) = stops(forge)
    assert said.startswith("prloom stopped: the brake max_runs_per_day = 1 is on: 1 runs today")
    assert sum(WAY_ON in post for post in forge.posts) == 1

    await bench.carry_out("resume", "work", ticks=4)
    assert len(stops(forge)) == 2
    assert bench.commits == ["Add one", "Add two"]


async def test_a_daily_limit_that_was_raised_ends_the_wait_for_it_with_the_next_start(bench: Workbench):
    bench.configure(rest="[limits]\nmax_runs_per_plan_per_day = 1")
    bench.script(ONE, TWO)
    await bench.work_on("- [ ] first", "- [ ] second", ticks=3)
    assert bench.commits == ["Add one"]

    bench.configure(rest="[limits]\nmax_runs_per_plan_per_day = 2")
    await bench.tick()

    assert bench.commits == ["Add one", "Add two"]
    assert bench.state.work is None


async def test_a_daily_limit_that_was_changed_and_is_on_still_is_named_as_it_is_now(bench: Workbench):
    forge = on_a_forge(bench)
    bench.configure(rest="[limits]\nmax_runs_per_plan_per_day = 1")
    bench.script(ONE, TWO, LAZY)
    await bench.work_on("- [ ] first", "- [ ] second", "- [ ] third", ticks=2)
    await bench.carry_out("resume", "work", ticks=3)

    bench.configure(rest="[limits]\nmax_runs_per_plan_per_day = 2")
    await bench.ticks(3)

    assert bench.state.work is not None
    assert (bench.state.work.waits_for or "").startswith("the brake max_runs_per_plan_per_day = 2 is on: 2 runs")
    assert bench.commits == ["Add one", "Add two"]
    assert len(stops(forge)) == 3


async def test_a_todo_that_is_parked_after_its_attempts_is_reported_once_with_what_people_can_do(
    bench: Workbench,
):
    forge = on_a_forge(bench)
    bench.configure(rest="[limits]\nmax_attempts = 2")
    bench.script(ONE, LAZY, Run(answer={"outcome": "perhaps"}))

    await bench.work_on("- [ ] first", "- [ ] second", ticks=5)

    (said,) = stops(forge)
    assert said.startswith("prloom stopped: the brake max_attempts = 2 is on: 2 attempts failed: the worker's answer ")
    (todo,) = [each for each in bench.state.done_todos if each]
    assert any(WAY_ON in post for post in forge.posts)
    assert todo not in bench.block.way_on
