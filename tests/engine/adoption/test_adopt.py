"""Beginning to look after a branch: with real git."""

from __future__ import annotations

import json
import shutil

import pytest
from project import Project
from stage import Stage, said

from prloom.engine.adoption import adopt
from prloom.engine.bus import adopted
from prloom.errors import WorkspaceError
from prloom.model.plan import Plan
from prloom.workspace import repository


def adopted_as(
    project: Project, stage: Stage, branch: str, *, plan_id: str | None = None, preset: str | None = None
) -> Plan:
    repo = repository.find(project.root)
    return adopt.adopt_branch(repo, stage.config, branch, plan_id=plan_id, preset=preset, now=stage.clock())


def test_adopting_makes_a_worktree_a_plan_and_a_place_for_feedback(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)

    local = worktree / "prloom/.local"
    assert json.loads((local / "state.json").read_text())["branch"] == "work"
    assert "## ready" in (local / "review.md").read_text()
    assert (local / "plan.md").read_text().startswith("# work")
    assert project.git("status", "--porcelain", cwd=worktree) == ""
    assert project.git("status", "--porcelain") == ""


def test_a_plan_is_remembered_in_the_checkout_before_any_dispatcher_has_seen_it(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)

    shutil.rmtree(worktree)
    project.git("worktree", "prune")

    assert [each.plan.id for each in adopted.lost(git_stage.paths)] == ["work"]


def test_a_branch_is_adopted_once(project: Project, git_stage: Stage):
    project.adopt(git_stage)

    with pytest.raises(Exception, match="branch work already belongs to plan work; `prloom status work` shows it"):
        project.adopt(git_stage)


def test_a_plan_of_another_branch_keeps_its_id(project: Project, git_stage: Stage):
    project.adopt(git_stage)
    project.git("branch", "other")

    with pytest.raises(Exception, match="plan work already exists, for branch work; choose another --plan"):
        adopted_as(project, git_stage, "other", plan_id="work")


def test_a_plan_that_cannot_be_read_keeps_no_other_branch_from_being_adopted(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    (worktree / "prloom/.local/state.json").write_text("{")
    project.git("branch", "other")

    assert adopted_as(project, git_stage, "other").id == "other"


def test_an_adoption_that_was_cut_short_is_simply_done_again(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    (worktree / "prloom/.local/state.json").unlink()
    (worktree / "prloom/.local/review.md").write_text("mine\n")

    project.adopt(git_stage)

    assert (worktree / "prloom/.local/review.md").read_text() == "mine\n"
    assert (worktree / "prloom/.local/state.json").exists()


def test_a_branch_that_brings_prlooms_files_is_not_adopted(project: Project, git_stage: Stage):
    project.bring_prlooms_files()

    with pytest.raises(WorkspaceError, match=r"branch work contains the folder prloom/\.local"):
        project.adopt(git_stage)

    assert not git_stage.paths.worktree("work").exists()


def test_a_preset_that_is_not_configured_is_refused_before_anything_is_made(project: Project, git_stage: Stage):
    with pytest.raises(Exception, match="no preset hasty is configured"):
        adopted_as(project, git_stage, "work", preset="hasty")

    assert not git_stage.paths.worktree("work").exists()


async def test_a_plan_whose_state_is_damaged_is_mended_by_adopting_its_branch_again(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    await git_stage.take_in(said("a"), plan_id="work")
    state = worktree / "prloom/.local/state.json"
    state.write_text("{")

    project.adopt(git_stage)
    await git_stage.take_in(said("b"), plan_id="work")

    assert git_stage.triager.batches == [("a",), ("b",)]
    assert [file.name for file in state.parent.iterdir() if file.name.startswith("state.json.corrupt-")]


def test_a_link_in_the_place_of_a_plans_state_is_refused_and_not_replaced(project: Project, git_stage: Stage):
    worktree = project.adopt(git_stage)
    state = worktree / "prloom/.local/state.json"
    state.unlink()
    state.symlink_to("elsewhere")

    with pytest.raises(Exception, match=r"state\.json is a symbolic link"):
        project.adopt(git_stage)
