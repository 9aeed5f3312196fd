"""Hooks of the operator's checkout run for a commit where that is allowed, and those of the pull request never do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import executable
import pytest

from prloom.core.work import commit_message
from prloom.core.work.commit_message import Trailers
from prloom.errors import WorkspaceError
from prloom.workspace import clone, commit_hooks, repository, snapshot
from prloom.workspace.clone import CloneState

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository

MESSAGE = commit_message.write("Do it", title="", trailers=Trailers(plan="p", todo="t1"))


@pytest.fixture
def base(repo: Repository, place: Path) -> str:
    """A clone of `feature` at `place` with a change, and the commit that it is at."""
    sha = repository.branch_sha(repo, "feature") or ""
    clone.renew(repo, place, CloneState("feature", sha))
    (place / "new").write_text("x\n")
    return sha


def a_hook(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    executable.write(folder / name, f"#!/bin/sh\n{text}\n")


@pytest.fixture
def place(project: Project) -> Path:
    """Where a clone of `feature` is made."""
    return project.root / "prloom/.local/clones/feature"


def hooked(repo: Repository, place: Path, parent: str) -> str:
    """Run the hooks for what is changed in the clone, and return the message as they leave it."""
    clone.renew(repo, place, CloneState("feature", parent, tree=snapshot.take(repo, place, parent).tree))
    return commit_hooks.run(repo, snapshot.require(repo, place), MESSAGE)


def test_a_hook_sees_the_commit_in_the_clone(
    project: Project, repo: Repository, place: Path, base: str, tmp_path: Path
) -> None:
    text = f"git diff --cached --name-only > {tmp_path}/seen; echo y > new; echo y > other; git add new other"
    a_hook(project.root / ".git" / "hooks", "pre-commit", text)

    hooked(repo, place, base)

    assert (tmp_path / "seen").read_text() == "new\n"


def test_a_hook_that_refuses_is_a_failure_that_says_why_and_nothing_is_committed(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    a_hook(project.root / ".git" / "hooks", "pre-commit", "printf 'line too \\033[31mlong\\n'; exit 3")

    with pytest.raises(WorkspaceError) as caught:
        hooked(repo, place, base)

    assert str(caught.value) == "the hook pre-commit refused the commit (exit code 3):\nline too \\x1b[31mlong"
    assert (place / "new").read_text() == "x\n"


def test_a_hook_may_add_to_the_message_but_not_take_prlooms_trailers_away(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    hooks = project.root / ".git" / "hooks"
    a_hook(hooks, "commit-msg", 'echo "Change-Id: I1" >> "$1"')

    assert hooked(repo, place, base).endswith("Prloom-Todo: t1\nChange-Id: I1\n")

    a_hook(hooks, "commit-msg", 'echo "mine" > "$1"')
    with pytest.raises(WorkspaceError, match="has changed the trailers of prloom"):
        hooked(repo, place, base)


def test_hooks_of_the_pull_request_do_not_run(
    project: Project, repo: Repository, place: Path, base: str, tmp_path: Path
) -> None:
    project.git("config", "core.hooksPath", "tools/hooks")
    a_hook(place / "tools" / "hooks", "pre-commit", f"touch {tmp_path}/theirs")
    a_hook(project.root / "tools" / "hooks", "pre-commit", f"touch {tmp_path}/mine")

    hooked(repo, place, base)

    assert (tmp_path / "mine").exists()
    assert not (tmp_path / "theirs").exists()
