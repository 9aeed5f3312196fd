"""A worker that resolves the conflict of a rebase is inspected and judged as any other worker."""

from __future__ import annotations

import asyncio

import pytest
from moved_base import move_base
from workbench import Run, Workbench

RESOLVED = {"outcome": "done", "summary": "Resolved.", "commitMessage": None}
GOOD = Run({"fast.py": "theirs and fast\n"}, answer=RESOLVED)
GIT = "import subprocess\ndef git(*argv): subprocess.run(['git', *argv], env={**os.environ, 'GIT_EDITOR': ':'})\n"


@pytest.fixture
async def tip(bench: Workbench) -> str:
    """The tip of a branch with one commit of prloom's, with which the base conflicts."""
    await bench.make_it_fast()
    move_base(bench, "fast.py", "theirs\n")
    return bench.project.git("rev-parse", "work")


async def rebase(bench: Workbench, *runs: Run) -> None:
    """Request a rebase, the conflicts of which are resolved in these runs."""
    bench.script(Run(), *runs)  # the first was that of the TODO before
    await bench.carry_out("rebase", "work")


def clean(bench: Workbench) -> bool:
    return not bench.project.git("status", "--porcelain", cwd=bench.worktree)


CI = "Path('.github/workflows').mkdir(parents=True); Path('.github/workflows/ci.yml').write_text('on: push')"


async def test_a_resolution_that_breaks_a_rule_twice_is_not_committed(bench: Workbench, tip: str):
    await rebase(bench, Run(GOOD.files, code=CI, answer=RESOLVED))
    await bench.tick()

    assert bench.project.git("rev-parse", "work") == tip
    assert clean(bench)
    assert bench.project.git("config", "--default", "", "core.hooksPath") == ""
    assert bench.boxes[-1] == "- [b] Rebase the branch onto its base"
    assert ".github/workflows/ci.yml was added, and .github/workflows/** is protected" in bench.block.reason
    assert "the rebase onto main conflicts in fast.py" in bench.block.reason
    assert bench.runs() == 3
    assert "Your change was refused because it breaks these rules:" in bench.prompt(2)


async def test_files_that_came_with_the_base_or_the_plans_own_commits_are_no_violation(bench: Workbench, tip: str):
    (bench.worktree / "CLAUDE.md").write_text("by a person\n")
    (bench.worktree / ".github").mkdir()
    (bench.worktree / ".github/CODEOWNERS").write_text("* @ann\n")
    bench.project.git("add", ".", cwd=bench.worktree)
    bench.project.git("commit", "--quiet", "--amend", "--no-edit", cwd=bench.worktree)
    move_base(bench, ".gitlab-ci.yml", "ci: of the base\n")

    await rebase(bench, GOOD)

    assert bench.boxes[-1] == "- [x] Rebase the branch onto its base"
    assert bench.shown("CLAUDE.md") == "by a person"
    assert bench.shown(".gitlab-ci.yml") == "ci: of the base"
    assert bench.shown("fast.py") == "theirs and fast"


async def test_each_conflict_of_a_rebase_is_inspected(bench: Workbench, tip: str):
    (bench.worktree / "slow.py").write_text("slow\n")
    bench.project.git("add", ".", cwd=bench.worktree)
    bench.project.git("commit", "--quiet", "--message=Be slow", cwd=bench.worktree)
    move_base(bench, "slow.py", "theirs\n")
    bad = Run({"slow.py": "both\n", "CLAUDE.md": "x"}, answer=RESOLVED)

    await rebase(bench, GOOD, bad, Run(code="os.remove('CLAUDE.md')", answer=RESOLVED))

    assert bench.boxes[-1] == "- [x] Rebase the branch onto its base"
    assert bench.commits == ["Be fast", "Be slow"]
    assert bench.shown("slow.py") == "both"
    assert bench.project.git("diff", "--name-only", "work~1", "work") == "slow.py"
    assert "conflicts in these files:\n- slow.py" in bench.prompt(2)


async def test_what_a_worker_commits_in_a_stopped_rebase_becomes_part_of_the_commit(bench: Workbench, tip: str):
    commits = f"{GIT}git('add', '-A')\ngit('commit', '-q', '-m', 'Of the worker')"

    await rebase(bench, Run({**GOOD.files, "new.py": "new\n"}, code=commits, answer=RESOLVED))

    assert bench.boxes[-1] == "- [x] Rebase the branch onto its base"
    assert bench.commits == ["Be fast"]
    assert bench.shown("new.py") == "new"
    assert "worker" not in bench.project.git("log", "--format=%cn", "work")


async def test_files_with_the_marks_of_a_conflict_are_not_resolved_by_adding_them(bench: Workbench, tip: str):
    await rebase(bench, Run(code=f"{GIT}git('add', '-A')", answer=RESOLVED))

    assert bench.runs() == 3
    assert bench.project.git("rev-parse", "work") == tip
    assert clean(bench)
    assert bench.boxes[-1] == "- [b] Rebase the branch onto its base"
    assert "2 attempts failed: the conflict with main is not resolved in fast.py" in bench.block.reason


async def test_a_run_that_is_cut_short_is_no_failed_attempt_at_a_conflict(bench: Workbench, tip: str):
    waits = "import time\nos.system('git config core.hooksPath /x')\n(home / 'set').touch()\ntime.sleep(300)"
    bench.script(Run(), Run(code=waits), GOOD)
    bench.stage.ask("rebase", "work")
    async with bench.stage.rounds() as again:
        bench.employ()
        going = asyncio.create_task(again())
        await bench.stage.until((bench.home / "set").exists)
        going.cancel()
        await asyncio.wait([going])
    await bench.tick()

    assert bench.runs() == 3
    assert bench.boxes[-1] == "- [x] Rebase the branch onto its base"
    assert bench.project.git("config", "--default", "", "core.hooksPath") == ""


async def test_a_conflict_of_a_deleted_file_is_for_a_worker_too(bench: Workbench, tip: str):
    (bench.worktree / "fast.py").unlink()
    bench.project.git("commit", "--quiet", "--all", "--message=Remove it", cwd=bench.worktree)
    gone = Run(code="os.remove('fast.py')", answer=RESOLVED)

    await rebase(bench, GOOD, gone)

    assert bench.runs() == 3
    assert bench.commits == ["Be fast", "Remove it"]
    assert bench.project.git("ls-tree", "--name-only", "work") == ""


async def test_a_conflict_in_a_file_that_workers_must_not_change_is_left_to_a_person(bench: Workbench, tip: str):
    (bench.worktree / "CLAUDE.md").write_text("by a person\n")
    bench.project.git("add", ".", cwd=bench.worktree)
    bench.project.git("commit", "--quiet", "--message=Instruct", cwd=bench.worktree)
    before = bench.project.git("rev-parse", "work")
    move_base(bench, "CLAUDE.md", "theirs\n")

    await rebase(bench, GOOD)

    assert bench.runs() == 2
    assert bench.project.git("rev-parse", "work") == before
    assert clean(bench)
    assert (
        "the rebase onto main conflicts in what workers must not change: CLAUDE.md was in conflict, and CLAUDE.md"
        in (bench.block.reason)
    )
