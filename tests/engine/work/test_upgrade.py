"""What an earlier version, whose workers worked in the plan's worktree, has left in the middle of a TODO goes on."""

from __future__ import annotations

import shutil

from workbench import FAST, Run, Workbench


async def test_what_a_failed_attempt_left_in_the_worktree_is_in_the_clone_of_the_next(bench: Workbench):
    bench.script(Run({"half.py": "half\n"}, answer=None, code_of_exit=1), FAST)
    bench.todo("- [ ] Make it fast")
    bench.employ()
    await bench.stage.tick()
    assert bench.state.work is not None
    local = bench.project.root / "prloom/.local"
    for folder in ("clones", "indexes"):
        shutil.rmtree(local / folder)
    (bench.worktree / "half.py").write_text("half\n")
    (local / "before-run").mkdir()
    (local / "before-run/work.json").write_text("{}")

    bench.stage.clock.advance(minutes=5)
    await bench.tick()

    assert bench.commits == ["Be fast"]
    assert bench.shown("half.py") == "half"
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == ""
    assert not (local / "before-run/work.json").exists()
