"""The remote keeps a commit that a run on another machine needs, and forgets it afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import run_refs, snapshot, trees, worktree

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository


def test_a_pushed_commit_is_known_to_be_at_the_remote(project: Project, hub: Project, repo: Repository) -> None:
    pushed, unpushed = project.sha("feature"), project.commit({"a": "1\n"})

    assert hub.sha("feature") == pushed
    assert run_refs.is_at_remote(repo, pushed)
    assert not run_refs.is_at_remote(repo, unpushed)


def test_a_commit_is_kept_and_forgotten_and_no_branch_is_touched(
    project: Project, hub: Project, repo: Repository
) -> None:
    before = hub.git("for-each-ref")
    first, second = project.commit({"a": "1\n"}), project.commit({"a": "2\n"})

    run_refs.publish(repo, run_refs.ref("plan"), first)
    assert hub.git("rev-parse", "refs/prloom/runs/plan") == first
    run_refs.publish(repo, run_refs.ref("plan"), second)
    run_refs.publish(repo, run_refs.ref("plan"), second)
    assert hub.git("rev-parse", "refs/prloom/runs/plan") == second
    run_refs.withdraw(repo, run_refs.ref("plan"))
    run_refs.withdraw(repo, run_refs.ref("plan"))

    assert hub.git("for-each-ref") == before


def test_a_plans_name_is_no_way_to_another_ref(project: Project, hub: Project, repo: Repository) -> None:
    run_refs.publish(repo, run_refs.ref("../../heads/x y"), project.sha("feature"))

    assert hub.git("for-each-ref", "--format=%(refname)", "refs/prloom") == "refs/prloom/runs/_heads_x_y"


def test_the_changes_of_a_failed_attempt_are_one_commit(repo: Repository, place: Path) -> None:
    base = worktree.create(repo, place, "feature")
    (place / "new").write_text("x\n")
    tree = snapshot.take(repo, place, base).tree

    made = run_refs.commit_tree(repo, base=base, tree=tree)

    assert [each.path for each in trees.changed(repo, base, made)] == ["new"]
    assert run_refs.commit_tree(repo, base=base, tree=tree) == made


def test_a_remote_that_does_not_take_it_says_why(project: Project, hub: Project, repo: Repository) -> None:
    hub.git("config", "transfer.hideRefs", "refs/prloom")

    with pytest.raises(WorkspaceError, match="origin does not keep what a run on another machine needs"):
        run_refs.publish(repo, run_refs.ref("plan"), project.commit({"a": "1\n"}))


def test_runs_beside_the_worker_have_refs_of_their_own(project: Project, hub: Project, repo: Repository) -> None:
    first, second = project.commit({"a": "1\n"}), project.commit({"a": "2\n"})

    run_refs.publish(repo, run_refs.ref("plan"), first)
    run_refs.publish(repo, run_refs.ref("plan", "run-1"), second)

    assert hub.git("rev-parse", "refs/prloom/runs/plan", "refs/prloom/runs/plan+run-1").split() == [first, second]
