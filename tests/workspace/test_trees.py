"""Differences between trees are shown as they are, whatever a branch's attributes and git's configuration say."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from prloom.workspace import backup_refs, repository, snapshot, trees, worktree
from prloom.workspace.backup_refs import KeptTodo
from prloom.workspace.trees import TreeChange, TreeFile

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository


def test_the_files_of_a_tree_have_their_whole_paths(project: Project, repo: Repository) -> None:
    sha = project.commit({"a/b": "x\n"}, branch="new", links={"a/link": "b"})
    found = {each.path: each for each in trees.files(repo, sha)}

    assert found["a/link"].mode == trees.LINK
    assert found["a/b"] == TreeFile("a/b", 0o100755, project.git("rev-parse", f"{sha}:a/b"))
    assert trees.link_targets(repo, sha) == {"a/link": "b"}


def test_a_renamed_file_is_one_that_went_and_one_that_came(project: Project, repo: Repository) -> None:
    old = project.commit({"old": "the same\n" * 9}, branch="old")
    project.git("mv", "README.md", "new")
    tree = project.git("write-tree")
    project.git("reset", "--quiet", "--hard")

    assert trees.changed(repo, "main", tree) == (
        TreeChange("README.md", "deleted", 0o100755, 0, 0),
        TreeChange("new", "added", 0, 0o100755, 6),
    )
    assert trees.changed(repo, old, old) == ()


def test_attributes_and_drivers_of_a_branch_hide_nothing(project: Project, repo: Repository, tmp_path: Path) -> None:
    for attributes in (project.root / ".gitattributes", project.root / ".git" / "info" / "attributes"):
        attributes.parent.mkdir(exist_ok=True)
    (project.root / ".gitattributes").write_text("* binary diff=x\n")
    for key in ("diff.external", "diff.x.command", "diff.x.textconv"):
        project.git("config", key, f"touch {tmp_path}/ran; true")
    sha = project.commit({"evil.py": "evil()\n", ".gitattributes": "* binary diff=x -text\n"}, branch="new")

    assert "+evil()" in trees.diff_text(repo, "main", sha, limit_bytes=10_000)
    assert trees.difference(repo, "main", sha).lines == 2
    assert trees.added_texts(repo, "main", sha)["evil.py"] == "evil()"
    assert not (tmp_path / "ran").exists()


def test_settings_of_the_operator_do_not_change_the_form(project: Project, repo: Repository) -> None:
    for key, value in (
        ("diff.noprefix", "true"),
        ("diff.context", "0"),
        ("color.ui", "always"),
        ("diff.renames", "true"),
    ):
        project.git("config", key, value)
    sha = project.commit({"src/app.py": "print(3)\n"}, branch="new")

    assert (
        trees.diff_text(repo, "main", sha, limit_bytes=10_000).splitlines()[0] == "diff --git a/src/app.py b/src/app.py"
    )


def test_a_long_difference_is_cut_and_says_so(project: Project, repo: Repository) -> None:
    sha = project.commit({"big": "x\n" * 10_000}, branch="new")

    shown = trees.diff_text(repo, "main", sha, limit_bytes=1_000)

    assert len(shown) < 1_100
    assert shown.endswith(" more bytes are not shown\n")


def commit_bytes(project: Project, files: dict[bytes, bytes]) -> str:
    """Commit files with any names and contents on a branch of their own."""
    told = b"commit refs/heads/bytes\ncommitter A <a@b> 1 +0000\ndata 1\nx\nfrom refs/heads/main\n"
    for path, content in files.items():
        quoted = b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
        told += b"M 100644 inline %s\ndata %d\n%s\n" % (quoted, len(content), content)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=project.root, input=told, check=True)
    return project.sha("bytes")


def test_what_is_added_belongs_to_its_path_whatever_names_and_contents_are(project: Project, repo: Repository) -> None:
    files = {
        b"a\nb": b"one\n",
        b"c\xff": b"two\n",
        b"binary": b"\0three\n",
        b"d": b"diff --git a/x b/x\n+++ b/x\nfour",
        b"e": b"",
        b"f": b"five\r\nsix\r",
    }
    sha = commit_bytes(project, files)

    added = trees.added_texts(repo, "main", sha)

    assert added == {
        "a\nb": "one",
        "c\udcff": "two",
        "binary": "\0three",
        "d": "diff --git a/x b/x\n+++ b/x\nfour",
        "e": "",
        "f": "five\r\nsix\r",
    }


def test_a_file_that_became_a_link_adds_what_the_link_says(project: Project, repo: Repository) -> None:
    old = project.commit({"a": "text\n", "b": "text\n"}, branch="old")
    project.git("update-ref", "refs/heads/new", old)
    new = project.commit({"b": "changed\n"}, branch="new", links={"a": "b"})

    added = trees.added_texts(repo, old, new)

    assert added == {"a": "b", "b": "changed"}


def test_a_repository_with_longer_ids_is_read_too(project: Project, tmp_path: Path) -> None:
    made = type(project)(tmp_path / "sha256")
    made.root.mkdir()
    made.git("init", "--quiet", "--object-format=sha256", "--initial-branch=main")
    made.commit({"a": "1\n"})
    made.git("branch", "plan")
    repo, place = repository.find(made.root), tmp_path / "plan"
    base = worktree.create(repo, place, "plan")
    (place / "a").write_text("2\n")

    found = snapshot.take(repo, place, base)
    saved = backup_refs.save(repo, KeptTodo("p", "t1"), base=base, tree=found.tree)

    assert [each.path for each in found.paths] == ["a"]
    assert backup_refs.read(repo, KeptTodo("p", "t1")) == backup_refs.KeptChange(
        saved, found.tree, base, "refs/prloom/kept/t1.p"
    )
