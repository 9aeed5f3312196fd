"""A worker machine has a repository of its own, in which each run has a clone for as long as it lasts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import run_checkout, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository

RUN = "20261121T201532299Z-worker-1a2b3c4d"


@pytest.fixture
def machine(hub: Project, tmp_path: Path) -> Repository:
    return run_checkout.open_at(tmp_path / "machine", str(hub.root))


def test_a_run_gets_the_files_of_its_commit(hub: Project, machine: Repository) -> None:
    commit = hub.sha("feature")

    run_checkout.fetch(machine, commit)
    place = run_checkout.create(machine, RUN, commit)

    assert (place / "src/app.py").read_text() == "print(1)\n"
    assert snapshot.take(machine, place, commit).is_empty
    assert run_checkout.runs(machine) == (RUN,)


def test_a_commit_that_only_a_ref_of_prlooms_leads_to_is_fetched(
    project: Project, hub: Project, machine: Repository
) -> None:
    commit = project.commit({"a": "1\n"})
    project.git("push", "--quiet", str(hub.root), f"{commit}:refs/prloom/runs/plan")

    run_checkout.fetch(machine, commit, plan_ref="refs/prloom/runs/plan")

    assert (run_checkout.create(machine, RUN, commit) / "a").read_text() == "1\n"


def test_a_commit_that_the_remote_has_not_got_is_an_error(project: Project, machine: Repository) -> None:
    commit = project.commit({"a": "1\n"})

    with pytest.raises(WorkspaceError, match=f"commit {commit[:12]} cannot be fetched: "):
        run_checkout.fetch(machine, commit)


def test_a_repository_that_is_there_is_used_again_and_follows_the_address(
    hub: Project, machine: Repository, tmp_path: Path
) -> None:
    run_checkout.fetch(machine, hub.sha("feature"))
    hub.root.rename(tmp_path / "moved.git")

    again = run_checkout.open_at(tmp_path / "machine", str(tmp_path / "moved.git"))

    assert again == machine
    run_checkout.fetch(again, type(hub)(tmp_path / "moved.git").sha("main"))


def test_nothing_is_left_of_a_run(project: Project, hub: Project, machine: Repository) -> None:
    commit = hub.sha("feature")
    run_checkout.fetch(machine, commit)
    place = run_checkout.create(machine, RUN, commit)
    type(project)(place).git("commit", "--quiet", "--allow-empty", "-m", "an agent's own")
    (place / "new").write_text("x\n")
    (place / "closed").mkdir()
    (place / "closed/x").write_text("")
    (place / "closed").chmod(0o500)

    run_checkout.remove(machine, RUN)
    run_checkout.remove(machine, RUN)

    assert not place.exists()
    assert run_checkout.runs(machine) == ()
    assert type(project)(machine.root).git("for-each-ref") == ""
    assert os.listdir(machine.root.parent / "indexes") == []


def test_a_run_that_was_broken_off_here_begins_anew(hub: Project, machine: Repository) -> None:
    commit = hub.sha("feature")
    run_checkout.fetch(machine, commit)
    (run_checkout.create(machine, RUN, commit) / "left").write_text("x\n")

    place = run_checkout.create(machine, RUN, commit)

    assert snapshot.take(machine, place, commit).is_empty


def test_two_runs_do_not_see_each_other(hub: Project, machine: Repository) -> None:
    commit = hub.sha("feature")
    run_checkout.fetch(machine, commit)
    first, second = (run_checkout.create(machine, f"{RUN}{number}", commit) for number in (1, 2))

    (first / "new").write_text("x\n")
    run_checkout.remove(machine, f"{RUN}1")

    assert snapshot.take(machine, second, commit).is_empty


def test_what_a_branch_commits_in_prlooms_folder_is_not_written(
    project: Project, hub: Project, machine: Repository
) -> None:
    commit = project.commit({"prloom/.local/state.json": "{}"}, branch="evil")
    project.git("push", "--quiet", str(hub.root), "evil")
    run_checkout.fetch(machine, commit)

    with pytest.raises(WorkspaceError, match="where prloom keeps its own files"):
        run_checkout.create(machine, RUN, commit)

    assert run_checkout.runs(machine) == ()


@pytest.mark.parametrize("run", ["..", "a/b", "", "x\n"])
def test_an_id_that_is_none_of_a_run_is_no_path(hub: Project, machine: Repository, run: str) -> None:
    with pytest.raises(WorkspaceError, match="is not the id of a run"):
        run_checkout.create(machine, run, hub.sha("main"))
    with pytest.raises(WorkspaceError, match="is not the id of a run"):
        run_checkout.remove(machine, run)
