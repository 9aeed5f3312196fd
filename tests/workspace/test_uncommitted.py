"""What a person left in a plan's worktree: it is named, and stashed or committed when the operator says so."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import uncommitted, worktree

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository


@pytest.fixture
def base(repo: Repository, place: Path) -> str:
    """A worktree of `feature` at `place` with a person's changes, and the commit that it is at."""
    sha = worktree.create(repo, place, "feature")
    (place / "README.md").write_text("mine\n")
    (place / "new").write_text("new\n")
    return sha


def test_the_paths_are_named_but_for_junk(repo: Repository, place: Path, base: str) -> None:
    (place / ".env").write_text("x\n")

    assert uncommitted.paths(repo, place) == ("README.md", "new")


def test_a_stash_has_all_of_it_and_git_brings_it_back(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    made = uncommitted.stash(repo, place, "prloom: before plan p")

    assert made == project.git("rev-parse", "refs/stash")
    assert project.git("stash", "list", "--format=%gs") == "On feature: prloom: before plan p"
    assert uncommitted.paths(repo, place) == ()
    project.git("stash", "pop", cwd=place)
    assert (place / "README.md").read_text() == "mine\n"
    assert (place / "new").read_text() == "new\n"


def test_a_commit_of_it_is_the_operators(project: Project, repo: Repository, place: Path, base: str) -> None:
    made = uncommitted.commit_all(repo, place, "Mine", branch="feature")

    assert project.sha("feature") == made
    assert project.git("log", "-1", "--format=%P|%an|%B", "feature") == f"{base}|Ada|Mine"
    assert project.git("status", "--porcelain", cwd=place) == ""


def test_where_there_is_nothing_nothing_is_done(project: Project, repo: Repository, place: Path) -> None:
    sha = worktree.create(repo, place, "feature")

    assert uncommitted.stash(repo, place, "x") is None
    assert uncommitted.commit_all(repo, place, "x", branch="feature") is None
    assert project.sha("feature") == sha


def test_what_git_cannot_keep_is_named_and_nothing_is_lost(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    project.git("init", "--quiet", "inner", cwd=place)

    for act in (
        lambda: uncommitted.stash(repo, place, "x"),
        lambda: uncommitted.commit_all(repo, place, "x", branch="feature"),
    ):
        with pytest.raises(WorkspaceError, match="git cannot keep inner in"):
            act()
    assert (place / "new").exists()


def test_an_unfinished_merge_is_the_operators_to_finish(project: Project, repo: Repository, place: Path) -> None:
    worktree.create(repo, place, "feature")
    project.commit({"src/app.py": "other\n"})
    with pytest.raises(subprocess.CalledProcessError):
        project.git("merge", "main", cwd=place)

    with pytest.raises(WorkspaceError, match=r"there is an unfinished merge in .*; finish or abort it first"):
        uncommitted.stash(repo, place, "x")
