"""What a worker has changed, as a tree: everything that git does not ignore, whatever the worker did to hide it."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import snapshot, trees, worktree
from prloom.workspace.snapshot import ChangedPath, WorktreeSnapshot

if TYPE_CHECKING:
    from conftest import Project

    from prloom.workspace.repository import Repository


def taken(repo: Repository, place: Path, base: str, **options: object) -> WorktreeSnapshot:
    return snapshot.take(repo, place, base, **options)  # type: ignore[arg-type]


def named(found: WorktreeSnapshot) -> list[tuple[str, str]]:
    return [(each.path, each.status) for each in found.paths]


def in_tree(project: Project, tree: str) -> set[str]:
    return set(filter(None, project.git("ls-tree", "-r", "-z", "--name-only", tree).split("\0")))


def test_a_worktree_that_nobody_touched_has_the_tree_of_its_commit(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    found = taken(repo, place, base)

    assert found.is_empty
    assert found.tree == project.git("rev-parse", f"{base}^{{tree}}")
    assert found.lines == 0


def test_a_change_is_what_was_added_modified_and_deleted(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    (place / "new").mkdir()
    (place / "new" / "file").write_text("one\ntwo\n")
    (place / "src" / "app.py").write_text("print(2)\n")
    (place / "README.md").unlink()

    found = taken(repo, place, base)

    assert found.paths == (
        ChangedPath("README.md", "deleted", 0, 0),
        ChangedPath("new/file", "added", 0o100644, 8),
        ChangedPath("src/app.py", "modified", 0o100755, 9),
    )
    assert found.lines == 5
    assert in_tree(project, found.tree) == {"new/file", "src/app.py"}


def test_neither_the_files_nor_the_index_of_the_worktree_are_changed(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    (place / "staged").write_text("x\n")
    project.git("add", "staged", cwd=place)
    (place / "src" / "app.py").write_text("print(2)\n")
    index = Path(project.git("rev-parse", "--path-format=absolute", "--git-path", "index", cwd=place))
    before = index.read_bytes()

    taken(repo, place, base)

    assert index.read_bytes() == before
    assert set(project.git("status", "--short", cwd=place).splitlines()) == {"M src/app.py", "A  staged"}


def test_what_git_ignores_and_junk_and_prlooms_own_files_are_no_change(
    repo: Repository, place: Path, base: str
) -> None:
    for path in (
        "log/x.log",
        "a/b/__pycache__/x.pyc",
        "web/node_modules/left/index.js",
        ".env",
        "prloom/.local/plan.md",
    ):
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text("x\n")
    (place / ".gitignore").write_text("*.log\n!prloom/.local/\n")

    assert named(taken(repo, place, base)) == [(".gitignore", "added")]


def test_a_file_that_was_committed_is_part_of_the_change_even_if_junk_matches_it(
    project: Project, repo: Repository, place: Path
) -> None:
    base = project.commit({"node_modules/kept.js": "1\n", ".env": "A=1\n"}, branch="feature")
    worktree.create(repo, place, "feature")
    (place / "node_modules" / "kept.js").write_text("2\n")
    (place / "node_modules" / "new.js").write_text("2\n")
    (place / ".env").unlink()

    found = taken(repo, place, base)

    assert named(found) == [(".env", "deleted"), ("node_modules/kept.js", "modified")]


def test_flags_in_the_index_hide_nothing(project: Project, repo: Repository, place: Path, base: str) -> None:
    project.git("update-index", "--assume-unchanged", "README.md", cwd=place)
    project.git("update-index", "--skip-worktree", "src/app.py", cwd=place)
    (place / "README.md").write_text("changed\n")
    (place / "src" / "app.py").write_text("changed\n")

    assert named(taken(repo, place, base)) == [("README.md", "modified"), ("src/app.py", "modified")]


def test_an_index_that_an_agent_has_broken_does_not_matter(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    Path(project.git("rev-parse", "--path-format=absolute", "--git-path", "index", cwd=place)).write_bytes(b"broken")
    (place / "new").write_text("x\n")

    assert named(taken(repo, place, base)) == [("new", "added")]


def test_what_a_sparse_checkout_leaves_out_is_not_deleted(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    project.git("sparse-checkout", "set", "--no-cone", "/src/", cwd=place)
    assert not (place / "README.md").exists()
    (place / "src" / "new.py").write_text("x\n")

    assert named(taken(repo, place, base)) == [("src/new.py", "added")]


@pytest.mark.parametrize(
    "name", ["a\nb", "tab\there", b"latin-\xe9".decode("utf-8", "surrogateescape"), "-rf", "ünï", ' "q']
)
def test_any_name_that_a_file_may_have_is_kept(
    project: Project, repo: Repository, place: Path, base: str, name: str
) -> None:
    (place / name).write_text("x\n")

    found = taken(repo, place, base)

    assert named(found) == [(name, "added")]
    assert [each.path for each in trees.changed(repo, base, found.tree)] == [name]


@pytest.mark.parametrize("name", [".GIT", "x/.Git", "git~1", ".g\u200cit"])
def test_a_name_that_git_refuses_is_reported(repo: Repository, place: Path, base: str, name: str) -> None:
    (place / name / "hooks").mkdir(parents=True)
    (place / name / "hooks" / "x").write_text("x\n")

    found = taken(repo, place, base)

    assert [(each.path, each.problem) for each in found.paths] == [(f"{name}/hooks/x", "refused")]


def test_a_symbolic_link_is_kept_with_its_target_and_not_followed(
    project: Project, repo: Repository, place: Path, base: str, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("x\n")
    (place / "link").symlink_to(tmp_path / "outside")

    found = taken(repo, place, base)

    assert found.paths == (
        ChangedPath("link", "added", 0o120000, len(str(tmp_path / "outside")), str(tmp_path / "outside")),
    )
    assert found.links == {"link": str(tmp_path / "outside")}


def test_a_folder_replaced_by_a_link_leaves_none_of_its_files(
    project: Project, repo: Repository, place: Path, base: str, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "app.py").write_text("other\n")
    (place / "src" / "app.py").unlink()
    (place / "src").rmdir()
    (place / "src").symlink_to(tmp_path / "outside")

    found = taken(repo, place, base)

    assert named(found) == [("src", "added"), ("src/app.py", "deleted")]
    assert in_tree(project, found.tree) == {"README.md", "src"}


def test_a_file_replaced_by_a_folder_and_the_reverse(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    (place / "README.md").unlink()
    (place / "README.md").mkdir()
    (place / "README.md" / "part").write_text("x\n")
    (place / "src" / "app.py").unlink()
    (place / "src").rmdir()
    (place / "src").write_text("x\n")

    found = taken(repo, place, base)

    assert in_tree(project, found.tree) == {"README.md/part", "src"}


def objects(project: Project) -> int:
    return sum(len(files) for _, _, files in os.walk(project.root / ".git" / "objects"))


def test_a_file_that_is_too_big_is_reported_and_not_stored(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    (place / "big").write_text("x" * 1001)
    (place / "src" / "app.py").write_text("x" * 1002)
    before = objects(project)

    found = taken(repo, place, base, max_file=1000)

    assert found.paths == (
        ChangedPath("big", "added", 0o100644, 1001, problem="too_big"),
        ChangedPath("src/app.py", "modified", 0o100755, 1002, problem="too_big"),
    )
    assert found.tree == project.git("rev-parse", f"{base}^{{tree}}")
    assert objects(project) == before


def test_a_big_file_that_was_committed_before_is_no_change(project: Project, repo: Repository, place: Path) -> None:
    base = project.commit({"big": "x\n" * 1000, ".gitattributes": "big eol=crlf\n"}, branch="feature")
    worktree.create(repo, place, "feature")

    assert taken(repo, place, base, max_file=1000).is_empty


def test_a_repository_within_the_worktree_is_reported_as_one(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    project.git("init", "--quiet", "inner", cwd=place)
    (place / "inner" / "file").write_text("x\n")

    found = taken(repo, place, base)

    assert found.paths == (ChangedPath("inner", "added", 0o160000, 0),)
    assert found.tree == project.git("rev-parse", f"{base}^{{tree}}")


def test_a_file_replaced_by_a_repository_is_reported(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    (place / "README.md").unlink()
    project.git("init", "--quiet", "README.md", cwd=place)
    project.git("commit", "--quiet", "--allow-empty", "--message=x", cwd=place / "README.md")

    assert ("README.md", 0o160000) in [(each.path, each.mode) for each in taken(repo, place, base).paths]


def a_submodule(project: Project, repo: Repository, place: Path) -> str:
    """Commit a submodule `lib` on the branch, check the branch out, and return its commit."""
    project.git("update-index", "--add", "--cacheinfo", f"160000,{project.sha('main')},lib")
    tree = project.git("write-tree")
    project.git("reset", "--quiet", "--hard")
    project.git("update-ref", "refs/heads/feature", project.git("commit-tree", "-m", "x", "-p", "main", tree))
    return worktree.create(repo, place, "feature")


def test_a_submodule_that_was_not_checked_out_is_no_change(project: Project, repo: Repository, place: Path) -> None:
    base = a_submodule(project, repo, place)

    assert taken(repo, place, base).is_empty


def test_a_submodule_that_was_moved_or_removed_is_a_change(project: Project, repo: Repository, place: Path) -> None:
    base = a_submodule(project, repo, place)
    (place / "lib").rmdir()
    assert named(taken(repo, place, base)) == [("lib", "deleted")]

    project.git("init", "--quiet", "lib", cwd=place)
    project.git("commit", "--quiet", "--allow-empty", "--message=x", cwd=place / "lib")

    assert [(each.path, each.mode) for each in taken(repo, place, base).paths] == [("lib", 0o160000)]


def test_what_is_no_file_is_reported_where_it_replaces_one(repo: Repository, place: Path, base: str) -> None:
    (place / "README.md").unlink()
    os.mkfifo(place / "README.md")
    os.mkfifo(place / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(place)
        made.bind("socket")

    assert [(each.path, each.problem) for each in taken(repo, place, base).paths] == [("README.md", "special")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_reported(repo: Repository, place: Path, base: str) -> None:
    (place / "locked").write_text("x\n")
    (place / "locked").chmod(0)

    assert [(each.path, each.problem) for each in taken(repo, place, base).paths] == [("locked", "unreadable")]


def test_no_filter_of_the_configuration_runs(
    project: Project, repo: Repository, place: Path, base: str, tmp_path: Path
) -> None:
    project.git("config", "filter.x.clean", f"touch {tmp_path}/ran; cat")
    project.git("config", "core.fsmonitor", f"touch {tmp_path}/ran")
    (place / ".gitattributes").write_text("* filter=x\n")
    (place / "new").write_text("x\n")

    found = taken(repo, place, base)

    assert project.git("cat-file", "blob", f"{found.tree}:new") == "x"
    assert not (tmp_path / "ran").exists()


def test_the_git_file_of_the_worktree_does_not_count(
    project: Project, repo: Repository, place: Path, base: str, tmp_path: Path
) -> None:
    (place / ".git").unlink()
    project.git("init", "--quiet", cwd=place)
    project.git("config", "core.fsmonitor", f"touch {tmp_path}/ran", cwd=place)
    (place / "new").write_text("x\n")

    assert named(taken(repo, place, base)) == [("new", "added")]
    assert not (tmp_path / "ran").exists()


def test_a_file_made_executable_is_a_change(repo: Repository, place: Path, base: str) -> None:
    (place / "new.sh").write_text("x\n")
    (place / "new.sh").chmod(0o755)
    (place / "src" / "app.py").chmod(0o644)

    assert [(each.path, stat.S_IMODE(each.mode)) for each in taken(repo, place, base).paths] == [
        ("new.sh", 0o755),
        ("src/app.py", 0o644),
    ]


def test_a_folder_that_is_no_worktree_is_refused(repo: Repository, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="is not a worktree of"):
        snapshot.take(repo, tmp_path, "HEAD")
