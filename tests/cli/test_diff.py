"""`prloom diff`: what was changed for a plan or a TODO, and nothing that a terminal would obey."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from prloom.cli import main
from prloom.core.work import commit_message
from prloom.core.work.commit_message import Trailers
from prloom.workspace import backup_refs, commits, repository, snapshot
from prloom.workspace.backup_refs import KeptTodo

if TYPE_CHECKING:
    from pathlib import Path

PLAN = "# Faster\n\n## TODO\n- [x] Drop it <!-- prloom:todo t1 -->\n- [ ] More <!-- prloom:todo t2 -->\n"


def git(root: Path, *argv: str) -> str:
    named = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    return subprocess.run(["git", *named, *argv], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the plan `faster`, whose TODO t1 was done."""
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    (root / "app.py").write_text("print(1)\n")
    git(root, "add", "app.py")
    git(root, "commit", "--quiet", "-m", "first")
    git(root, "branch", "faster")
    assert run(root, "adopt", "--branch", "faster").exit_code == 0
    work(root, {"app.py": "print(2)\n", "odd": "\x1b]0;owned\x07\tx\r\n"}, "t1")
    (tree_of(root) / "prloom" / ".local" / "plan.md").write_text(PLAN)
    return root


def run(root: Path, *argv: str) -> click.testing.Result:
    return CliRunner().invoke(main.cli, ["-C", str(root), *argv])


def failure(root: Path, *argv: str) -> str:
    return str(run(root, *argv).exception)


def tree_of(root: Path) -> Path:
    return root / "prloom" / ".local" / "worktrees" / "faster"


def work(root: Path, files: dict[str, str], todo: str, *, plan: str = "faster", commit: bool = True) -> None:
    """Have a TODO done, or parked with what was done."""
    repo, tree = repository.find(root), tree_of(root)
    for name, text in files.items():
        (tree / name).write_bytes(text.encode())
    parent = git(tree, "rev-parse", "HEAD")
    found = snapshot.take(repo, tree, parent).tree
    if commit:
        said = commit_message.write("x", title="", trailers=Trailers(plan=plan, todo=todo))
        commits.commit(repo, tree, tree=found, parent=parent, message=said, branch="faster")
    else:
        backup_refs.save(repo, KeptTodo(plan, todo), base=parent, tree=found)


def test_a_plans_branch_is_compared_with_where_it_left_its_base(root: Path) -> None:
    (root / "app.py").write_text("print(0)\n")
    git(root, "commit", "--quiet", "--all", "-m", "meanwhile")

    shown = run(root, "diff", "faster").output

    assert "-print(1)\n+print(2)\n" in shown
    assert "print(0)" not in shown


def test_nothing_of_a_file_is_obeyed_by_a_terminal(root: Path) -> None:
    assert "+\\x1b]0;owned\\x07\tx\n" in run(root, "diff", "faster").output


def test_a_todo_is_its_commit(root: Path) -> None:
    work(root, {"other.py": "x\n"}, "t2")

    assert "app.py" in run(root, "diff", "faster", "--todo", "t1").output
    assert "other.py" not in run(root, "diff", "faster", "--todo", "t1").output


def test_the_commit_of_another_plans_todo_of_the_same_id_is_not_shown(root: Path) -> None:
    work(root, {"theirs.py": "x\n"}, "t2", plan="other")
    assert failure(root, "diff", "faster", "--todo", "t2") == (
        "nothing was committed or kept for TODO t2 of plan faster yet"
    )

    work(root, {"ours.py": "x\n"}, "t2")

    assert "theirs.py" not in run(root, "diff", "faster", "--todo", "t2").output


def test_a_parked_todo_is_what_was_attempted(root: Path) -> None:
    work(root, {"other.py": "attempt\n"}, "t2", commit=False)

    assert "+attempt" in run(root, "diff", "faster", "--todo", "t2").output


def test_a_todo_for_which_nothing_was_done_says_so(root: Path) -> None:
    assert failure(root, "diff", "faster", "--todo", "t2") == (
        "nothing was committed or kept for TODO t2 of plan faster yet"
    )
    assert failure(root, "diff", "faster", "--todo", "t9") == "plan faster has no TODO t9; it has t1, t2"


def test_a_branch_without_commits_of_its_own_has_no_difference(root: Path) -> None:
    git(root, "update-ref", "refs/heads/faster", "main")

    assert run(root, "diff", "faster").output == "nothing was changed\n"


def test_a_base_that_is_not_there_is_named(root: Path) -> None:
    (root / "prloom.toml").write_text('base_branch = "trunk"\n')

    assert failure(root, "diff", "faster").startswith("the base trunk shares no commit with the branch, or is not here")


def test_lines_have_colours_where_they_are_wanted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert click.style("+print(2)", fg="green") in run(root, "diff", "faster").output
