"""A commit travels as a git bundle; whatever else a bundle holds, or is, nothing of it is used."""

from __future__ import annotations

import hashlib
import subprocess
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prloom.workspace import bundle, commits, repository, snapshot, trees, worktree
from prloom.workspace.bundle import BundleError, Received
from prloom.workspace.git_errors import GitSystemError
from prloom.workspace.repository import Repository

if TYPE_CHECKING:
    from conftest import Project

RUN = "20261121T201532299Z-worker-1a2b3c4d"


@pytest.fixture
def other(project: Project, tmp_path: Path) -> Project:
    """A clone of the project on another machine."""
    project.git("clone", "--quiet", str(project.root), str(tmp_path / "other"))
    return type(project)(tmp_path / "other")


@pytest.fixture
def base(project: Project) -> str:
    return project.sha("main")


def bundle_of(other: Project, *argv: str) -> bytes:
    return subprocess.run(
        ["git", "bundle", "create", "-", *argv], cwd=other.root, check=True, capture_output=True
    ).stdout


def under(other: Project, commit: str, run: str = RUN) -> str:
    """Have a ref of the run lead to a commit, and return the ref."""
    other.git("update-ref", f"refs/prloom/runs/{run}", commit)
    return f"refs/prloom/runs/{run}"


def refuse(repo: Repository, content: bytes, base: str, text: str) -> None:
    with pytest.raises(BundleError, match=text):
        bundle.receive(repo, content, run=RUN, parent=base)
    assert bundle.find(repo, RUN) is None


def test_a_commit_that_was_made_elsewhere_arrives(
    project: Project, other: Project, repo: Repository, base: str
) -> None:
    there = repository.find(other.root)
    commit = other.commit({"new.txt": "x\n"})

    content = bundle.create(there, run=RUN, parent=base, commit=commit)
    received = bundle.receive(repo, content, run=RUN, parent=base)

    assert received == Received(commit, project.git("rev-parse", f"{commit}^{{tree}}"))
    assert bundle.find(repo, RUN) == received == bundle.receive(repo, content, run=RUN, parent=base)
    assert [each.path for each in trees.changed(repo, base, received.tree)] == ["new.txt"]
    assert other.git("for-each-ref", "refs/prloom") == ""


def test_what_was_received_can_be_forgotten(project: Project, other: Project, repo: Repository, base: str) -> None:
    content = bundle.create(repository.find(other.root), run=RUN, parent=base, commit=other.commit({"a": "1\n"}))
    bundle.receive(repo, content, run=RUN, parent=base)

    bundle.drop(repo, RUN)
    bundle.drop(repo, RUN)

    assert bundle.find(repo, RUN) is None
    assert project.git("for-each-ref", "refs/prloom") == ""


def test_a_bundle_over_the_limit_is_neither_made_nor_taken(other: Project, repo: Repository, base: str) -> None:
    there, commit = repository.find(other.root), other.commit({"a": "1\n"})

    with pytest.raises(BundleError, match="bytes, over the limit of 100"):
        bundle.create(there, run=RUN, parent=base, commit=commit, most_bytes=100)
    content = bundle.create(there, run=RUN, parent=base, commit=commit)
    with pytest.raises(BundleError, match=f"the bundle of run {RUN} has .* bytes, over the limit of 100"):
        bundle.receive(repo, content, run=RUN, parent=base, most_bytes=100)


@pytest.mark.parametrize("content", [b"", b"garbage", b"# v2 git bundle\n", b"# v9 git bundle\n\n", b"\0" * 9000])
def test_what_is_no_bundle_is_refused(repo: Repository, base: str, content: bytes) -> None:
    refuse(repo, content, base, "is not a git bundle with one commit")


@pytest.mark.parametrize("asked", ["@filter=blob:none", "@object-format=sha256 ", "@unknown"])
def test_a_filter_and_the_like_are_not_allowed(other: Project, repo: Repository, base: str, asked: str) -> None:
    content = bundle_of(other, under(other, other.commit({"a": "1\n"})), f"^{base}")
    third = content.replace(b"# v2 git bundle\n", f"# v3 git bundle\n{asked}\n".encode(), 1)

    refuse(repo, third, base, "asks for @.*, which is not allowed")


def test_further_refs_are_refused(other: Project, repo: Repository, base: str) -> None:
    commit = other.commit({"a": "1\n"})
    other.git("branch", "evil", commit)

    refuse(repo, bundle_of(other, under(other, commit), "evil", f"^{base}"), base, "holds 2 refs")


