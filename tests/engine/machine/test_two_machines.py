"""A dispatcher and worker machines share a database and a remote: runs are done there, and their changes come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench import FAST, Run

if TYPE_CHECKING:
    from conftest import MachineBench, OtherMachine

    Make = Callable[[str], OtherMachine]

KEY = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


async def test_a_todo_is_done_on_another_machine_and_committed_here(bench: MachineBench, other: OtherMachine):
    other.script(FAST)
    other.start()

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast"]
    assert bench.boxes == ["- [x] Make it fast"]
    assert bench.shown("fast.py") == "fast"
    assert bench.runs() == 0
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == ""
    assert bench.hub("log", "-1", "--format=%s", "work") == "Be fast"
    assert bench.hub("for-each-ref", "refs/prloom") == ""
    assert bench.project.git("for-each-ref", "refs/prloom/runs", "refs/prloom/applying") == ""
    log = other.stop()
    assert "completed" in log
    assert other.left == []


async def test_the_activity_of_a_run_on_another_machine_comes_while_it_goes_on_and_without_that_machines_secrets(
    bench: MachineBench, other: OtherMachine
):
    gate = other.home / "gate"
    started = {"toolCallId": "t1", "toolName": "shell", "arguments": {"command": f"use {KEY}"}}
    lines = [
        {"activity": "TOOL_CALL_START", "data": started},
        {"activity": "TOOL_CALL_END", "data": {"toolCallId": "t1", "success": True}},
    ]
    first, last = (f"print(json.dumps({line!r}), flush=True)" for line in lines)
    waits = f"import time\nwhile not Path({str(gate)!r}).exists(): time.sleep(0.02)"
    other.script(Run(FAST.files, code=f"{first}\n{waits}\n{last}", answer=FAST.answer))
    other.start()
    bench.todo("- [ ] Make it fast")

    tick = asyncio.create_task(bench.tick())
    async with asyncio.timeout(60):
        while types(bench) != ["AGENT_START", "TOOL_CALL_START"]:  # noqa: ASYNC110 - another machine writes it
            await asyncio.sleep(0.02)
    gate.touch()
    await tick

    assert types(bench) == ["AGENT_START", "TOOL_CALL_START", "TOOL_CALL_END", "AGENT_END"]
    events = activity(bench)
    assert [each["seq"] for each in events] == list(range(1, len(events) + 1))
    assert events[1]["data"]["toolName"] == "shell"
    (run,) = bench.worktree.glob("prloom/.local/runs/*")
    assert KEY not in (run / "activity.jsonl").read_text() + (run / "output.jsonl").read_text()
    assert bench.commits == ["Be fast"]


def activity(bench: MachineBench) -> list[dict[str, Any]]:
    """Return what is known so far of what the one run does."""
    found = list(bench.worktree.glob("prloom/.local/runs/*/activity.jsonl"))
    return [json.loads(line)["data"] for file in found for line in file.read_text().splitlines()]


def types(bench: MachineBench) -> list[str]:
    return [each["type"] for each in activity(bench) if each["type"] != "UNKNOWN"]


def test_a_reply_waits_for_the_next_dispatcher(bench: MachineBench, other: OtherMachine):
    gate = other.home / "gate"
    waits = f"import time\nwhile not Path({str(gate)!r}).exists(): time.sleep(0.02)"
    other.script(Run(FAST.files, code=waits, answer=FAST.answer))
    other.start()
    bench.todo("- [ ] Make it fast")
    bench.tick_killed_at(other.home / "worker-0.md")

    gate.write_text("")
    asyncio.run(bench.tick())

    assert bench.commits == ["Be fast"]
    assert len(list(other.home.glob("worker-*.md"))) == 1


async def test_a_review_is_done_on_another_machine_with_the_change_in_its_files(
    bench: MachineBench, other: OtherMachine
):
    verdict = {"verdict": "approve", "comments": [], "summary": "Good."}
    seen = f"(Path({str(other.home)!r}) / 'seen').write_text(Path('fast.py').read_text())"
    other.script(FAST)
    other.script(Run(code=seen, answer=verdict), stage="review")
    other.start()
    bench.configure("review = true")

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast"]
    assert (other.home / "seen").read_text() == "fast\n"
    assert bench.hub("for-each-ref", "refs/prloom") == ""


async def test_the_change_that_was_lent_for_a_review_is_taken_back_where_a_limit_holds_the_review_back(
    bench: MachineBench, other: OtherMachine
):
    other.script(FAST)
    other.start()
    bench.configure("review = true", rest="[limits]\nmax_runs_per_day = 1")

    await bench.work_on("- [ ] Make it fast")

    assert bench.state.work is not None
    assert (bench.state.work.waits_for or "").startswith("the brake max_runs_per_day = 1 is on")
    assert bench.hub("for-each-ref", "refs/prloom") == ""


async def test_unpushed_commits_are_lent_and_taken_back_also_where_the_run_of_another_plan_reaches_the_limit_first(
    bench: MachineBench, other: OtherMachine
):
    other.script(FAST)
    other.start()
    bench.workers = 2
    bench.configure(rest="[limits]\nmax_runs_per_day = 1")
    bench.project.git("branch", "more", "main")
    local = bench.project.adopt(bench.stage, "more") / "prloom/.local"
    for worktree, plan in ((bench.worktree, bench.plan), (local.parents[1], local / "plan.md")):
        bench.project.git("commit", "--quiet", "--allow-empty", "--message=mine", cwd=worktree)
        with plan.open("a") as file:
            file.write("- [ ] Make it fast\n")

    await bench.tick()

    assert len([*other.home.glob("worker-*.md")]) == 1
    others = bench.project.git("log", "--reverse", "--format=%s", "main..more").splitlines()
    assert sorted([bench.commits, others]) == [["mine"], ["mine", "Be fast"]]
    assert bench.hub("for-each-ref", "refs/prloom") == ""


async def test_the_dispatchers_own_machine_does_runs_too_where_it_is_configured(bench: MachineBench):
    bench.local = True
    await bench.make_it_fast()

    assert bench.commits == ["Be fast"]
    assert bench.runs() == 1
