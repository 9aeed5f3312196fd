"""What a worker starts ends with its run, and what it does to its own run costs an attempt at most."""

from __future__ import annotations

import asyncio
from pathlib import Path

from workbench import FAST, Run, Workbench

MOVED = "refs of origin moved during the run, by the worker or by somebody else: "
DAEMON = """
import subprocess, time
daemon = "import os, time; open({pid!r}, 'w').write(str(os.getpid())); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", daemon], start_new_session=True)
while not Path({pid!r}).exists() or not Path({pid!r}).read_text():
    time.sleep(0.01)
"""


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and not stat.read_text().rpartition(") ")[2].startswith("Z")


async def test_a_daemon_that_a_worker_leaves_is_ended_with_the_run(bench: Workbench):
    pid = bench.home / "pid"
    bench.script(Run(FAST.files, code=DAEMON.format(pid=str(pid)), answer=FAST.answer))

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast"]
    assert not is_running(int(pid.read_text()))


async def test_a_worker_that_kills_what_supervises_it_loses_its_run_and_the_todo_is_done_by_the_next(bench: Workbench):
    bench.script(
        Run(FAST.files, code="import signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(300)"), FAST
    )
    bench.todo("- [ ] Make it fast")

    for _ in range(3):
        await bench.tick()
        bench.stage.clock.advance(hours=1)

    assert bench.commits == ["Be fast"]


async def test_what_a_worker_did_outside_the_worktree_is_undone_also_where_its_run_is_cut_short(bench: Workbench):
    waits = "import time\nos.system('git config core.hooksPath /x')\n(home / 'set').touch()\ntime.sleep(300)"
    bench.script(Run(code=waits), FAST)
    bench.todo("- [ ] Make it fast")
    bench.employ()
    async with bench.stage.rounds() as again:
        going = asyncio.create_task(again())
        await bench.stage.until((bench.home / "set").exists)
        going.cancel()
        await asyncio.wait([going])

    await bench.tick()

    assert bench.runs() == 2
    assert bench.boxes == ["- [x] Make it fast"]
    assert bench.project.git("config", "--default", "", "core.hooksPath") == ""


async def test_a_worker_cannot_say_what_prloom_may_replace_on_the_remote(bench: Workbench):
    refs = [f"refs/prloom/{name}/work" for name in ("rewritten-old", "rewritten-new", "rebase-old", "rebase-onto")]
    code = "".join(f"os.system('git update-ref {ref} HEAD')\n" for ref in refs)
    bench.script(Run(FAST.files, code=code, answer=FAST.answer))

    await bench.work_on("- [ ] Make it fast", ticks=2)

    assert bench.project.git("for-each-ref", *refs) == ""
    assert bench.commits == ["Be fast"]
