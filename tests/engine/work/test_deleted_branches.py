"""A plan whose local branch was deleted is blocked, and the block names the branch and how it comes back."""

from __future__ import annotations

import sys

import pytest
from meddling_clock import MeddlingClock
from stage import said
from workbench import FAST, Run, Workbench

SMALL = Run({"small.py": "small\n"}, answer={"outcome": "done", "summary": "Small.", "commitMessage": "Be small"})


def delete(bench: Workbench) -> str:
    """Delete the plan's branch behind git's back, and return what it was at."""
    tip = bench.project.git("rev-parse", "work")
    bench.project.git("update-ref", "-d", "refs/heads/work")
    return tip


def status(bench: Workbench) -> str:
    return bench.project.git("status", "--porcelain", cwd=bench.worktree)


async def test_the_block_names_the_branch_and_the_command_that_brings_it_back(bench: Workbench):
    bench.script(FAST, SMALL)
    await bench.work_on("- [ ] Make it fast", "- [ ] Make it small")
    tip = delete(bench)

    await bench.ticks(2)

    assert bench.block.reason == (
        f"branch work was deleted; bring it back with `git branch work {tip[:12]}`, the last commit that prloom knows "
        "of it, or give the plan up with `prloom forget work`"
    )
    assert (bench.block.cause, bench.block.way_on) == ("branch", "prloom resume work")
    assert bench.runs() == 1

    bench.stage.ask("resume", "work")  # too early
    await bench.ticks(2)
    assert bench.state.block is not None
    assert bench.runs() == 1

    bench.project.git("branch", "work", tip[:12])
    await bench.carry_out("resume", "work", ticks=2)

    assert bench.state.block is None
    assert bench.commits == ["Be fast", "Be small"]
    assert status(bench) == ""


async def test_a_commit_that_a_person_made_in_the_worktree_is_the_one_that_is_named(bench: Workbench):
    await bench.make_it_fast()
    bench.project.git("commit", "--quiet", "--allow-empty", "--message=mine", cwd=bench.worktree)
    tip = delete(bench)

    await bench.tick()

    assert f"git branch work {tip[:12]}" in bench.block.reason


@pytest.mark.parametrize("verdict", ["changed", "accepted"])
async def test_a_branch_that_is_deleted_during_the_work_blocks_it_and_the_change_is_committed_later(
    bench: Workbench, verdict: str
):
    tips: list[str] = []
    log = bench.worktree / "prloom/.local/bus/decisions.jsonl"
    bench.stage.clock = clock = MeddlingClock(log, verdict, lambda: tips.append(delete(bench)))
    await bench.make_it_fast()
    clock.advance(minutes=5)
    await bench.tick()

    assert bench.block.reason.startswith("branch work was deleted; ")
    bench.project.git("branch", "work", tips[0])
    await bench.carry_out("resume", "work", ticks=2)
    assert bench.commits == ["Be fast"]
    assert bench.runs() == 1
    assert status(bench) == ""


async def test_what_people_say_is_still_answered(bench: Workbench):
    delete(bench)
    bench.stage.append(said("e1"), plan_id="work")

    await bench.ticks(2)

    assert bench.state.block is not None
    assert bench.stage.triager.batches == [("e1",)]


async def test_a_plan_that_has_another_block_is_blocked_by_its_branch_after_that(bench: Workbench):
    bench.todo("- [b] Make it fast")
    bench.script(FAST)
    await bench.tick()
    delete(bench)
    await bench.tick()
    assert bench.block.cause == "todo"

    await bench.carry_out("resume", "work", ticks=2)

    assert bench.block.reason.startswith("branch work was deleted")


async def test_that_the_branches_of_all_plans_are_there_costs_a_tick_at_rest_no_file(bench: Workbench):
    bench.script(FAST)
    bench.todo("- [ ] Make it fast")
    bench.employ()
    opened: list[str] = []
    listening = [False]
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if listening[0] and event == "open" else None)
    async with bench.stage.rounds() as again:
        for _ in range(5):
            await again()
        listening[0] = True
        for _ in range(5):
            await again()
        listening[0] = False

    assert bench.commits == ["Be fast"]
    assert [name for name in opened if "worktrees" in name or "refs/heads" in name] == []


async def test_a_branch_that_a_worker_deletes_while_it_runs_is_put_back_and_blocks_nothing(bench: Workbench):
    gate = bench.home / "gate"
    code = "import time\nos.system('git update-ref -d refs/heads/work')\n(home / 'set').touch()\n"
    waits = f"while not Path({str(gate)!r}).exists(): time.sleep(0.01)"
    bench.script(Run(FAST.files, code=code + waits, answer=FAST.answer))
    bench.todo("- [ ] Make it fast")
    bench.employ()
    async with bench.stage.running() as dispatcher:
        await bench.stage.until((bench.home / "set").exists)
        for _ in range(3):
            dispatcher._run_tick()
        assert bench.state.block is None
        gate.touch()
        await bench.stage.until(lambda: bench.boxes == ["- [x] Make it fast"])

    assert bench.state.block is None
    assert bench.commits == ["Be fast"]
