"""Hooks of the operator's checkout run for a commit where that is allowed, and those of the pull request never do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import executable
import pytest

from prloom.core.work import commit_message
from prloom.core.work.commit_message import Trailers
from prloom.errors import WorkspaceError
from prloom.workspace import commits, snapshot, worktree

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository

MESSAGE = commit_message.write("Do it", title="", trailers=Trailers(plan="p", todo="t1"))


@pytest.fixture
def base(repo: Repository, place: Path) -> str:
    """A worktree of `feature` at `place` with a change, and the commit that it is at."""
    sha = worktree.create(repo, place, "feature")
    (place / "new").write_text("x\n")
    return sha


def a_hook(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    executable.write(folder / name, f"#!/bin/sh\n{text}\n")


def committed(repo: Repository, place: Path, parent: str) -> str:
    tree = snapshot.take(repo, place, parent).tree
    return commits.commit(repo, place, tree=tree, parent=parent, message=MESSAGE, branch="feature", hooks=True)


def test_a_hook_sees_the_commit_and_does_not_change_it(
    project: Project, repo: Repository, place: Path, base: str, tmp_path: Path
) -> None:
    text = f"git diff --cached --name-only > {tmp_path}/seen; echo y > new; echo y > other; git add new other"
    a_hook(project.root / ".git" / "hooks", "pre-commit", text)
    tree = snapshot.take(repo, place, base).tree

    committed(repo, place, base)

    assert (tmp_path / "seen").read_text() == "new\n"
    assert project.git("rev-parse", "feature^{tree}") == tree
    assert project.git("status", "--porcelain", cwd=place) == ""
    assert (place / "new").read_text() == "x\n"


def test_a_hook_that_refuses_is_a_failure_that_says_why_and_nothing_is_committed(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    a_hook(project.root / ".git" / "hooks", "pre-commit", "printf 'line too \\033[31mlong\\n'; exit 3")

    with pytest.raises(WorkspaceError) as caught:
        committed(repo, place, base)

    assert str(caught.value) == "the hook pre-commit refused the commit (exit code 3):\nline too \\x1b[31mlong"
    assert project.sha("feature") == base
    assert (place / "new").read_text() == "x\n"


def test_a_hook_may_add_to_the_message_but_not_take_prlooms_trailers_away(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    hooks = project.root / ".git" / "hooks"
    a_hook(hooks, "commit-msg", 'echo "Change-Id: I1" >> "$1"')

    made = committed(repo, place, base)

    assert project.git("log", "-1", "--format=%B", made).endswith("Prloom-Todo: t1\nChange-Id: I1")
    assert commits.find(repo, "feature", plan="p", todo="t1") == made

    a_hook(hooks, "commit-msg", 'echo "mine" > "$1"')
    (place / "more").write_text("x\n")
    with pytest.raises(WorkspaceError, match="has changed the trailers of prloom"):
        committed(repo, place, made)


def test_hooks_of_the_pull_request_do_not_run(
    project: Project, repo: Repository, place: Path, base: str, tmp_path: Path
) -> None:
    project.git("config", "core.hooksPath", "tools/hooks")
    a_hook(place / "tools" / "hooks", "pre-commit", f"touch {tmp_path}/theirs")
    a_hook(project.root / "tools" / "hooks", "pre-commit", f"touch {tmp_path}/mine")

    committed(repo, place, base)

    assert (tmp_path / "mine").exists()
    assert not (tmp_path / "theirs").exists()