def test_another_ref_is_refused(project: Project, other: Project, repo: Repository, base: str) -> None:
    other.git("branch", "evil", other.commit({"a": "1\n"}))

    refuse(repo, bundle_of(other, "evil", f"^{base}"), base, f"holds refs/heads/evil, and only refs/prloom/runs/{RUN}")
    assert project.sha("evil") == ""


def test_the_commit_of_another_run_is_refused(other: Project, repo: Repository, base: str) -> None:
    name = under(other, other.commit({"a": "1\n"}), run="another")

    refuse(repo, bundle_of(other, name, f"^{base}"), base, "holds refs/prloom/runs/another")


def test_a_commit_on_another_parent_is_refused(other: Project, repo: Repository, base: str) -> None:
    feature = other.git("rev-parse", "origin/feature")
    commit = other.commit({"a": "1\n"}, branch="x")
    other.git("checkout", "--quiet", "--detach", feature)
    other.git("commit", "--quiet", "--allow-empty", "-m", "on feature")
    on_feature = other.git("rev-parse", "HEAD")

    refuse(repo, bundle_of(other, under(other, on_feature), f"^{feature}"), base, "does not build on commit")
    refuse(repo, bundle_of(other, under(other, commit)), base, "does not build on commit")


def test_two_commits_are_refused(other: Project, repo: Repository, base: str) -> None:
    other.commit({"a": "1\n"})
    second = other.commit({"b": "2\n"})

    refuse(repo, bundle_of(other, under(other, second), f"^{base}"), base, "is not one commit on")


def test_a_merge_is_refused(other: Project, repo: Repository, base: str) -> None:
    side = other.commit({"a": "1\n"}, branch="side")
    tree = other.git("rev-parse", f"{side}^{{tree}}")
    merge = other.git("commit-tree", "-p", base, "-p", side, "-m", "merge", tree)

    refuse(repo, bundle_of(other, under(other, merge), f"^{base}"), base, "is not one commit on")


def test_a_tag_or_a_tree_is_no_commit(other: Project, repo: Repository, base: str) -> None:
    commit = other.commit({"a": "1\n"})
    other.git("tag", "-a", "-m", "a tag", "v1", commit)
    name = under(other, other.git("rev-parse", "refs/tags/v1"))

    refuse(repo, bundle_of(other, name, f"^{base}"), base, "leads to no commit")


def test_a_bundle_that_was_damaged_is_refused(other: Project, repo: Repository, base: str) -> None:
    content = bundle_of(other, under(other, other.commit({"a": "1\n"})), f"^{base}")
    damaged = content[:-30] + bytes(each ^ 255 for each in content[-30:])

    refuse(repo, damaged, base, "is refused: git index-pack failed")


def test_a_parent_that_is_not_here_is_refused(other: Project, repo: Repository) -> None:
    unknown = other.commit({"a": "1\n"})
    content = bundle_of(other, under(other, other.commit({"b": "1\n"})), f"^{unknown}")

    refuse(repo, content, unknown, "is refused: git bundle failed")


def test_a_bundle_that_cannot_be_written_for_want_of_a_disk_is_not_refused_and_is_taken_later(
    project: Project, other: Project, repo: Repository, base: str
) -> None:
    content = bundle_of(other, under(other, other.commit({"a": "1\n"})), f"^{base}")
    packs = project.root / ".git" / "objects" / "pack"
    packs.rename(packs.with_name("away"))
    packs.touch()  # as root, nothing else is refused

    with pytest.raises(GitSystemError, match=r"git index-pack failed in .*: Not a directory"):
        bundle.receive(repo, content, run=RUN, parent=base)

    packs.unlink()
    packs.with_name("away").rename(packs)
    assert bundle.receive(repo, content, run=RUN, parent=base) == bundle.find(repo, RUN)


def test_a_worktree_that_another_git_is_making_is_no_fault_of_the_bundle(
    project: Project, other: Project, repo: Repository, base: str
) -> None:
    content = bundle_of(other, under(other, other.commit({"a": "1\n"})), f"^{base}")
    made = project.root / ".git" / "worktrees" / "made"
    made.mkdir(parents=True)
    for name, text in (("commondir", ""), ("gitdir", "/nowhere/.git\n"), ("HEAD", "ref: refs/heads/made\n")):
        (made / name).write_text(text)

    with pytest.raises(GitSystemError, match="worktrees/made/commondir"):
        bundle.receive(repo, content, run=RUN, parent=base)


