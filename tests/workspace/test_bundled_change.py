"""What a run on another machine has changed is applied to a worktree that is still as it was, and to no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prloom.workspace import bundle, bundled_change, run_refs, snapshot, worktree
from prloom.workspace.bundled_change import WorktreeChangedError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository

RUN = "20261121T201532299Z-worker-1a2b3c4d"


@pytest.fixture
def base(hub: Project, repo: Repository, place: Path) -> str:
    """The commit of the plan's worktree, which the remote has."""
    assert hub.sha("feature")
    return worktree.create(repo, place, "feature")


def receive(hub: Project, repo: Repository, commit: str, files: dict[str, str]) -> None:
    """Receive a change that another machine has made on a commit that the remote has."""
    hub.git("update-ref", "refs/heads/elsewhere", commit)
    made = hub.commit(files, branch="elsewhere")
    hub.git("update-ref", "-d", "refs/heads/elsewhere")
    ref = bundle.ref(RUN)
    hub.git("update-ref", ref, made)
    hub.git("bundle", "create", "--quiet", "../change", ref, f"^{commit}")
    hub.git("update-ref", "-d", ref)
    content = (hub.root.parent / "change").read_bytes()
    bundle.receive(repo, content, run=RUN, parent=commit)


def apply(repo: Repository, place: Path, base: str, commit: str) -> None:
    bundled_change.apply(repo, place, run=RUN, base=base, commit=commit, branch="feature")


def test_a_run_begins_with_the_pushed_commit(hub: Project, repo: Repository, base: str) -> None:
    assert bundled_change.begin(repo, ref=run_refs.ref("plan"), base=base) == base
    assert hub.git("for-each-ref", "refs/prloom") == ""


def test_an_unpushed_commit_and_the_changes_of_a_failed_attempt_are_taken_along(
    project: Project, hub: Project, repo: Repository, place: Path, base: str
) -> None:
    (place / "begun").write_text("x\n")
    tree = snapshot.take(repo, place, base).tree

    commit = bundled_change.begin(repo, ref=run_refs.ref("plan"), base=base, tree=tree)
    receive(hub, repo, commit, {"done": "y\n"})
    apply(repo, place, base, commit)

    assert hub.git("rev-parse", "refs/prloom/runs/plan") == commit
    assert [each.path for each in snapshot.take(repo, place, base).paths] == ["begun", "done"]
    assert project.sha("feature") == base


def test_what_came_back_is_applied_once_and_nothing_is_left_of_the_run(
    project: Project, hub: Project, repo: Repository, place: Path, base: str
) -> None:
    receive(hub, repo, base, {"done": "y\n"})

    apply(repo, place, base, base)
    apply(repo, place, base, base)
    bundled_change.forget(repo, RUN)

    assert [each.path for each in snapshot.take(repo, place, base).paths] == ["done"]
    assert worktree.head(repo, place) == base
    assert project.git("for-each-ref", "refs/prloom") == ""


def test_a_worktree_that_was_changed_meanwhile_stays_as_it_is(
    hub: Project, repo: Repository, place: Path, base: str
) -> None:
    receive(hub, repo, base, {"done": "y\n"})
    (place / "mine").write_text("x\n")

    with pytest.raises(WorktreeChangedError, match=r"was changed while run .* was under way"):
        apply(repo, place, base, base)

    assert (place / "mine").read_text() == "x\n"
    assert not (place / "done").exists()


def test_an_application_that_was_stopped_is_ended_and_loses_nothing(
    project: Project, hub: Project, repo: Repository, place: Path, base: str
) -> None:
    receive(hub, repo, base, {"done": "y\n", "also": "z\n"})
    project.git("update-ref", f"refs/prloom/applying/{RUN}", base)
    (place / "also").write_text("z\n")
    (place / "mine").write_text("x\n")

    apply(repo, place, base, base)

    assert [each.path for each in snapshot.take(repo, place, base).paths] == ["also", "done"]
    kept = project.git("for-each-ref", "--format=%(objectname)", "refs/prloom/kept-refs")
    assert project.git("show", f"{kept}:mine") == "x"
