"""`prloom stop RUN` ends an agent on another machine, too."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import psutil
from workbench import Run

from prloom.engine.operator import run_stop

if TYPE_CHECKING:
    from conftest import MachineBench, OtherMachine

    Make = Callable[[str], OtherMachine]

PATIENCE = 60.0


async def test_a_run_on_another_machine_is_ended_its_plan_pauses_and_no_attempt_is_counted(
    bench: MachineBench, other: OtherMachine
):
    noted = other.home / "pid"
    sleeps = f"Path({str(noted)!r}).write_text(str(os.getpid()))\nimport time\ntime.sleep(300)"
    other.script(Run({"fast.py": "fast\n"}, code=sleeps))
    other.start()
    bench.todo("- [ ] Make it fast")
    bench.employ()
    async with bench.stage.running():
        await bench.stage.until(lambda: noted.exists() and noted.read_text() != "")
        (run,) = (bench.worktree / "prloom/.local/runs").iterdir()
        where = bench.stage.paths

        stopped = await asyncio.to_thread(run_stop.stop, where, run.name, exchange_url=bench.url, by="prloom stop")

        await bench.stage.until(lambda: bench.stage.state("work")["work"]["phase"] == "ready")
    assert (stopped.run, stopped.plan) == (run.name, "work")
    assert bench.state.paused
    (reason,) = [step["work"]["reason"] for step in bench.stage.decisions("work") if verdict(step) == "cut_short"]
    assert reason.startswith(f"prloom ended the run on {platform.node()} after ")
    work = bench.state.work
    assert work is not None
    assert (work.phase, work.attempt, work.failures) == ("ready", 1, 0)
    pid = int(noted.read_text())
    await bench.stage.until(lambda: not psutil.pid_exists(pid))
    log = await asyncio.to_thread(other.stop)
    assert "completed" not in log
    assert other.left == []
    assert bench.commits == []


def verdict(decision: dict[str, Any]) -> str | None:
    """Return what a decision says of the work on a TODO, if it does."""
    step = decision.get("work")
    return step["verdict"] if step else None