def write_object(other: Project, kind: str, content: bytes) -> str:
    """Write an object that git itself would not make; return its id."""
    whole = f"{kind} {len(content)}\0".encode() + content
    sha = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    file = other.root / ".git" / "objects" / sha[:2] / sha[2:]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(zlib.compress(whole))
    return sha


def tree_of(other: Project, *entries: tuple[str, str, str]) -> str:
    """Write a folder of (mode, name, id)."""
    return write_object(
        other, "tree", b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(sha) for mode, name, sha in entries)
    )


def of_tree(other: Project, tree: str, base: str) -> bytes:
    commit = other.git("commit-tree", "-p", base, "-m", "x", tree)
    return bundle_of(other, under(other, commit), f"^{base}")


@pytest.mark.parametrize("name", [".git", ".GIT", "..", "git~1"])
def test_a_name_that_git_refuses_is_refused(other: Project, repo: Repository, base: str, name: str) -> None:
    blob = write_object(other, "blob", b"[core]\n")
    hooks = tree_of(other, ("100644", "config", blob))

    refuse(repo, of_tree(other, tree_of(other, ("40000", name, hooks)), base), base, "git index-pack failed")


def test_objects_that_are_missing_are_refused(other: Project, repo: Repository, base: str) -> None:
    commit = other.commit({"a": "a file that does not come along\n"})
    whole = bundle_of(other, under(other, commit), f"^{base}")
    asked = ["git", "pack-objects", "--stdout", "-q"]
    pack = subprocess.run(asked, cwd=other.root, input=commit.encode(), check=True, capture_output=True).stdout

    refuse(repo, whole[: whole.index(b"PACK")] + pack, base, "git index-pack failed")


def test_folders_that_stand_for_any_number_of_files_are_refused(other: Project, repo: Repository, base: str) -> None:
    blob = write_object(other, "blob", b"x\n")
    tree = tree_of(other, *(("100644", f"f{number}", blob) for number in range(10)))
    for _ in range(9):
        tree = tree_of(other, *(("40000", f"d{number}", tree) for number in range(10)))

    refuse(repo, of_tree(other, tree, base), base, "it has more than 1000000 files")


def test_folders_within_one_another_end(other: Project, repo: Repository, base: str) -> None:
    tree = tree_of(other, ("100644", "f", write_object(other, "blob", b"x\n")))
    for _ in range(300):
        tree = tree_of(other, ("40000", "d", tree))

    refuse(repo, of_tree(other, tree, base), base, "more than 200 folders within one another")


def test_a_small_bundle_of_enormous_files_is_refused(other: Project, repo: Repository, base: str) -> None:
    blob = write_object(other, "blob", bytes(12 << 20))
    tree = tree_of(other, *(("100644", f"f{number}", blob) for number in range(6)))
    content = of_tree(other, tree, base)

    assert len(content) < 1_000_000
    refuse(repo, content, base, "changes files of 75497472 bytes in all, over the limit of 67108864")


@pytest.mark.parametrize("run", ["", "../../heads/main", "a/b", "a b", "x" * 101, "a\nb"])
def test_an_id_that_is_none_of_a_run_is_refused(repo: Repository, base: str, run: str) -> None:
    with pytest.raises(repository.WorkspaceError, match="is not the id of a run"):
        bundle.receive(repo, b"# v2 git bundle\n\n", run=run, parent=base)


def test_a_change_is_applied_as_it_was_made(other: Project, repo: Repository, place: Path) -> None:
    base = worktree.create(repo, place, "feature")
    commit = other.commit({"src/new.py": "x\n"}, branch="feature", links={"link": "README.md"})
    feature = other.git("rev-parse", "origin/feature")
    tree = other.git("rev-parse", f"{commit}^{{tree}}")
    on_base = other.git("commit-tree", "-p", feature, "-m", "x", tree)
    content = bundle.create(repository.find(other.root), run=RUN, parent=base, commit=on_base)

    received = bundle.receive(repo, content, run=RUN, parent=base)
    commits.restore(repo, place, received.tree, branch="feature")

    assert snapshot.take(repo, place, base).tree == received.tree
    assert (place / "src/new.py").read_text() == "x\n"
