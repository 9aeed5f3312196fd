from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import checkout
from prloom.workspace.checkout import Checkout

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project


@pytest.fixture
def other(project: Project, tmp_path: Path) -> Checkout:
    """A worktree on `feature`."""
    project.git("worktree", "add", "--quiet", str(tmp_path / "other"), "feature")
    common = project.root / ".git"
    return Checkout(tmp_path / "other", common / "worktrees" / "other", common)


def main_of(project: Project) -> Checkout:
    return Checkout(project.root, project.root / ".git", project.root / ".git")


def test_a_checkout_is_known_by_its_git(project: Project, other: Checkout) -> None:
    assert checkout.at(project.root) == main_of(project)
    assert checkout.at(other.path) == other
    assert checkout.at(project.root / "src") is None
    assert checkout.enclosing(other.path / "src")[0] == other
    assert (main_of(project).linked, other.linked) == (False, True)


@pytest.mark.parametrize("text", ["", "gitdir: ", "gitdir: /nowhere", "nonsense", "gitdir: \0", "gitdir: .\n"])
def test_a_git_file_that_leads_nowhere_makes_no_checkout(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)

    assert checkout.at(tmp_path) is None


def test_the_head_is_read_without_starting_git(
    project: Project,
    other: Checkout,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shas = project.sha("main"), project.sha("feature")
    monkeypatch.setenv("PATH", "/nowhere")

    assert (checkout.head(main_of(project)), checkout.head(other)) == shas


def test_a_packed_head_is_read_without_starting_git(
    project: Project,
    other: Checkout,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project.commit({"x": "y"}, branch="feature-2")
    project.commit({"x": "z"}, branch="a/feature")
    sha = project.sha("feature")
    project.git("pack-refs", "--all")
    assert not (project.root / ".git" / "refs" / "heads" / "feature").exists()
    monkeypatch.setenv("PATH", "/nowhere")

    assert checkout.head(other) == sha


def test_a_branch_that_moved_after_packing_is_read_anew(project: Project, other: Checkout) -> None:
    project.git("pack-refs", "--all")

    assert checkout.head(other) != project.commit({"x": "y"}, branch="feature") == checkout.head(other)


def test_a_detached_head_is_read(project: Project, other: Checkout) -> None:
    project.git("checkout", "--quiet", "--detach", "main", cwd=other.path)

    assert checkout.head(other) == project.sha("main")
    assert checkout.branch(other) is None


def test_what_the_files_do_not_say_git_is_asked(project: Project, other: Checkout) -> None:
    project.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    project.git("symbolic-ref", "HEAD", "refs/heads/alias", cwd=other.path)

    assert checkout.head(other) == project.sha("main")


def test_where_the_refs_are_in_a_table_git_is_asked_for_the_branch(other: Checkout) -> None:
    (other.git_dir / "HEAD").write_text("ref: refs/heads/.invalid\n")

    with pytest.raises(WorkspaceError, match="git symbolic-ref failed"):  # this repository's refs are in files
        checkout.branch(other)


def test_a_head_without_a_commit_is_said(project: Project, tmp_path: Path) -> None:
    project.git("init", "--quiet", str(tmp_path / "new"))
    new = checkout.at(tmp_path / "new")
    assert new is not None

    with pytest.raises(WorkspaceError, match=r"new has no commit yet; create one first"):
        checkout.head(new)


def test_what_was_checked_out_last_is_known_after_its_branch_was_deleted(project: Project, other: Checkout) -> None:
    project.git("commit", "--quiet", "--allow-empty", "--message=x", cwd=other.path)
    made = checkout.head(other)
    project.git("update-ref", "-d", f"refs/heads/{checkout.branch(other)}", cwd=other.path)

    assert checkout.last_head(other) == made
    (other.git_dir / "logs" / "HEAD").unlink()
    assert checkout.last_head(other) is None


def test_a_ref_cannot_lead_out_of_the_repository(project: Project, other: Checkout, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")

    for ref in (f"{tmp_path}/secret", "refs/../../../secret"):
        (other.git_dir / "HEAD").write_text(f"ref: {ref}\n")
        with pytest.raises(WorkspaceError) as caught:
            checkout.head(other)
        assert "secret" not in str(caught.value)


def test_a_registered_worktree_is_found_by_its_place(project: Project, other: Checkout, tmp_path: Path) -> None:
    assert checkout.registered(project.root / ".git", other.path) == other
    assert checkout.registered(project.root / ".git", tmp_path / "nowhere") is None
    assert checkout.registered(project.root / ".git", project.root) is None
    assert checkout.linked(project.root / ".git") == (other,)


def test_the_repository_is_believed_and_not_the_worktrees_git_file(project: Project, other: Checkout) -> None:
    evil = other.path / "evil"
    project.git("init", "--quiet", "--bare", str(evil))
    (other.path / ".git").write_text(f"gitdir: {evil}\n")

    assert checkout.registered(project.root / ".git", other.path) == other


def test_a_worktree_may_be_registered_by_a_relative_path(project: Project, other: Checkout) -> None:
    (other.git_dir / "gitdir").write_text("../../../../other/.git\n")

    assert checkout.linked(project.root / ".git") == (other,)


def test_a_branch_is_held_where_it_is_checked_out(project: Project, other: Checkout) -> None:
    assert checkout.has_branch(other, "feature")
    assert not checkout.has_branch(other, "main")
    assert checkout.has_branch(main_of(project), "main")


def test_a_branch_is_held_while_it_is_rebased_or_bisected(project: Project, other: Checkout) -> None:
    for text in "abc":
        project.commit({"x": text}, branch="feature")
    project.git("reset", "--quiet", "--hard", cwd=other.path)

    project.git("bisect", "start", "feature", "main", cwd=other.path)
    assert checkout.branch(other) is None
    assert checkout.has_branch(other, "feature")
    project.git("bisect", "reset", cwd=other.path)

    project.git("-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "--quiet", "-i", "--root", cwd=other.path)
    assert checkout.branch(other) is None
    assert checkout.has_branch(other, "feature")


def test_a_lock_is_read_with_its_reason(project: Project, other: Checkout) -> None:
    assert checkout.locked(other) is None

    project.git("worktree", "lock", "--reason", "away", str(other.path))

    assert checkout.locked(other) == "away"
