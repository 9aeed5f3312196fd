"""Finding the checkout that prloom works for: one for each repository, and never a plan's worktree."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import git_folder
import layouts
import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import repository, root, worktree

OUTSIDE = "trees/work"
BELOW = "prloom/.local/worktrees/work"


@pytest.fixture(params=layouts.ALL.values(), ids=layouts.ALL)
def checkout(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The checkout of a repository in each of the layouts, with prloom at work in it."""
    made: Path = request.param(tmp_path)
    root.claim(root.find(made))
    return made


@pytest.fixture
def separate(tmp_path: Path) -> Path:
    return layouts.separate(tmp_path)


def a_plan(checkout: Path, place: Path) -> Path:
    """Make a plan's worktree, with its state, and return it."""
    worktree.create(repository.find(checkout), place, "work")
    (place / "prloom" / ".local").mkdir(parents=True)
    (place / "prloom" / ".local" / "state.json").write_text("{}")
    return place


def test_in_any_layout_the_checkout_is_found_from_within(checkout: Path) -> None:
    assert root.find(checkout).path == checkout
    assert root.find(checkout / "src").path == checkout


def test_in_any_layout_another_worktree_leads_to_the_same_checkout(checkout: Path, tmp_path: Path) -> None:
    layouts.git(checkout, "worktree", "add", "--quiet", str(tmp_path / "linked"), "work")

    assert root.find(tmp_path / "linked" / "src").path == checkout


@pytest.mark.parametrize("place", [OUTSIDE, BELOW])
def test_in_any_layout_a_plans_worktree_leads_to_the_checkout(checkout: Path, tmp_path: Path, place: str) -> None:
    plan = a_plan(checkout, (checkout if place == BELOW else tmp_path) / place)

    assert root.find(plan / "src").path == checkout

    shutil.rmtree(plan / "prloom")

    assert root.find(plan).path == checkout


def test_a_repository_within_a_plans_worktree_is_the_pull_requests_too(checkout: Path) -> None:
    plan = a_plan(checkout, checkout / BELOW)
    git_folder.make(plan / "lib" / ".git")

    assert root.find(plan / "lib").path == checkout


def test_a_plans_worktree_whose_git_file_was_rewritten_is_no_checkout(checkout: Path, tmp_path: Path) -> None:
    plan, elsewhere = a_plan(checkout, checkout / BELOW), tmp_path / "elsewhere"
    plan.rename(elsewhere)
    for each in (elsewhere, checkout / BELOW):
        each.mkdir(exist_ok=True)
        (each / ".git").unlink(missing_ok=True)
        git_folder.make(each / ".git")

    assert root.find(checkout / BELOW).path == checkout
    with pytest.raises(WorkspaceError, match="elsewhere is the worktree of a plan, and git does not say"):
        root.find(elsewhere)


def test_without_a_checkout_that_was_noted_a_plans_worktree_is_refused(tmp_path: Path) -> None:
    made = layouts.worktree_of_a_bare_clone(tmp_path)
    plan = a_plan(made, tmp_path / OUTSIDE)

    with pytest.raises(WorkspaceError) as caught:
        root.find(plan)

    assert str(caught.value) == (
        f"{plan} is the worktree of a plan, and git does not say to which checkout it belongs; "
        "run prloom in the checkout that you work in"
    )


def test_where_git_does_not_say_it_and_nothing_was_noted_one_is_told_to_begin_there(
    separate: Path, tmp_path: Path
) -> None:
    layouts.git(separate, "worktree", "add", "--quiet", str(tmp_path / "linked"), "work")

    with pytest.raises(WorkspaceError) as caught:
        root.find(tmp_path / "linked")

    assert str(caught.value) == (
        f"git does not say where the main checkout of {tmp_path / 'store'} is; run `prloom init` there first"
    )


def test_the_first_worktree_of_a_bare_clone_that_is_used_is_the_one(tmp_path: Path) -> None:
    first = layouts.worktree_of_a_bare_clone(tmp_path)
    layouts.git(tmp_path / "bare.git", "worktree", "add", "--quiet", "../second", "work")
    before = root.find(tmp_path / "second")
    assert before.path == tmp_path / "second"

    root.claim(root.find(first))

    assert root.find(tmp_path / "second").path == first
    with pytest.raises(WorkspaceError) as caught:
        root.claim(before)
    assert str(caught.value) == f"prloom works in {first} for this repository; run it again"


