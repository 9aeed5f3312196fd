"""The change of a failed attempt is kept under a ref of prloom's own, and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prloom.workspace import backup_refs, snapshot, trees
from prloom.workspace.backup_refs import KeptTodo

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from conftest import Project

    from prloom.workspace.repository import Repository


T1 = KeptTodo("pa", "t1")


def test_a_change_is_kept_and_read_back(project: Project, repo: Repository, place: Path, base: str) -> None:
    (place / "new").write_text("x\n")
    tree = snapshot.take(repo, place, base).tree

    made = backup_refs.save(repo, T1, base=base, tree=tree)

    assert backup_refs.read(repo, T1) == backup_refs.KeptChange(made, tree, base, "refs/prloom/kept/t1.pa")
    assert project.git("rev-parse", "refs/prloom/kept/t1.pa") == made
    assert [each.path for each in trees.changed(repo, base, made)] == ["new"]
    assert backup_refs.save(repo, T1, base=base, tree=tree) == made


def test_what_was_kept_before_is_not_lost(project: Project, repo: Repository, place: Path, base: str) -> None:
    first = backup_refs.save(repo, T1, base=base, tree=snapshot.take(repo, place, base).tree)
    (place / "new").write_text("x\n")

    second = backup_refs.save(repo, T1, base=base, tree=snapshot.take(repo, place, base).tree)

    assert project.git("merge-base", "--is-ancestor", first, second) == ""


def test_the_change_of_another_plans_todo_of_the_same_id_stays(repo: Repository, place: Path, base: str) -> None:
    other = KeptTodo("pb", "t1")
    (place / "a").write_text("a\n")
    theirs = backup_refs.save(repo, T1, base=base, tree=snapshot.take(repo, place, base).tree)
    assert backup_refs.read(repo, other) is None

    (place / "b").write_text("b\n")
    ours = backup_refs.save(repo, other, base=base, tree=snapshot.take(repo, place, base).tree)

    kept, also = backup_refs.read(repo, T1), backup_refs.read(repo, other)
    assert (kept and kept.sha, also and also.sha) == (theirs, ours)
    backup_refs.drop(repo, T1)
    assert backup_refs.read(repo, T1) is None
    assert backup_refs.read(repo, other) == also
    assert backup_refs.save(repo, other, base=base, tree=snapshot.take(repo, place, base).tree) == ours
    for _ in range(2):
        backup_refs.drop(repo, other)
        assert backup_refs.read(repo, other) is None


def test_what_an_earlier_version_kept_is_read_by_the_plan_that_asks(project: Project, repo: Repository, base: str):
    made = project.git(
        "commit-tree", "-p", base, "-m", "The change of TODO t1, which was not committed", f"{base}^{{tree}}"
    )
    project.git("update-ref", "refs/prloom/kept/t1", made)

    found = backup_refs.read(repo, T1)

    assert found is not None
    assert found.sha == made
    saved = backup_refs.save(repo, T1, base=base, tree=found.tree)
    assert saved == made
    backup_refs.drop(repo, T1)
    assert backup_refs.read(repo, T1) is None


def test_it_needs_no_identity_of_the_operator(
    project: Project, repo: Repository, place: Path, monkeypatch: pytest.MonkeyPatch, base: str
) -> None:
    project.git("config", "user.useConfigOnly", "true")
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        monkeypatch.delenv(f"GIT_{name}")

    backup_refs.save(repo, T1, base=base, tree=snapshot.take(repo, place, base).tree)

    assert backup_refs.read(repo, T1) is not None


def test_an_id_is_no_path(repo: Repository) -> None:
    assert KeptTodo("../p", "../heads/main").ref == "refs/prloom/kept/_heads_main._p"
    assert KeptTodo("p", "").ref == "refs/prloom/kept/_.p"
