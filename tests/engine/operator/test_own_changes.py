"""What a person changed in a plan's worktree is committed or stashed: with real git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from project import Project
from stage import Stage

from prloom.engine.operator import own_changes
from prloom.errors import PrloomError
from prloom.model.state import DispatchState
from prloom.model.work import TodoWork
from prloom.workspace import repository
from prloom.workspace.repository import Repository


@pytest.fixture
def worktree(project: Project, git_stage: Stage) -> Path:
    """Return the worktree of a plan in which a person has changed, added and removed a file."""
    path = project.adopt(git_stage)
    project.git("config", "user.name", "Ada")
    project.git("config", "user.email", "ada@example.org")
    for name in ("changed", "removed"):
        (path / name).write_text("before\n")
    project.git("add", "changed", "removed", cwd=path)
    project.git("commit", "--quiet", "-m", "files", cwd=path)
    (path / "changed").write_text("after\n")
    (path / "removed").unlink()
    (path / "added").write_text("new\n")
    return path


@pytest.fixture
def repo(project: Project) -> Repository:
    return repository.find(project.root)


def test_changes_are_committed_to_the_branch(project: Project, repo: Repository, worktree: Path):
    before = project.git("rev-parse", "work")

    made = own_changes.commit(repo, worktree, branch="work", plan_id="work")

    assert made == project.git("rev-parse", "work")
    assert project.git("rev-parse", "work^") == before
    assert project.git("show", "--name-status", "--format=%an: %s", "work").splitlines() == [
        "Ada: Save changes made by hand",
        "",
        "A\tadded",
        "M\tchanged",
        "D\tremoved",
    ]
    assert project.git("status", "--porcelain", cwd=worktree) == ""
    assert own_changes.commit(repo, worktree, branch="work", plan_id="work") is None


def test_changes_are_stashed_and_come_back(project: Project, repo: Repository, worktree: Path):
    before = project.git("rev-parse", "work")

    made = own_changes.stash(repo, worktree, branch="work", plan_id="work")

    assert made == project.git("rev-parse", "stash@{0}")
    assert project.git("rev-parse", "work") == before
    assert project.git("status", "--porcelain", cwd=worktree) == ""
    assert not (worktree / "added").exists()
    assert (worktree / "prloom/.local/plan.md").exists()
    project.git("stash", "pop", "--quiet", cwd=worktree)
    assert (worktree / "changed").read_text() == "after\n"
    assert (worktree / "added").read_text() == "new\n"
    assert not (worktree / "removed").exists()
    project.git("checkout", "--quiet", "--", ".", cwd=worktree)
    project.git("reset", "--quiet", "--hard", cwd=worktree)
    assert own_changes.stash(repo, worktree, branch="work", plan_id="work") is None


def test_a_worktree_that_is_elsewhere_is_left_alone(project: Project, repo: Repository, worktree: Path):
    project.git("switch", "--quiet", "--detach", cwd=worktree)

    with pytest.raises(
        PrloomError, match="is on no branch; end what is unfinished there, and go back with `git switch"
    ):
        own_changes.commit(repo, worktree, branch="work", plan_id="work")


def test_a_merge_that_is_not_ended_is_left_alone(project: Project, repo: Repository, worktree: Path):
    git_dir = Path(project.git("rev-parse", "--absolute-git-dir", cwd=worktree))
    (git_dir / "MERGE_HEAD").write_text(project.git("rev-parse", "work") + "\n")

    with pytest.raises(PrloomError, match=r"has an unfinished merge; end that first, and try again"):
        own_changes.commit(repo, worktree, branch="work", plan_id="work")


def test_what_git_cannot_keep_is_named(repo: Repository, worktree: Path):
    (worktree / "changed").unlink()
    os.mkfifo(worktree / "changed")

    with pytest.raises(PrloomError, match=r"has what git cannot keep: changed \(special\); move it away and try again"):
        own_changes.stash(repo, worktree, branch="work", plan_id="work")


def test_the_changes_of_a_worker_are_its_own():
    own_changes.require_no_worker("p", DispatchState(work=TodoWork(id="t", title="x")))
    with pytest.raises(PrloomError, match="a worker is at work on plan p, and the changes in its worktree are its own"):
        own_changes.require_no_worker("p", DispatchState(work=TodoWork(id="t", title="x", phase="running")))
