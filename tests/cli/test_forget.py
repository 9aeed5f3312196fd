"""`prloom forget` names the work in a worktree that is nowhere else, and keeps it unless two options say otherwise."""

from __future__ import annotations

from pathlib import Path

import command_line
import pytest
from project import Project
from stage import Stage


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def worktree(project: Project) -> Path:
    """The worktree of a plan, with a file that is not committed."""
    made = project.adopt(Stage(project.root))
    (made / "new.txt").write_text("not committed")
    return made


def forget(project: Project, *options: str) -> tuple[int, str]:
    """Run the command, and return its exit code and what it says."""
    ran = command_line.run("-C", str(project.root), "forget", "work", *options)
    return ran.code, ran.out + ran.err


@pytest.mark.parametrize("options", [(), ("--yes",), ("--worktree",)])
def test_work_that_is_nowhere_else_is_named_and_kept(project: Project, worktree: Path, options: tuple[str, ...]):
    code, said = forget(project, *options)

    assert code == 1
    assert "untracked files: new.txt" in said
    assert "`prloom forget work --worktree --yes` removes it" in said
    assert (worktree / "new.txt").exists()


def test_with_both_options_it_is_named_and_removed(project: Project, worktree: Path):
    code, said = forget(project, "--worktree", "--yes")

    assert code == 0
    assert "Removing with the worktree what is nowhere else: untracked files: new.txt." in said
    assert not worktree.exists()
