"""The change of a failed attempt is kept under a ref of prloom's own, and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.workspace import backup_refs, snapshot, trees, worktree

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from conftest import Project

    from prloom.workspace.repository import Repository


def test_a_change_is_kept_and_read_back(project: Project, repo: Repository, place: Path) -> None:
    base = worktree.create(repo, place, "feature")
    (place / "new").write_text("x\n")
    tree = snapshot.take(repo, place, base).tree

    made = backup_refs.save(repo, todo="t1", base=base, tree=tree)

    assert backup_refs.read(repo, "t1") == backup_refs.KeptChange(made, tree, base)
    assert project.git("rev-parse", "refs/prloom/kept/t1") == made
    assert [each.path for each in trees.changed(repo, base, made)] == ["new"]
    assert backup_refs.save(repo, todo="t1", base=base, tree=tree) == made


def test_what_was_kept_before_is_not_lost(project: Project, repo: Repository, place: Path) -> None:
    base = worktree.create(repo, place, "feature")
    first = backup_refs.save(repo, todo="t1", base=base, tree=snapshot.take(repo, place, base).tree)
    (place / "new").write_text("x\n")

    second = backup_refs.save(repo, todo="t1", base=base, tree=snapshot.take(repo, place, base).tree)

    assert project.git("merge-base", "--is-ancestor", first, second) == ""


def test_what_is_no_longer_needed_is_dropped(repo: Repository, place: Path) -> None:
    base = worktree.create(repo, place, "feature")
    backup_refs.save(repo, todo="t1", base=base, tree=snapshot.take(repo, place, base).tree)

    backup_refs.drop(repo, "t1")
    backup_refs.drop(repo, "t1")

    assert backup_refs.read(repo, "t1") is None


def test_it_needs_no_identity_of_the_operator(
    project: Project, repo: Repository, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = worktree.create(repo, place, "feature")
    project.git("config", "user.useConfigOnly", "true")
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        monkeypatch.delenv(f"GIT_{name}")

    backup_refs.save(repo, todo="t1", base=base, tree=snapshot.take(repo, place, base).tree)

    assert backup_refs.read(repo, "t1") is not None


def test_an_id_is_no_path(repo: Repository) -> None:
    assert backup_refs.ref("../heads/main") == "refs/prloom/kept/_heads_main"
    assert backup_refs.ref("") == "refs/prloom/kept/_"
