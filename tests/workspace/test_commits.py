"""Commits of a plan's branch: made once, found again, and the worktree as the commit has it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import executable
import pytest

from prloom.core.work import commit_message
from prloom.core.work.commit_message import Trailers
from prloom.errors import WorkspaceError
from prloom.workspace import commits, snapshot, worktree, worktree_files

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository


def a_message(todo: str = "t1", *, round_: int = 1) -> str:
    return commit_message.write("Do it", title="", trailers=Trailers(plan="p", todo=todo, round=round_))


def committed(repo: Repository, place: Path, parent: str, message: str | None = None) -> str:
    tree = snapshot.take(repo, place, parent).tree
    said = message or a_message()
    return commits.commit(repo, place, tree=tree, parent=parent, message=said, branch="feature")


def test_the_commit_has_the_tree_the_parent_the_message_and_the_operators_name(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    (place / "new").write_text("x\n")

    made = committed(repo, place, base)

    assert project.sha("feature") == made
    assert project.git("log", "-1", "--format=%P|%an|%ce|%B", "feature") == (
        f"{base}|Ada|ada@example.org|Do it\n\nProm-Plan: p".replace("Prom", "Prloom") + "\nPrloom-Todo: t1"
    )
    assert project.git("status", "--porcelain", cwd=place) == ""
    assert project.git("symbolic-ref", "HEAD", cwd=place) == "refs/heads/feature"


def test_a_call_that_was_stopped_after_the_commit_is_repeated_without_a_second_one(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    (place / "new").write_text("x\n")
    tree = snapshot.take(repo, place, base).tree
    made = commits.commit(repo, place, tree=tree, parent=base, message=a_message(), branch="feature")
    (place / "new").unlink()  # as if the files had not been written yet
    project.git("read-tree", base, cwd=place)
    worktree_files.note_move(snapshot.require(repo, place), base, made)

    assert commits.commit(repo, place, tree=tree, parent=base, message=a_message(), branch="feature") == made
    assert (place / "new").read_text() == "x\n"
    assert project.git("rev-list", "--count", f"{base}..feature") == "1"


def test_a_branch_that_somebody_has_moved_is_not_moved(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    tree = snapshot.take(repo, place, base).tree
    theirs = project.commit({"theirs": "x\n"}, branch="feature")

    with pytest.raises(commits.BranchMovedError, match=f"feature is at {theirs[:10]} and no longer at {base[:10]}"):
        commits.commit(repo, place, tree=tree, parent=base, message=a_message(), branch="feature")

    assert project.sha("feature") == theirs


def test_a_branch_that_is_gone_is_not_made_again(project: Project, repo: Repository, place: Path, base: str) -> None:
    tree = snapshot.take(repo, place, base).tree
    project.git("update-ref", "-d", "refs/heads/feature")

    with pytest.raises(commits.BranchMovedError, match="branch feature no longer exists"):
        commits.commit(repo, place, tree=tree, parent=base, message=a_message(), branch="feature")


def test_of_several_commits_the_latest_is_that_on_which_nothing_builds(
    project: Project, repo: Repository, base: str
) -> None:
    theirs = project.commit({"theirs": "x\n"}, branch="feature")

    assert commits.latest(repo, [theirs, base]) == commits.latest(repo, [base, theirs, "1" * len(base)]) == theirs
    assert commits.latest(repo, []) is commits.latest(repo, ["1" * len(base)]) is None


def test_without_an_identity_the_error_says_how_to_set_one(
    project: Project, repo: Repository, place: Path, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = snapshot.take(repo, place, base).tree
    project.git("config", "user.useConfigOnly", "true")
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        monkeypatch.delenv(f"GIT_{name}")

    with pytest.raises(WorkspaceError, match=r"git does not know whose commits it makes in .*user\.name"):
        commits.commit(repo, place, tree=tree, parent=base, message=a_message(), branch="feature")


def test_no_hook_runs(project: Project, repo: Repository, place: Path, base: str, tmp_path: Path) -> None:
    hooks = project.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-checkout",
        "post-index-change",
    ):
        executable.write(hooks / name, f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (place / "new").write_text("x\n")

    committed(repo, place, base)

    assert not (tmp_path / "ran").exists()


def test_the_commit_of_a_todo_is_found_by_its_trailers(repo: Repository, place: Path, base: str) -> None:
    first = committed(repo, place, base, a_message("t1"))
    second = committed(repo, place, first, a_message("t2"))
    again = committed(repo, place, second, a_message("t1", round_=2))

    assert commits.find(repo, "feature", plan="p", todo="t1") == first
    assert commits.find(repo, "feature", plan="p", todo="t2", base=base) == second
    assert commits.find(repo, "feature", plan="p", todo="t1", round_=2) == again
    assert commits.find(repo, "feature", plan="p", todo="t1", base=first) is None
    assert commits.find(repo, "feature", plan="p", todo="t3") is None
    assert commits.find(repo, "no-such", plan="p", todo="t1") is None


def test_a_message_that_an_agent_has_forged_is_told_by_the_tree(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    tree = project.git("rev-parse", f"{base}^{{tree}}")
    (place / "new").write_text("x\n")
    project.git("add", "new", cwd=place)
    project.git("commit", "--quiet", "-m", a_message(), cwd=place)

    assert commits.find(repo, "feature", plan="p", todo="t1", tree=tree) is None


def test_after_a_restore_nothing_is_left_but_what_git_ignores_junk_and_prlooms_own(
    project: Project, repo: Repository, place: Path
) -> None:
    project.commit({".gitignore": "*.log\n"}, branch="feature")
    base = worktree.create(repo, place, "feature")
    for kept in ("x.log", "deep/x.log", "prloom/.local/plan.md", "node_modules/a/b.js"):
        (place / kept).parent.mkdir(parents=True, exist_ok=True)
        (place / kept).write_text("kept\n")
    for left in ("report.xml", "cover/a/b.html", "src/left"):
        (place / left).parent.mkdir(parents=True, exist_ok=True)
        (place / left).write_text("left\n")
    (place / "README.md").write_text("rewritten by a check\n")
    project.git("init", "--quiet", "cloned", cwd=place)

    commits.restore(repo, place, base, branch="feature")

    assert (place / "README.md").read_text() == "hello\n"
    assert sorted(os.listdir(place)) == [
        ".git", ".gitignore", "README.md", "deep", "node_modules", "prloom", "src", "x.log",
    ]  # fmt: skip
    assert sorted(os.listdir(place / "src")) == ["app.py"]


def test_a_restore_undoes_whatever_an_agent_did_to_the_checkout(
    project: Project, repo: Repository, place: Path, base: str, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "app.py").write_text("mine\n")
    (place / "src" / "app.py").unlink()
    (place / "src").rmdir()
    (place / "src").symlink_to(tmp_path / "outside")
    project.git("checkout", "--quiet", "--detach", cwd=place)
    project.git("update-index", "--assume-unchanged", "README.md", cwd=place)
    (place / "README.md").unlink()
    os.mkfifo(place / "README.md")
    index = project.root / ".git" / "worktrees" / "plan" / "index"
    index.with_name("index.lock").touch()
    (place / ".git").unlink()
    project.git("init", "--quiet", cwd=place)

    commits.restore(repo, place, base, branch="feature")

    assert (place / "src" / "app.py").read_text() == "print(1)\n"
    assert (tmp_path / "outside" / "app.py").read_text() == "mine\n"
    assert (place / "README.md").read_text() == "hello\n"
    assert project.git("status", "--short", "--branch", cwd=place) == "## feature"


def test_a_restore_ends_an_unfinished_merge(project: Project, repo: Repository, place: Path, base: str) -> None:
    project.commit({"src/app.py": "other\n"})
    with pytest.raises(Exception, match="merge"):
        project.git("merge", "main", cwd=place)

    commits.restore(repo, place, base, branch="feature")

    assert "MERGE_HEAD" not in os.listdir(project.root / ".git" / "worktrees" / "plan")
    assert (place / "src" / "app.py").read_text() == "print(1)\n"


def test_a_restore_writes_only_the_files_that_differ(repo: Repository, place: Path, base: str) -> None:
    os.utime(place / "README.md", (1, 1))
    (place / "src" / "app.py").write_text("x\n")

    commits.restore(repo, place, base, branch="feature")

    assert (place / "README.md").stat().st_mtime == 1
    assert (place / "src" / "app.py").read_text() == "print(1)\n"


def test_a_folder_that_nobody_may_write_in_is_removed_too(repo: Repository, place: Path, base: str) -> None:
    (place / "locked" / "in").mkdir(parents=True)
    (place / "locked" / "in" / "file").write_text("x\n")
    (place / "locked" / "in").chmod(0o500)

    commits.restore(repo, place, base, branch="feature")

    assert not (place / "locked").exists()


@pytest.mark.parametrize("branch", ["", "a..b", "HEAD", "x.lock", "a\nb"])
def test_a_name_that_is_none_for_a_branch_is_refused(repo: Repository, place: Path, base: str, branch: str) -> None:
    with pytest.raises(WorkspaceError, match="is not a valid name for a branch"):
        commits.restore(repo, place, base, branch=branch)
