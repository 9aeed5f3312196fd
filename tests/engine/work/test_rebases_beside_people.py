"""A rebase while people use the branch: what they commit, push or delete meanwhile stays as they have made it."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared_remote import Remote
from workbench import Run, Workbench

FAST = Run({"fast.py": "fast\n"}, answer={"outcome": "done", "summary": "It is fast.", "commitMessage": "Be fast"})


@pytest.fixture
async def remote(bench: Workbench, tmp_path: Path) -> Remote:
    """A remote that has the commit of one TODO, and whose base was moved since."""
    found = Remote(bench, tmp_path)
    bench.script(FAST)
    bench.todo("- [ ] Make it fast")
    await bench.tick()
    bench.project.git("commit", "--quiet", "--allow-empty", "--message=Move on")
    bench.project.git("push", "--quiet", "origin", "main")
    return found


def tip(remote: Remote) -> str:
    return remote.bench.project.git("rev-parse", "work", cwd=remote.bare)


def check(bench: Workbench, *commands: str) -> None:
    """Have a check do this, as people might while it runs."""
    script = bench.home / "check"
    script.write_text("\n".join(commands))
    bench.configure(f'checks = ["sh {script}"]')


async def test_a_branch_that_was_deleted_on_the_remote_during_the_rebase_blocks_the_plan(
    bench: Workbench, remote: Remote
):
    check(bench, f"git --git-dir={remote.bare} update-ref -d refs/heads/work")

    bench.stage.ask("rebase", "work")
    await bench.tick()

    assert bench.project.git("for-each-ref", "refs/heads/work", cwd=remote.bare) == ""
    assert bench.state.block is not None
    assert "branch work was deleted on origin; push it again, or forget the plan" in bench.state.block.reason


async def test_a_rebase_goes_on_when_the_deleted_branch_was_pushed_again(bench: Workbench, remote: Remote):
    check(bench, f"git --git-dir={remote.bare} update-ref -d refs/heads/work")
    before = bench.project.git("rev-parse", "work")
    bench.stage.ask("rebase", "work")
    await bench.tick()

    bench.project.git("push", "--quiet", "origin", f"{before}:refs/heads/work")
    bench.stage.ask("resume", "work")
    await bench.ticks(2)

    assert bench.state.block is None
    assert tip(remote) == bench.project.git("rev-parse", "work") != before
