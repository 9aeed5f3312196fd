"""A rebase that was asked for: people's commits keep author, date and message, and a conflict can be taken back."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import executable
import pytest

from prloom.workspace import backup_refs, rebase, rebase_stop, repository_state, rewritten, snapshot, undo, worktree
from prloom.workspace.rebase import RebaseDone
from prloom.workspace.rebase_stop import RebaseStopped

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


def go_on(repo: Repository, place: Path, stop: RebaseStopped) -> RebaseDone | RebaseStopped | None:
    """Go on with the rebase by what the worktree has."""
    tree = snapshot.take(repo, place, stop.given).tree
    return rebase.continue_(repo, place, "feature", resolution=rebase_stop.resolution(repo, stop, tree))


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
    assert snapshot.take(repo, place, stop.given).is_empty  # the note of it has the files that git has left
    assert "<<<<<<<" in project.git("cat-file", "blob", f"{stop.given}:README.md")
    assert rebase_stop.read(repo, stop.given) == stop
    assert rebase_stop.read(repo, stop.head) is None
    assert rebase_stop.resolved(repo, stop.given) is None


def test_a_resolution_is_taken_over_and_people_stay_the_authors(
    project: Project, repo: Repository, place: Path, tip: str, stop: RebaseStopped
) -> None:
    before = log(project, f"{tip}~2")
    (place / "README.md").write_text("both\n")

    resolution = rebase_stop.resolution(repo, stop, snapshot.take(repo, place, stop.given).tree)
    done = rebase.continue_(repo, place, "feature", resolution=resolution)

    assert done == RebaseDone(tip, project.sha("feature"))
    assert log(project, "main").splitlines()[:2] == before.splitlines()
    assert project.git("cat-file", "blob", "feature:README.md") == "both"
    assert project.git("status", "--porcelain", "--branch", cwd=place) == "## feature"
    assert rebase.stopped(repo, place, "feature") is None
    assert rebase.continue_(repo, place, "feature", resolution=resolution) is None
    assert rebase.start(repo, place, "feature", onto=project.sha("main")) == RebaseDone(done.tip, done.tip)


def test_files_of_a_commit_that_git_ignores_stay_when_a_conflict_is_resolved(
    project: Project, repo: Repository, place: Path
) -> None:
    worktree.create(repo, place, "feature")
    (place / ".env").write_text("x\n")
    (place / "README.md").write_text("theirs\n")
    as_bob(project, "add", "--force", ".env", "README.md", cwd=place)
    as_bob(project, "commit", "--quiet", "-m", "One", cwd=place)
    stop = rebase.start(repo, place, "feature", onto=project.commit({"README.md": "base\n", ".gitignore": ".env\n"}))
    assert isinstance(stop, RebaseStopped)
    (place / "README.md").write_text("both\n")

    go_on(repo, place, stop)

    assert project.git("cat-file", "blob", "feature:.env") == "x"
    assert project.git("cat-file", "blob", "feature:README.md") == "both"


def test_the_marks_of_a_conflict_are_found_in_what_is_to_resolve_it(
    repo: Repository, place: Path, stop: RebaseStopped
) -> None:
    assert rebase_stop.unresolved(repo, stop, snapshot.take(repo, place, stop.given).tree) == ("README.md",)

    (place / "README.md").unlink()
    (place / "README.md").symlink_to("src")

    assert rebase_stop.unresolved(repo, stop, snapshot.take(repo, place, stop.given).tree) == ()


@pytest.mark.parametrize("at", ["rebase", "restore"])
def test_a_resolution_is_taken_over_by_a_call_that_repeats_one_that_was_stopped(
    project: Project, repo: Repository, place: Path, stop: RebaseStopped, at: str
) -> None:
    (place / "README.md").write_text("both\n")
    resolution = rebase_stop.resolution(repo, stop, snapshot.take(repo, place, stop.given).tree)
    by_the_worker(place, "add", "README.md")
    if at == "restore":
        as_bob(project, "-c", "core.editor=true", "rebase", "--continue", cwd=place)
    else:  # as far as `git rebase --continue` may come
        as_bob(project, "commit", "--quiet", "-C", "REBASE_HEAD", cwd=place)

    done = rebase.continue_(repo, place, "feature", resolution=resolution)

    assert done == RebaseDone(stop.old, project.sha("feature"))
    assert project.git("cat-file", "blob", "feature:README.md") == "both"
    assert set(project.git("log", "--format=%an", "main..feature").splitlines()) == {"Bob", "Ada"}


def test_a_rebase_that_a_person_has_ended_is_theirs(
    project: Project, repo: Repository, place: Path, tip: str, stop: RebaseStopped
) -> None:
    (place / "README.md").write_text("by bob\n")
    as_bob(project, "add", "README.md", cwd=place)
    as_bob(project, "-c", "core.editor=true", "rebase", "--continue", cwd=place)
    theirs = project.sha("feature")

    assert rebase.stopped(repo, place, "feature") is None
    done = rebase.start(repo, place, "feature", onto=project.sha("main"))

    assert done == RebaseDone(theirs, theirs)
    assert project.git("cat-file", "blob", "feature:README.md") == "by bob"
    assert rewritten.read(repo, "feature") == rewritten.Rewrite(tip, project.sha("main"))


def test_a_commit_of_which_the_resolution_leaves_nothing_is_left_out(
    project: Project, repo: Repository, place: Path, stop: RebaseStopped
) -> None:
    (place / "README.md").write_text("base\n")

    go_on(repo, place, stop)

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


def test_a_rebase_that_a_worker_has_ended_is_taken_back_and_begins_again(
    project: Project, repo: Repository, place: Path, tip: str, stop: RebaseStopped
) -> None:
    before = repository_state.record(repo, place)
    (place / "README.md").write_text("both\n")
    by_the_worker(place, "add", "README.md")
    by_the_worker(place, "rebase", "--continue")
    theirs = project.sha("feature")

    assert len(undo.undo(repo, place, before, branch="feature", todo="t1")) == 1
    assert project.sha("feature") == tip
    assert theirs in {sha for _, sha in backup_refs.kept_refs(repo, "t1")}
    again = rebase.start(repo, place, "feature", onto=project.sha("main"))

    assert isinstance(again, RebaseStopped)
    assert again.paths == stop.paths


def test_an_abort_takes_back_what_a_worker_has_made_of_the_branch(
    project: Project, repo: Repository, place: Path, tip: str, stop: RebaseStopped
) -> None:
    (place / "README.md").write_text("both\n")
    by_the_worker(place, "add", "README.md")
    by_the_worker(place, "rebase", "--continue")
    theirs = project.sha("feature")

    assert rebase.abort(repo, place, "feature") == tip
    assert project.sha("feature") == tip
    assert theirs in {sha for _, sha in backup_refs.kept_refs(repo, "rebase")}


def test_a_rebase_that_is_put_otherwise_does_not_stand_any_more(
    repo: Repository, place: Path, stop: RebaseStopped
) -> None:
    folder = next((repo.git_dir / "worktrees").glob("*/rebase-merge"))
    (folder / "git-rebase-todo").write_text("exec touch ran\n")

    assert rebase.stopped(repo, place, "feature") is None


def test_no_hook_runs_and_a_branch_beside_it_is_not_moved(
    project: Project, repo: Repository, place: Path, tip: str, tmp_path: Path
) -> None:
    project.git("branch", "beside", "feature~1")
    project.git("config", "rebase.updateRefs", "true")
    beside = project.sha("beside")
    for name in ("pre-rebase", "post-rewrite", "post-checkout", "pre-commit", "prepare-commit-msg", "post-commit"):
        executable.write(project.root / ".git" / "hooks" / name, f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    stop = rebase.start(repo, place, "feature", onto=project.commit({"README.md": "base\n"}))
    assert isinstance(stop, RebaseStopped)
    (place / "README.md").write_text("both\n")

    go_on(repo, place, stop)

    assert not (tmp_path / "ran").exists()
    assert project.sha("beside") == beside


@pytest.mark.parametrize("paths", ["5", "null", '"abc"', "[1]"])
def test_a_note_of_a_stop_whose_content_is_no_stop_is_none(project: Project, repo: Repository, tip: str, paths: str):
    said = f'{{"old": "a", "onto": "b", "head": "c", "commit": "d", "state": "e", "given": "", "paths": {paths}}}'
    forged = project.git("commit-tree", "-m", said, f"{tip}^{{tree}}")

    assert rebase_stop.read(repo, forged) is None
