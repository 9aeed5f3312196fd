"""A dispatcher and worker machines share a database and a remote: runs are done there, and their changes come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench import Run

if TYPE_CHECKING:
    from conftest import MachineBench, OtherMachine

    Make = Callable[[str], OtherMachine]

FAST = Run({"fast.py": "fast\n"}, answer={"outcome": "done", "summary": "It is fast.", "commitMessage": "Be fast"})


async def test_a_todo_is_done_on_another_machine_and_committed_here(bench: MachineBench, machine: Make):
    other = machine("other")
    other.script(FAST)
    other.start()
    bench.todo("- [ ] Make it fast")

    await bench.tick()

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