def test_a_checkout_that_was_noted_and_is_gone_makes_room_for_another(tmp_path: Path) -> None:
    first = layouts.worktree_of_a_bare_clone(tmp_path)
    root.claim(root.find(first))
    layouts.git(tmp_path / "bare.git", "worktree", "add", "--quiet", "../second", "work")
    layouts.git(tmp_path / "bare.git", "worktree", "remove", str(first))

    found = root.find(tmp_path / "second")
    root.claim(found)

    assert found.path == root.find(tmp_path / "second").path == tmp_path / "second"


def test_a_worktree_in_which_an_earlier_version_worked_is_found(tmp_path: Path) -> None:
    first = layouts.worktree_of_a_bare_clone(tmp_path)
    layouts.git(tmp_path / "bare.git", "worktree", "add", "--quiet", "../second", "work")
    (first / "prloom" / ".local" / "bus").mkdir(parents=True)

    assert root.find(tmp_path / "second").path == first


def test_a_worktree_that_the_configuration_names_is_the_main_checkout(separate: Path, tmp_path: Path) -> None:
    layouts.git(separate, "config", "core.worktree", "../work")
    layouts.git(separate, "config", "extensions.worktreeConfig", "true")
    layouts.git(separate, "worktree", "add", "--quiet", str(tmp_path / "linked"), "work")

    assert root.find(separate / "src").path == separate
    assert root.find(tmp_path / "linked").path == separate

    separate.rename(tmp_path / "moved")

    with pytest.raises(
        WorkspaceError, match=r"the main checkout of this repository should be in .*work, but is not there"
    ):
        root.find(tmp_path / "linked")
    with pytest.raises(
        WorkspaceError, match=r"the main checkout of this repository should be in .*work, but is not there"
    ):
        root.find(tmp_path / "moved")


@pytest.mark.parametrize("line", ["bare = true", "BARE=yes", "bare", "bare = 1 ; really"])
def test_a_repository_is_bare_however_the_configuration_says_so(tmp_path: Path, line: str) -> None:
    made = layouts.plain(tmp_path)
    (made / ".git" / "config").write_text(f"[core]\n\t{line}\n")

    with pytest.raises(WorkspaceError, match=f"{made} is a bare repository; run prloom in a checkout of it"):
        root.find(made)


def test_a_checkout_whose_path_is_no_text_is_refused(tmp_path: Path) -> None:
    made = tmp_path / os.fsdecode(b"app\xff")
    git_folder.make(made / ".git")

    with pytest.raises(WorkspaceError, match=r"app\\udcff is not valid UTF-8; rename that folder and try again"):
        root.find(made)


def test_a_branch_that_is_called_as_the_settings_changes_nothing(tmp_path: Path) -> None:
    made = layouts.plain(tmp_path)
    for name in ("worktree", "bare"):
        layouts.git(made, "config", f"branch.{name}.remote", "origin")

    assert root.find(made).path == made


def test_an_empty_git_folder_is_no_repository(tmp_path: Path) -> None:
    made = layouts.plain(tmp_path)
    (made / "src" / ".git").mkdir()
    (tmp_path / "other" / "deep" / ".git").mkdir(parents=True)

    assert root.find(made / "src").path == made
    with pytest.raises(WorkspaceError) as caught:
        root.find(tmp_path / "other" / "deep")
    assert str(caught.value) == (
        f"no git repository at {tmp_path}/other/deep or above; go into one, or name it with `prloom -C PATH`"
    )


def test_a_ceiling_is_respected_as_git_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = layouts.plain(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", f"/nowhere:{made}")

    assert root.find(made).path == made
    with pytest.raises(WorkspaceError, match="no git repository at"):
        root.find(made / "src")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_repository_of_another_user_is_for_git_to_refuse(tmp_path: Path) -> None:
    made = layouts.plain(tmp_path)
    os.chown(made / ".git", 12345, -1)
    os.chown(made, 12345, -1)

    with pytest.raises(WorkspaceError, match="dubious ownership"):
        root.find(made)
