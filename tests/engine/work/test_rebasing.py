"""A rebase that a person requests: the branch is put on its base, or is what it was."""

from __future__ import annotations

from pathlib import Path

from moved_base import move_base
from workbench import Run, Workbench

FAST = Run({"fast.py": "fast\n"}, answer={"outcome": "done", "summary": "It is fast.", "commitMessage": "Be fast"})
RESOLVED = {"outcome": "done", "summary": "Resolved."}


async def with_one_commit(bench: Workbench) -> str:
    """Have one TODO done, and return its commit."""
    bench.script(FAST)
    bench.todo("- [ ] Make it fast")
    await bench.tick()
    return bench.project.git("rev-parse", "work")


async def test_a_rebase_puts_the_commits_on_the_base_and_keeps_their_messages(bench: Workbench):
    await with_one_commit(bench)
    base = move_base(bench, "other.py", "other\n")

    bench.stage.ask("rebase", "work")
    await bench.tick()

    assert bench.project.git("rev-parse", "work^") == base
    assert bench.commits == ["Be fast"]
    assert bench.boxes == ["- [x] Make it fast", "- [x] Rebase the branch onto its base"]
    assert bench.state.rebase_requested is False
    assert bench.runs() == 1


async def test_a_rebased_branch_replaces_what_prloom_pushed(bench: Workbench, tmp_path: Path):
    bench.project.git("init", "--quiet", "--bare", "--template=", str(tmp_path / "remote.git"))
    bench.project.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    bench.project.git("push", "--quiet", "origin", "main", "work")
    await with_one_commit(bench)
    move_base(bench, "other.py", "other\n")
    bench.project.git("push", "--quiet", "origin", "main")

    bench.stage.ask("rebase", "work")
    await bench.tick()

    assert bench.project.git("rev-parse", "work", cwd=tmp_path / "remote.git") == bench.project.git("rev-parse", "work")
    assert bench.project.git("merge-base", "main", "work") == bench.project.git("rev-parse", "main")


async def test_what_was_done_before_a_rebase_is_known_by_its_new_commit(bench: Workbench):
    before = await with_one_commit(bench)
    move_base(bench, "other.py", "other\n")

    bench.stage.ask("rebase", "work")
    await bench.ticks(2)

    (done,) = (each.commit for each in bench.state.done_todos.values() if each.commit)
    assert done == bench.project.git("rev-parse", "work")
    assert done != before


async def test_a_branch_that_is_up_to_date_is_left_alone(bench: Workbench):
    tip = await with_one_commit(bench)

    bench.stage.ask("rebase", "work")
    await bench.tick()

    assert bench.project.git("rev-parse", "work") == tip
    assert bench.boxes[-1] == "- [x] Rebase the branch onto its base"


async def test_a_conflict_is_resolved_by_a_worker_in_the_stopped_rebase(bench: Workbench):
    await with_one_commit(bench)
    base = move_base(bench, "fast.py", "theirs\n")
    bench.script(Run({"fast.py": "theirs and fast\n"}, answer=RESOLVED))

    bench.stage.ask("rebase", "work")
    await bench.tick()

    assert bench.shown("fast.py") == "theirs and fast"
    assert bench.project.git("rev-parse", "work^") == base
    assert bench.commits == ["Be fast"]
    assert "conflicts in these files:\n- fast.py" in bench.prompt(1)
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == ""


async def test_a_conflict_that_stays_gives_the_rebase_up_and_restores_the_branch(bench: Workbench):
    tip = await with_one_commit(bench)
    move_base(bench, "fast.py", "theirs\n")
    bench.script(Run(answer=RESOLVED))

    bench.stage.ask("rebase", "work")
    await bench.tick()

    assert bench.project.git("rev-parse", "work") == tip
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == ""
    assert bench.boxes[-1] == "- [b] Rebase the branch onto its base"
    assert bench.state.block is not None
    assert "the conflict with main is not resolved in fast.py" in bench.state.block.reason
    assert bench.runs() == 3


async def test_a_check_that_fails_after_the_rebase_restores_the_branch(bench: Workbench):
    tip = await with_one_commit(bench)
    move_base(bench, "other.py", "other\n")
    bench.configure('checks = ["false"]')

    bench.stage.ask("rebase", "work")
    await bench.tick()

    assert bench.project.git("rev-parse", "work") == tip
    assert bench.state.block is not None
    assert "after the rebase, the check `false` failed" in bench.state.block.reason


async def test_what_a_check_leaves_in_the_worktree_after_a_rebase_is_nobodys_change(bench: Workbench):
    await with_one_commit(bench)
    move_base(bench, "other.py", "other\n")
    bench.configure('checks = ["echo left > left.txt"]')

    bench.stage.ask("rebase", "work")
    await bench.tick()
    bench.script(
        FAST, Run({"small.py": "small\n"}, answer={"outcome": "done", "summary": "x", "commitMessage": "Be small"})
    )
    bench.todo("- [ ] Make it small")
    await bench.ticks(2)

    assert bench.state.block is None
    assert bench.commits == ["Be fast", "Be small"]
    assert not (bench.worktree / "left.txt").exists()
    kept = bench.project.git("for-each-ref", "--format=%(refname)", "refs/prloom/kept-refs").split()
    assert [bench.project.git("show", f"{ref}:left.txt") for ref in kept if ref.partition("/files")[1]] == ["left"]
