"""A rebase that was asked for: people's commits keep author, date and message, and a conflict can be taken back."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import executable
import pytest

from prloom.workspace import backup_refs, rebase, rebase_stop, worktree
from prloom.workspace.rebase import RebaseDone
from prloom.workspace.rebase_stop import RebaseStopped
from prloom.workspace.worktree_update import WorktreeInTheWayError

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


def resolved(project: Project, repo: Repository, stop: RebaseStopped, files: dict[str, str | None]) -> str:
    """Return a resolution of the conflict that has these files in place of those that were given."""
    index = {"GIT_INDEX_FILE": str(project.root / ".git" / "resolution")}

    def git(*argv: str, given: str = "") -> str:
        done = subprocess.run(
            ["git", *argv],
            cwd=project.root,
            env=os.environ | index,
            check=True,
            capture_output=True,
            input=given,
            text=True,
        )
        return done.stdout.strip()

    git("read-tree", stop.given)
    for name, text in files.items():
        if text is None:
            git("update-index", "--force-remove", name)
        else:
            blob = git("hash-object", "-w", "--stdin", given=text)
            git("update-index", "--add", "--cacheinfo", f"100755,{blob},{name}")
    return rebase_stop.resolution(repo, stop, git("write-tree"))


def test_a_conflict_is_noted_and_leaves_branch_and_worktree_alone(
    project: Project, repo: Repository, place: Path, tip: str, stop: RebaseStopped
) -> None:
    assert (stop.old, stop.commit, stop.paths) == (tip, tip, ("README.md",))
    assert project.git("log", "-1", "--format=%s", stop.head) == "One"
    assert project.git("status", "--porcelain", "--branch", cwd=place) == "## feature"
    assert project.sha("feature") == tip
    assert "<<<<<<<" in project.git("cat-file", "blob", f"{stop.given}:README.md")
    assert rebase.continue_(repo, place, "feature", given=stop.given) == stop  # as after a crash
    assert rebase_stop.read(repo, stop.given) == stop
    assert rebase_stop.read(repo, stop.head) is None
    assert rebase_stop.resolved(repo, stop.given) is None


def test_a_resolution_is_taken_over_and_people_stay_the_authors(
    project: Project, repo: Repository, place: Path, tip: str, stop: RebaseStopped
) -> None:
    before = log(project, f"{tip}~2")
    resolution = resolved(project, repo, stop, {"README.md": "both\n"})

    done = rebase.continue_(repo, place, "feature", given=resolution)

    assert done == RebaseDone(tip, project.sha("feature"))
    assert log(project, "main").splitlines()[:2] == before.splitlines()
    assert project.git("cat-file", "blob", "feature:README.md") == "both"
    assert project.git("status", "--porcelain", "--branch", cwd=place) == "## feature"
    assert (place / "README.md").read_text() == "both\n"
    assert rebase.continue_(repo, place, "feature", given=resolution) is None  # the branch was moved
    assert rebase.start(repo, place, "feature", onto=project.sha("main")) == RebaseDone(done.tip, done.tip)


def test_each_conflict_of_several_is_a_stop_of_its_own(
    project: Project, repo: Repository, place: Path, tip: str
) -> None:
    last = commit(project, place, {"one": "2\n"}, "Three")
    base = {"README.md": "base\n", "one": "base\n"}
    first = rebase.start(repo, place, "feature", onto=project.commit(base))
    assert isinstance(first, RebaseStopped)
    found = [first.paths]
    stop: RebaseDone | RebaseStopped | None = first
    while isinstance(stop, RebaseStopped):
        stop = rebase.continue_(
            repo,
            place,
            "feature",
            given=resolved(project, repo, stop, {path: f"{path} {len(found)}\n" for path in stop.paths}),
        )
        if isinstance(stop, RebaseStopped):
            found.append(stop.paths)

    assert found == [("one",), ("README.md",), ("one",)]
    assert stop == RebaseDone(last, project.sha("feature"))
    assert project.git("cat-file", "blob", "feature:one") == "one 3"


def test_the_marks_of_a_conflict_are_found_in_what_is_to_resolve_it(
    project: Project, repo: Repository, stop: RebaseStopped
) -> None:
    assert rebase_stop.unresolved(repo, stop, stop.given) == ("README.md",)
    assert rebase_stop.unresolved(repo, stop, resolved(project, repo, stop, {"README.md": None})) == ()


def test_a_commit_of_which_the_resolution_leaves_nothing_is_left_out(
    project: Project, repo: Repository, place: Path, stop: RebaseStopped
) -> None:
    rebase.continue_(repo, place, "feature", given=resolved(project, repo, stop, {"README.md": "base\n"}))

    assert project.git("log", "-1", "--format=%s", "feature") == "One"


def test_a_resolution_is_of_no_use_once_somebody_has_moved_the_branch(
    project: Project, repo: Repository, place: Path, stop: RebaseStopped
) -> None:
    resolution = resolved(project, repo, stop, {"README.md": "both\n"})
    theirs = commit(project, place, {"mine": "x\n"}, "Mine")

    assert rebase.continue_(repo, place, "feature", given=resolution) is None
    assert project.sha("feature") == theirs


def test_files_that_a_person_changes_in_the_worktree_stay_or_keep_the_branch_where_it_is(
    project: Project, repo: Repository, place: Path, tip: str
) -> None:
    (place / "src/app.py").write_text("mine\n")
    (place / "theirs").write_text("mine\n")
    with pytest.raises(WorktreeInTheWayError, match=r"the next commit changes: theirs$"):
        rebase.start(repo, place, "feature", onto=project.commit({"theirs": "base\n"}, branch="other"))
    assert project.sha("feature") == tip
    (place / "theirs").unlink()

    rebase.start(repo, place, "feature", onto=project.commit({"new": "x\n"}))

    assert project.git("status", "--porcelain", cwd=place) == "M src/app.py"
    assert (place / "new").read_text() == "x\n"


def test_a_rebase_that_an_earlier_version_left_stopped_in_the_worktree_is_taken_back(
    project: Project, repo: Repository, place: Path, tip: str
) -> None:
    onto = project.commit({"README.md": "base\n"})
    subprocess.run(["git", "rebase", "main"], cwd=place, check=False, capture_output=True)
    assert "rebase in progress" in project.git("status", cwd=place)
    project.git("update-ref", "refs/prloom/rebase-old/feature", tip)
    project.git("update-ref", "refs/prloom/rebase-onto/feature", onto)

    for _ in range(2):
        rebase.end_earlier_versions(repo, place, "feature")

    assert project.git("status", "--porcelain", "--branch", cwd=place) == "## feature"
    assert project.git("for-each-ref", "refs/prloom/rebase-*") == ""
    assert [name for name, _ in backup_refs.kept_refs(repo, "rebase")]


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

    rebase.continue_(repo, place, "feature", given=resolved(project, repo, stop, {"README.md": "both\n"}))

    assert not (tmp_path / "ran").exists()
    assert project.sha("beside") == beside


@pytest.mark.parametrize("paths", ["5", "null", '"abc"', "[1]"])
def test_a_note_of_a_stop_whose_content_is_no_stop_is_none(project: Project, repo: Repository, tip: str, paths: str):
    said = f'{{"old": "a", "onto": "b", "head": "c", "commit": "d", "state": "e", "given": "", "paths": {paths}}}'
    forged = project.git("commit-tree", "-m", said, f"{tip}^{{tree}}")

    assert rebase_stop.read(repo, forged) is None
