"""Giving a plan up: with real git, and nothing lost that is nowhere else."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest
from project import Project
from stage import Stage, said, until

from prloom.engine.adoption import adopt, forget
from prloom.engine.views import status
from prloom.errors import PrloomError, WorkspaceError
from prloom.model.plan import Plan
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import repository

SOON = timedelta(milliseconds=50)


def give_up(project: Project, stage: Stage, patience: timedelta = forget.PATIENCE) -> None:
    forget.forget(repository.find(project.root), stage.paths, "work", patience=patience)


def test_the_worktree_goes_and_the_branch_stays(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    (worktree / "new.txt").write_text("kept")
    project.git("add", "new.txt", cwd=worktree)
    project.git("commit", "--quiet", "--message=kept on the branch", cwd=worktree)

    give_up(project, git_stage)

    assert not worktree.exists()
    assert project.git("log", "-1", "--format=%s", "work") == "kept on the branch"
    assert status.read(git_stage.paths, git_stage.clock()).plans == ()
    assert project.adopt(git_stage) == worktree


def test_work_that_is_nowhere_else_keeps_the_plan_as_it_is(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    (worktree / "new.txt").write_text("not committed")
    before = (worktree / "prloom/.local/state.json").read_text()

    with pytest.raises(WorkspaceError, match=r"holds work that is nowhere else \(untracked files: new\.txt\)"):
        give_up(project, git_stage)

    assert (worktree / "prloom/.local/state.json").read_text() == before


@pytest.fixture
def fetched(project: Project, tmp_path: Path) -> Project:
    """A project whose branch `work` is on origin alone."""
    hub = tmp_path / "hub.git"
    project.git("init", "--quiet", "--bare", str(hub))
    project.git("remote", "add", "origin", str(hub))
    project.git("push", "--quiet", "origin", "main", "work")
    project.git("branch", "-D", "work")
    project.git("fetch", "--quiet", "origin")
    return project


def give_up_by_rule(project: Project, stage: Stage, *, commits: bool = False) -> str:
    """Adopt the branch by a rule, perhaps commit there, and give the plan up."""
    repo = repository.find(project.root)
    adopt.adopt(repo, stage.config, Plan(id="work", branch="work", rule="authors=ann"))
    if commits:
        project.git("commit", "--quiet", "--allow-empty", "--message=mine", cwd=stage.paths.worktree("work"))
    return forget.forget(repo, stage.paths, "work")


def test_the_local_branch_that_was_made_for_a_rule_goes_with_the_plan(fetched: Project, git_stage: Stage):
    said = give_up_by_rule(fetched, git_stage)

    assert said == "Its local branch work, which prloom had made, is removed."
    assert fetched.git("branch", "--list", "work") == ""
    assert "branch.work" not in fetched.git("config", "--local", "--list")
    assert fetched.git("rev-parse", "--verify", "origin/work")


def test_the_local_branch_that_was_made_for_a_rule_stays_if_the_remote_lacks_commits(
    fetched: Project, git_stage: Stage
):
    said = give_up_by_rule(fetched, git_stage, commits=True)

    assert said.startswith("Its local branch work stays: origin lacks its commits ")
    assert fetched.git("log", "-1", "--format=%s", "work") == "mine"


def test_a_local_branch_that_was_there_before_a_rule_adopted_it_stays(fetched: Project, git_stage: Stage):
    fetched.git("branch", "work", "origin/work")

    assert give_up_by_rule(fetched, git_stage) == "Its branch stays."
    assert fetched.git("branch", "--list", "work")


async def test_an_agent_at_work_keeps_the_plan(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    git_stage.append(said("a", pr=None), plan_id="work")

    async with git_stage.running():
        thinking = asyncio.Event()

        async def think() -> None:
            thinking.set()
            await asyncio.Event().wait()

        git_stage.triager.before = think
        await asyncio.wait_for(thinking.wait(), 60)
        with pytest.raises(PrloomError, match="an agent is working on plan work; run `prloom start` until"):
            await asyncio.to_thread(give_up, project, git_stage)

    assert worktree.exists()


async def test_a_running_dispatcher_lets_go_of_the_plan_first(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    git_stage.append(said("a", pr=None), plan_id="work")
    async with git_stage.running() as dispatcher:
        await until(lambda: git_stage.fate("a", "work")[-1:] == ["triaged"])

        await asyncio.to_thread(give_up, project, git_stage)

        assert not worktree.exists()
        assert dispatcher.registry.runtimes == {}
        assert dispatcher.registry.unreadable == {}


def test_a_dispatcher_that_does_not_let_go_keeps_the_plan_and_is_named(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    before = json.loads((worktree / "prloom/.local/state.json").read_text())

    with (
        SafeDir.make(project.root, "prloom", ".local") as local,
        DispatcherLock(local),
        pytest.raises(PrloomError, match="the dispatcher has not released plan work within 0 s; see `prloom status`"),
    ):
        give_up(project, git_stage, patience=SOON)

    assert json.loads((worktree / "prloom/.local/state.json").read_text()) == before


def test_a_worktree_without_prlooms_folder_is_left_to_git(project: Project, git_stage: Stage):
    with pytest.raises(PrloomError, match=r"is not a worktree|no worktree"):
        give_up(project, git_stage)
