"""A rebase that was asked for: people's commits keep author, date and message, and a conflict can be taken back."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import backup_refs, rebase, repository_state, undo, worktree
from prloom.workspace.rebase import RebaseDone, RebaseStopped

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository


def as_bob(project: Project, *argv: str, cwd: Path) -> None:
    named = {"GIT_AUTHOR_NAME": "Bob", "GIT_AUTHOR_EMAIL": "bob@example.org", "GIT_AUTHOR_DATE": "@1600000000 +0200"}
    subprocess.run(["git", *argv], cwd=cwd, env=os.environ | named, check=True, capture_output=True)


def commit(project: Project, place: Path, files: dict[str, str], message: str) -> str:
    for name, text in files.items():
        (place / name).write_text(text)
    as_bob(project, "add", "--all", cwd=place)
    as_bob(project, "commit", "--quiet", "-m", message, cwd=place)
    return project.git("rev-parse", "HEAD", cwd=place)


@pytest.fixture
def tip(project: Project, repo: Repository, place: Path) -> str:
    """The tip of `feature`, with two commits of a person on top, in its worktree."""
    worktree.create(repo, place, "feature")
    commit(project, place, {"one": "1\n"}, "One\n\nwhy")
    return commit(project, place, {"README.md": "theirs\n"}, "Two")


def log(project: Project, base: str) -> str:
    return project.git("log", "--format=%an|%ae|%ad|%s", "--date=raw", f"{base}..feature")


def test_without_a_conflict_all_commits_are_made_again_on_the_base(
    project: Project, repo: Repository, place: Path, tip: str
) -> None:
    before = log(project, "main")
    main = project.commit({"new": "x\n"})

    done = rebase.start(repo, place, "feature", onto=main)

    assert done == RebaseDone(tip, project.sha("feature"))
    assert log(project, main) == before
    assert project.git("log", "-1", "--format=%cn", "feature") == "Ada"
    assert project.git("status", "--porcelain", cwd=place) == ""
    assert (place / "new").exists()
    assert [sha for _, sha in backup_refs.kept_refs(repo, "rebased")] == [tip]


def test_a_branch_that_is_on_its_base_already_stays(project: Project, repo: Repository, place: Path, tip: str) -> None:
    assert rebase.start(repo, place, "feature", onto=project.sha("main")) == RebaseDone(tip, tip)


@pytest.fixture
def stop(project: Project, repo: Repository, place: Path, tip: str) -> RebaseStopped:
    """A rebase that has stopped at the second commit."""
    found = rebase.start(repo, place, "feature", onto=project.commit({"README.md": "base\n", "new": "x\n"}))
    assert isinstance(found, RebaseStopped)
    return found


def test_a_conflict_leaves_the_rebase_in_the_worktree(
    project: Project, repo: Repository, place: Path, tip: str, stop: RebaseStopped
) -> None:
    assert (stop.old, stop.commit, stop.paths) == (tip, tip, ("README.md",))
    assert project.git("log", "-1", "--format=%s", stop.head) == "One"
    assert "<<<<<<<" in (place / "README.md").read_text()
    assert "rebase in progress" in project.git("status", cwd=place)
    assert project.sha("feature") == tip
    assert rebase.stopped(repo, place, "feature") == stop
    assert rebase.start(repo, place, "feature", onto=project.sha("main")) == stop  # as after a crash


def test_a_resolution_is_taken_over_and_people_stay_the_authors(
    project: Project, repo: Repository, place: Path, tip: str, stop: RebaseStopped
) -> None:
    before = log(project, f"{tip}~2")
    (place / "README.md").write_text("both\n")

    done = rebase.continue_(repo, place, "feature")

    assert done == RebaseDone(tip, project.sha("feature"))
    assert log(project, "main").splitlines()[:2] == before.splitlines()
    assert project.git("cat-file", "blob", "feature:README.md") == "both"
    assert project.git("status", "--porcelain", "--branch", cwd=place) == "## feature"
    assert rebase.stopped(repo, place, "feature") is None
    assert rebase.continue_(repo, place, "feature") == RebaseDone(done.tip, done.tip)


def test_marks_of_a_conflict_are_not_committed(repo: Repository, place: Path, stop: RebaseStopped) -> None:
    with pytest.raises(WorkspaceError, match=r"the conflict is not resolved in README\.md"):
        rebase.continue_(repo, place, "feature")

    assert rebase.stopped(repo, place, "feature") == stop


def test_a_commit_of_which_the_resolution_leaves_nothing_is_left_out(
    project: Project, repo: Repository, place: Path, stop: RebaseStopped
) -> None:
    (place / "README.md").write_text("base\n")

    rebase.continue_(repo, place, "feature")

    assert project.git("log", "-1", "--format=%s", "feature") == "One"


def test_an_abort_brings_everything_back(
    project: Project, repo: Repository, place: Path, tip: str, stop: RebaseStopped
) -> None:
    (place / "README.md").write_text("half\n")
    (place / "left").write_text("x\n")

    for _ in range(2):
        assert rebase.abort(repo, place, "feature") == tip
        assert project.sha("feature") == tip
        assert project.git("status", "--porcelain", "--branch", cwd=place) == "## feature"
        assert (place / "README.md").read_text() == "theirs\n"


def by_the_worker(place: Path, *argv: str) -> None:
    named = {"GIT_COMMITTER_NAME": "prloom worker", "GIT_COMMITTER_EMAIL": "worker@prloom.invalid", "GIT_EDITOR": ":"}
    subprocess.run(["git", *argv], cwd=place, env=os.environ | named, check=True, capture_output=True)


def test_a_worker_may_end_the_rebase_itself_and_is_not_the_committer(
    project: Project, repo: Repository, place: Path, tip: str, stop: RebaseStopped
) -> None:
    before = repository_state.record(repo, place)
    (place / "README.md").write_text("both\n")
    by_the_worker(place, "add", "README.md")
    by_the_worker(place, "rebase", "--continue")

    assert undo.undo(repo, place, before, branch="feature", todo="t1") == ()
    done = rebase.continue_(repo, place, "feature")

    assert done == RebaseDone(tip, project.sha("feature"))
    assert set(project.git("log", "--format=%an %cn", "main..feature").splitlines()) == {"Bob Ada", "Ada Ada"}


def test_a_worker_must_not_rewrite_what_people_did(
    project: Project, repo: Repository, place: Path, tip: str, stop: RebaseStopped
) -> None:
    (place / "README.md").write_text("both\n")
    by_the_worker(place, "add", "README.md")
    by_the_worker(place, "rebase", "--continue")
    by_the_worker(place, "commit", "--quiet", "--amend", "--message=Mine")

    with pytest.raises(WorkspaceError, match="has changed author, date or message of commits; abort it"):
        rebase.continue_(repo, place, "feature")

    assert rebase.abort(repo, place, "feature") == tip
    assert project.sha("feature") == tip


def test_no_hook_runs(project: Project, repo: Repository, place: Path, tip: str, tmp_path: Path) -> None:
    for name in ("pre-rebase", "post-rewrite", "post-checkout", "pre-commit", "prepare-commit-msg", "post-commit"):
        hook = project.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
    rebase.start(repo, place, "feature", onto=project.commit({"README.md": "base\n"}))
    (place / "README.md").write_text("both\n")

    rebase.continue_(repo, place, "feature")

    assert not (tmp_path / "ran").exists()


def test_a_branch_beside_it_is_not_moved(project: Project, repo: Repository, place: Path, tip: str) -> None:
    project.git("branch", "beside", "feature~1")
    project.git("config", "rebase.updateRefs", "true")
    beside = project.sha("beside")
    rebase.start(repo, place, "feature", onto=project.commit({"README.md": "base\n"}))
    (place / "README.md").write_text("both\n")

    rebase.continue_(repo, place, "feature")

    assert project.sha("beside") == beside
