"""A plan's clone has the objects of the repository and nothing else of it, and prloom reads its files alone."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from prloom.workspace import clone, snapshot
from prloom.workspace.clone import CloneState

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository


@pytest.fixture
def place(project: Project) -> Path:
    """Where a clone of `feature` is made."""
    return project.root / "prloom/.local/clones/feature"


@pytest.fixture
def state(project: Project) -> CloneState:
    return CloneState("feature", project.sha("feature"), base="main")


@pytest.fixture
def cloned(project: Project, repo: Repository, place: Path, state: CloneState) -> Project:
    """The clone, with git as its worker uses it."""
    project.git("tag", "v1", "feature")
    clone.renew(repo, place, state)
    return type(project)(place)


def test_it_has_the_branch_its_base_and_all_tags(cloned: Project, project: Project) -> None:
    assert cloned.git("status", "--porcelain", "--branch") == "## feature"
    assert cloned.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines() == [
        f"refs/heads/feature {project.sha('feature')}",
        f"refs/remotes/origin/feature {project.sha('feature')}",
        f"refs/remotes/origin/main {project.sha('main')}",
        f"refs/tags/v1 {project.sha('feature')}",
    ]
    assert cloned.git("describe", "--tags") == "v1"
    assert cloned.git("fsck", "--strict") == ""


def test_a_push_from_a_clone_leads_nowhere(cloned: Project) -> None:
    for words in (["push"], ["push", "origin", "HEAD"], ["fetch"]):
        ended = subprocess.run(["git", *words], cwd=cloned.root, check=False, capture_output=True)
        assert ended.returncode != 0 or words == ["fetch"]


@pytest.mark.parametrize(
    "does",
    [
        "git checkout -q -b mine && git commit -q --allow-empty -m mine && git tag v2",
        "echo x > README.md && git stash -q",
        "git config core.hooksPath /tmp/evil && git config core.worktree /nowhere",
        "git update-ref refs/heads/feature HEAD~1 && git symbolic-ref HEAD refs/heads/gone",
        "rm -rf .git",
        "rm -rf .git && ln -s /nowhere .git",
        "rm -rf .git/refs && ln -s /tmp .git/refs",
        "rm .git/config && mkdir .git/config",
        "echo garbage > .git/HEAD; echo garbage > .git/index; echo garbage > .git/packed-refs",
        "git -c user.name=x merge -q --no-commit --no-ff main -s ours; true",
        "git clean -q -ffdx && rm -rf src",
        "git worktree add -q ../inner 2>/dev/null || git worktree add -q inner; true",
        "touch .git/index.lock .git/config.lock .git/HEAD.lock",
    ],
)
def test_what_a_worker_does_to_its_repository_is_gone_with_the_next_attempt(
    cloned: Project, repo: Repository, place: Path, state: CloneState, does: str
) -> None:
    subprocess.run(["sh", "-c", does], cwd=place, check=True)

    for _ in range(2):
        clone.renew(repo, place, state)

    assert cloned.git("status", "--porcelain", "--branch") == "## feature"
    assert cloned.git("rev-parse", "HEAD") == state.commit
    assert cloned.git("config", "--default", "", "core.hooksPath") == ""
    assert cloned.git("for-each-ref", "refs/heads", "--format=%(refname)") == "refs/heads/feature"
    assert snapshot.take(repo, place, state.commit).is_empty


def test_the_configuration_of_a_clone_is_not_obeyed(
    cloned: Project, repo: Repository, place: Path, state: CloneState, tmp_path: Path
) -> None:
    evil = f"touch {tmp_path}/ran"
    cloned.git("config", "core.fsmonitor", evil)
    cloned.git("config", "filter.x.clean", evil)
    (place / ".gitattributes").write_text("* filter=x\n")
    (place / "new").write_text("x\n")

    taken = snapshot.take(repo, place, state.commit)

    assert [each.path for each in taken.paths] == [".gitattributes", "new"]
    clone.renew(repo, place, state)
    assert not (tmp_path / "ran").exists()


def test_what_git_ignores_and_what_a_failed_attempt_left_stays(project: Project, repo: Repository, place: Path) -> None:
    commit = project.commit({".gitignore": "build/\n"}, branch="feature")
    clone.renew(repo, place, CloneState("feature", commit))
    (place / "build").mkdir()
    (place / "build/x.o").write_text("o\n")
    (place / "half.py").write_text("half\n")
    left = snapshot.take(repo, place, commit).tree

    clone.renew(repo, place, CloneState("feature", commit, tree=left))

    assert (place / "build/x.o").exists()
    assert (place / "half.py").read_text() == "half\n"
    assert type(project)(place).git("status", "--porcelain") == "A  half.py"
    assert clone.filled_with(repo, place) == left
    clone.renew(repo, place, CloneState("feature", commit))
    assert not (place / "half.py").exists()
    assert (place / "build/x.o").exists()


def test_the_operators_stash_branches_and_checkout_are_out_of_reach(cloned: Project, project: Project) -> None:
    (project.root / "README.md").write_text("mine\n")
    project.git("stash")
    ended = subprocess.run(["git", "stash", "pop"], cwd=cloned.root, check=False, capture_output=True, text=True)

    assert "No stash entries found" in ended.stderr
    assert project.git("stash", "list") != ""


def test_a_sparse_worktree_has_a_sparse_clone(project: Project, repo: Repository, place: Path, tmp_path: Path) -> None:
    like = tmp_path / "like"
    project.git("worktree", "add", "-q", str(like), "feature")
    project.git("sparse-checkout", "set", "--no-cone", "README.md", cwd=like)

    clone.renew(repo, place, CloneState("feature", project.sha("feature"), like=like))

    assert sorted(path.name for path in place.iterdir()) == [".git", "README.md"]
    assert type(project)(place).git("status", "--porcelain") == ""
    assert snapshot.take(repo, place, project.sha("feature")).is_empty


def test_a_clone_is_removed_with_its_index_whatever_was_done_to_it(
    cloned: Project, repo: Repository, place: Path
) -> None:
    (place / "src").chmod(0o500)

    for _ in range(2):
        clone.remove(place)

    assert not place.exists()
    assert not clone.exists(repo, place)
    assert list((place.parent.parent / "indexes").iterdir()) == []


def test_a_link_in_its_place_is_replaced(repo: Repository, place: Path, state: CloneState, tmp_path: Path) -> None:
    place.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")

    clone.renew(repo, place, state)

    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (place / "README.md").exists()
