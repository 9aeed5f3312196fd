"""A rebase that a person requests: the branch is put on its base, or is what it was."""

from __future__ import annotations

from moved_base import move_base
from workbench import FAST, Run, Workbench

RESOLVED = {"outcome": "done", "summary": "Resolved."}


async def with_one_commit(bench: Workbench) -> str:
    """Have one TODO done, and return its commit."""
    await bench.make_it_fast()
    return bench.project.git("rev-parse", "work")


async def test_a_rebase_puts_the_commits_on_the_base_keeps_their_messages_and_knows_them_by_their_new_ids(
    bench: Workbench,
):
    before = await with_one_commit(bench)
    base = move_base(bench, "other.py", "other\n")

    await bench.carry_out("rebase", "work")

    assert bench.project.git("rev-parse", "work^") == base
    (done,) = (each.commit for each in bench.state.done_todos.values() if each.commit)
    assert before != done == bench.project.git("rev-parse", "work")
    assert bench.commits == ["Be fast"]
    assert bench.boxes == ["- [x] Make it fast", "- [x] Rebase the branch onto its base"]
    assert bench.state.rebase_requested is False
    assert bench.runs() == 1


async def test_a_branch_that_is_up_to_date_is_left_alone(bench: Workbench):
    tip = await with_one_commit(bench)

    await bench.carry_out("rebase", "work")

    assert bench.project.git("rev-parse", "work") == tip
    assert bench.boxes[-1] == "- [x] Rebase the branch onto its base"


async def test_a_conflict_is_resolved_by_a_worker_in_the_stopped_rebase_and_its_notes_and_todos_are_kept(
    bench: Workbench,
):
    await with_one_commit(bench)
    base = move_base(bench, "fast.py", "theirs\n")
    more = {**RESOLVED, "notes": "Theirs is newer.", "todos": [{"title": "Remove theirs"}]}
    bench.script(Run({"fast.py": "theirs and fast\n"}, answer=more))

    await bench.carry_out("rebase", "work")

    assert bench.shown("fast.py") == "theirs and fast"
    assert bench.project.git("rev-parse", "work^") == base
    assert bench.commits == ["Be fast"]
    assert "conflicts in these files:\n- fast.py" in bench.prompt(1)
    assert "- [ ] Remove theirs" in bench.boxes
    assert "Theirs is newer." in bench.plan.read_text()
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == ""


async def test_what_a_check_leaves_in_the_worktree_after_a_rebase_is_nobodys_change(bench: Workbench):
    await with_one_commit(bench)
    move_base(bench, "other.py", "other\n")
    bench.configure('checks = ["echo left > left.txt"]')

    await bench.carry_out("rebase", "work")
    bench.script(
        FAST, Run({"small.py": "small\n"}, answer={"outcome": "done", "summary": "x", "commitMessage": "Be small"})
    )
    await bench.work_on("- [ ] Make it small", ticks=2)

    assert bench.state.block is None
    assert bench.commits == ["Be fast", "Be small"]
    assert not (bench.worktree / "left.txt").exists()
