"""A plan's worktree follows its branch beside what a person has changed there, and a stopped call is ended."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from prloom.workspace import commits, snapshot, worktree, worktree_files, worktree_update
from prloom.workspace.worktree_update import WorktreeInTheWayError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository


@pytest.fixture
def old(repo: Repository, place: Path) -> str:
    """The commit at which the worktree is."""
    return worktree.create(repo, place, "feature")


@pytest.fixture
def new(project: Project, old: str) -> str:
    """A commit that changes one file, adds one and removes one."""
    project.git("branch", "next", "feature")
    project.commit({"README.md": "next\n", "added": "next\n"}, branch="next")
    project.git("read-tree", "--index-output=.git/other", "next")
    return project.git("rev-parse", "next")


@dataclass(frozen=True)
class Move:
    """A worktree, the commit at which it is, and the next one of its branch."""

    place: Path
    old: str
    new: str


@pytest.fixture
def moved(place: Path, old: str, new: str) -> Move:
    return Move(place, old, new)


def advance(repo: Repository, place: Path, old: str, new: str) -> None:
    commits.advance(repo, place, "feature", to=new, expected=old)


def test_changes_in_other_files_stay_as_they_are(
    project: Project, repo: Repository, place: Path, old: str, new: str
) -> None:
    (place / "src/app.py").write_text("mine\n")
    (place / "mine").write_text("mine\n")
    project.git("add", "mine", cwd=place)

    advance(repo, place, old, new)

    assert project.git("status", "--porcelain", cwd=place).splitlines() == ["A  mine", " M src/app.py"]
    assert (place / "README.md").read_text() == "next\n"
    assert (place / "added").read_text() == "next\n"


@pytest.mark.parametrize(
    "change", ["echo mine > README.md", "echo mine > added", "mkdir added; echo mine > added/x", "rm README.md"]
)
def test_changes_in_the_same_files_are_named_and_nothing_is_moved(
    project: Project, repo: Repository, moved: Move, change: str
) -> None:
    old, new, place = moved.old, moved.new, moved.place
    subprocess.run(["sh", "-c", change], cwd=place, check=True)
    named = "README.md" if "README.md" in change else "added"
    before = project.git("status", "--porcelain", cwd=place)

    with pytest.raises(WorktreeInTheWayError, match=f"in files that the next commit changes: {named}$"):
        advance(repo, place, old, new)

    assert project.sha("feature") == old
    assert project.git("status", "--porcelain", cwd=place) == before


def test_a_change_that_is_the_same_as_the_commits_is_none(
    project: Project, repo: Repository, place: Path, old: str, new: str
) -> None:
    (place / "README.md").write_text("next\n")
    (place / "README.md").chmod(0o755)

    advance(repo, place, old, new)

    assert project.git("status", "--porcelain", cwd=place) == ""


@pytest.mark.parametrize("changed_since", [False, True])
def test_a_call_that_was_stopped_half_way_is_ended(
    project: Project,
    repo: Repository,
    moved: Move,
    changed_since: bool,  # noqa: FBT001 - parametrised
) -> None:
    old, new, place = moved.old, moved.new, moved.place
    worktree_files.note_move(snapshot.require(repo, place), old, new)
    commits.move(repo, "feature", to=new, expected=old)
    (place / "added").write_text("next\n")  # git had written this file, and no index
    (place / "added").chmod(0o755)
    if changed_since:
        (place / "README.md").write_text("mine\n")

    assert commits.recover(repo, place, branch="feature") == new

    assert (place / "added").read_text() == "next\n"
    expected = "M README.md" if changed_since else ""
    assert project.git("status", "--porcelain", cwd=place) == expected


def test_a_worktree_on_another_branch_is_left_alone(
    project: Project, repo: Repository, place: Path, old: str, new: str
) -> None:
    project.git("switch", "--quiet", "--create", "mine", cwd=place)
    (place / "README.md").write_text("mine\n")

    advance(repo, place, old, new)

    assert project.sha("feature") == new
    assert project.git("symbolic-ref", "--short", "HEAD", cwd=place) == "mine"
    assert (place / "README.md").read_text() == "mine\n"


def test_an_unfinished_operation_of_the_branch_is_named(
    project: Project, repo: Repository, place: Path, old: str, new: str
) -> None:
    git_dir = snapshot.require(repo, place).git_dir
    (git_dir / "rebase-merge").mkdir()
    (git_dir / "rebase-merge/head-name").write_text("refs/heads/feature\n")
    project.git("checkout", "--quiet", "--detach", cwd=place)

    with pytest.raises(WorktreeInTheWayError, match="a rebase of the branch is under way in the worktree"):
        worktree_update.require_possible(snapshot.require(repo, place), "feature", old, new)
