"""A branch's commit never passes for prloom's own files: with real git."""

from __future__ import annotations

import json

import pytest
from project import Project
from stage import Stage, said

from prloom.engine.bus.worktree_guard import WorktreeGuard


def test_a_branch_that_leaves_prlooms_folder_alone_is_no_problem(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    guard = WorktreeGuard(project.root)
    assert guard.problem(worktree) is None
    (worktree / "code.py").write_text("print()\n")
    project.git("add", "code.py", cwd=worktree)
    project.git("commit", "--quiet", "--message=code", cwd=worktree)

    assert guard.problem(worktree) is None


def test_a_commit_that_brings_prlooms_files_is_seen_when_it_comes(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    guard = WorktreeGuard(project.root)
    assert guard.problem(worktree) is None

    project.bring_prlooms_files()

    assert project.git("status", "--porcelain") == ""  # the commit is made beside all checkouts
    problem = guard.problem(worktree)
    assert problem is not None
    assert "contains the folder prloom/.local; remove it from the branch" in problem


def test_a_branch_that_was_deleted_brings_no_file_and_one_that_is_back_is_looked_at(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    guard = WorktreeGuard(project.root)
    project.bring_prlooms_files()
    harmful = project.git("rev-parse", "work")
    project.git("update-ref", "-d", "refs/heads/work")
    assert guard.problem(worktree) is None
    assert guard.without_branch == {worktree}

    project.git("update-ref", "refs/heads/work", harmful)

    assert "contains the folder prloom/.local" in (guard.problem(worktree) or "")
    assert guard.without_branch == set()


def test_a_folder_that_is_no_worktree_of_the_repository_is_a_problem(project: Project, git_stage: Stage):
    other = git_stage.paths.worktree("other")
    other.mkdir(parents=True)

    problem = WorktreeGuard(project.root).problem(other)

    assert problem is not None
    assert "is no longer a worktree of this repository" in problem


async def test_a_plan_whose_branch_brings_prlooms_files_is_not_read_and_not_written_to(
    project: Project, git_stage: Stage
):
    worktree = project.adopt(git_stage)
    await git_stage.take_in(said("a"), plan_id="work")
    before = {file.name: file.read_bytes() for file in (worktree / "prloom/.local/bus").iterdir() if file.is_file()}
    project.bring_prlooms_files()
    git_stage.append(said("b"), plan_id="work")
    appended = (worktree / "prloom/.local/bus/events.jsonl").read_bytes()

    await git_stage.tick()

    after = {file.name: file.read_bytes() for file in (worktree / "prloom/.local/bus").iterdir() if file.is_file()}
    assert after == {**before, "events.jsonl": appended}
    assert "remove it from the branch" in git_stage.published("unreadable")["work"]
    state = json.loads((worktree / "prloom/.local/state.json").read_text())
    assert state.get("lastError") is None


async def test_while_it_runs_a_plan_whose_branch_brings_prlooms_files_is_let_go_of_and_taken_up_again(
    project: Project, git_stage: Stage
):
    worktree = project.adopt(git_stage)
    good = project.git("rev-parse", "work")
    async with git_stage.running() as dispatcher:
        await git_stage.until(lambda: "work" in dispatcher.registry.runtimes)
        runtime = dispatcher.registry.runtimes["work"]
        project.bring_prlooms_files()
        await git_stage.until(lambda: "work" not in dispatcher.registry.runtimes)
        with pytest.raises(Exception, match="cannot be written any more"):
            runtime.event_store.commit("triage", "agent")
        project.git("update-ref", "refs/heads/work", good)
        git_stage.append(said("a"), plan_id="work")

        await git_stage.until(lambda: git_stage.triager.batches == [("a",)])
    assert worktree.is_dir()
