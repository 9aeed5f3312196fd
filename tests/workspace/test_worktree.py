from __future__ import annotations

import os
import re
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import branches, checkout, repository, worktree

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository

HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-merge")
ODD_NAMES = ("--output=x", "-", "-f", "$(touch${IFS}pwned)", "`id`", "a'b|c\"d;e&f", "ünïcödé/日本", "x" * 230)


def worktrees(project: Project) -> str:
    return project.git("worktree", "list", "--porcelain")


def refusal(repo: Repository, place: Path, branch: str) -> str:
    with pytest.raises(WorkspaceError) as caught:
        worktree.create(repo, place, branch)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_a_branch_gets_a_worktree_of_its_own(project: Project, repo: Repository, place: Path) -> None:
    sha = worktree.create(repo, place, "feature")

    assert sha == project.sha("feature") == worktree.head(repo, place)
    assert worktree.branch(repo, place) == "feature"
    assert (place / "src" / "app.py").read_text() == "print(1)\n"
    assert project.git("status", "--porcelain", "--branch", cwd=place) == "## feature"
    assert project.git("status", "--porcelain") == ""
    assert "locked" not in worktrees(project)


def test_a_worktree_that_is_there_is_kept_with_all_that_is_in_it(repo: Repository, place: Path) -> None:
    sha = worktree.create(repo, place, "feature")
    (place / "notes").write_text("mine")

    assert worktree.create(repo, place, "feature") == sha
    assert (place / "notes").read_text() == "mine"


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_branch_of_any_name_gets_a_worktree(project: Project, repo: Repository, place: Path, name: str) -> None:
    sha = project.commit({"a": "b"}, branch=name)

    assert worktree.create(repo, place, name) == sha
    assert worktree.branch(repo, place) == name
    assert (place / "a").read_text() == "b"
    assert not [path for path in (project.root / "x", project.root / "pwned", place / "x") if path.exists()]


@pytest.mark.parametrize("name", [*ODD_NAMES, "nowhere", "main^{}", "HEAD", "", "a b", "\x1b[31m", "x" * 5000])
def test_a_branch_that_is_not_there_is_one_clear_line(
    project: Project,
    repo: Repository,
    place: Path,
    name: str,
) -> None:
    said = refusal(repo, place, name)

    assert said.startswith("no branch ") or said.endswith(" is not a valid name for a branch")
    assert len(said) < 500
    assert not place.exists()
    assert not (project.root / "x").exists()


def test_a_mistyped_branch_comes_with_what_was_meant(repo: Repository, place: Path) -> None:
    assert refusal(repo, place, "fetaure") == (
        f"no branch fetaure in {repo.root}, neither here nor fetched from origin; did you mean feature?"
    )
    assert refusal(repo, place, "zzz").endswith("see `git branch --all`, or fetch it with `git fetch`")


def test_in_a_repository_without_a_commit_the_first_one_is_asked_for(project: Project, tmp_path: Path) -> None:
    project.git("init", "--quiet", str(tmp_path / "new"))
    new = repository.find(tmp_path / "new")
    said = f"{new.root} has no commit yet; make a first commit with `git commit`"

    assert refusal(new, tmp_path / "place", "main") == said
    with pytest.raises(WorkspaceError, match=re.escape(said)):
        branches.base_sha(new, "main")


def test_a_branch_of_origin_gets_a_local_one_that_tracks_it(project: Project, tmp_path: Path) -> None:
    project.git("clone", "--quiet", str(project.root), str(tmp_path / "clone"))
    clone = repository.find(tmp_path / "clone")

    sha = worktree.create(clone, tmp_path / "clone" / "wt", "feature")

    assert sha == project.sha("feature")
    assert project.git("status", "--branch", "--porcelain", cwd=tmp_path / "clone" / "wt") == (
        "## feature...origin/feature"
    )


def test_a_branch_that_the_main_checkout_holds_is_refused(repo: Repository, place: Path) -> None:
    assert refusal(repo, place, "main") == (
        f"branch main is checked out in {repo.root}, and prloom needs it in its own worktree; "
        f"switch {repo.root} to another branch, for instance with `git switch --detach`"
    )


def test_a_branch_that_another_worktree_holds_is_refused(
    project: Project,
    repo: Repository,
    place: Path,
    tmp_path: Path,
) -> None:
    project.git("worktree", "add", "--quiet", str(tmp_path / "other"), "feature")

    assert f"branch feature is checked out in {tmp_path / 'other'}" in refusal(repo, place, "feature")


def test_a_folder_that_is_no_worktree_is_left_alone(repo: Repository, place: Path) -> None:
    place.mkdir(parents=True)
    (place / "mine").write_text("x")

    assert refusal(repo, place, "feature") == f"{place} exists and is not a worktree of this repository; move it away"
    assert (place / "mine").read_text() == "x"


def test_a_file_in_the_way_is_left_alone(repo: Repository, place: Path) -> None:
    place.parent.mkdir(parents=True)
    place.write_text("x")

    assert "exists and is not a worktree" in refusal(repo, place, "feature")
    assert "no worktree can be created in" in refusal(repo, place / "below", "feature")
    assert place.read_text() == "x"


def test_a_worktree_of_another_repository_is_left_alone(
    project: Project,
    repo: Repository,
    place: Path,
    tmp_path: Path,
) -> None:
    project.git("clone", "--quiet", str(project.root), str(tmp_path / "clone"))
    project.git("worktree", "add", "--quiet", "--detach", str(place), cwd=tmp_path / "clone")

    assert "exists and is not a worktree of this repository" in refusal(repo, place, "feature")


def test_a_symbolic_link_is_not_followed(project: Project, repo: Repository, place: Path, tmp_path: Path) -> None:
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "elsewhere")

    assert refusal(repo, place, "feature") == f"{place} is a symbolic link; remove it and try again"
    assert not (tmp_path / "elsewhere").exists()


def test_an_empty_folder_is_used(repo: Repository, place: Path) -> None:
    place.mkdir(parents=True)

    worktree.create(repo, place, "feature")

    assert worktree.branch(repo, place) == "feature"


def test_a_place_that_has_another_branch_is_refused(project: Project, repo: Repository, place: Path) -> None:
    project.commit({"a": "b"}, branch="more")
    worktree.create(repo, place, "feature")

    assert refusal(repo, place, "more") == (f"{place} is already a worktree, of branch feature; choose another plan id")


def test_only_the_one_whose_folder_is_gone_is_forgotten(
    project: Project, repo: Repository, place: Path, tmp_path: Path, base: str
) -> None:
    project.git("worktree", "add", "--quiet", "-b", "mine", str(tmp_path / "unplugged"))
    shutil.rmtree(place)
    shutil.rmtree(tmp_path / "unplugged")

    worktree.create(repo, place, "feature")

    assert worktree.branch(repo, place) == "feature"
    assert str(tmp_path / "unplugged") in worktrees(project)


def test_a_plan_whose_folder_is_gone_does_not_hold_its_branch(repo: Repository, place: Path, base: str) -> None:
    shutil.rmtree(place)

    worktree.create(repo, place.with_name("other"), "feature")

    assert worktree.branch(repo, place.with_name("other")) == "feature"


def test_a_worktree_elsewhere_whose_folder_is_gone_is_not_forgotten(
    project: Project,
    repo: Repository,
    place: Path,
    tmp_path: Path,
) -> None:
    project.git("worktree", "add", "--quiet", str(tmp_path / "unplugged"), "feature")
    shutil.rmtree(tmp_path / "unplugged")

    assert refusal(repo, place, "feature") == (
        f"branch feature is registered as checked out in {tmp_path / 'unplugged'}, which is missing; "
        f"restore it, or remove the entry with `git worktree remove {tmp_path / 'unplugged'}`"
    )
    assert str(tmp_path / "unplugged") in worktrees(project)


def test_commits_that_only_a_gone_worktree_leads_to_are_not_lost(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    project.git("checkout", "--quiet", "--detach", cwd=place)
    project.git("commit", "--quiet", "--allow-empty", "--message=alone", cwd=place)
    alone = project.git("rev-parse", "--short", "HEAD", cwd=place)
    shutil.rmtree(place)

    assert f"keep them with `git branch NAME {alone}` and try again" in refusal(repo, place, "feature")
    assert str(place) in worktrees(project)


def test_a_gone_worktree_that_is_locked_is_not_forgotten(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    project.git("worktree", "lock", "--reason", "on the train", str(place))
    shutil.rmtree(place)

    assert "cannot remove a locked working tree, lock reason: on the train" in refusal(repo, place, "feature")


def leave_half_made(project: Project, repo: Repository, place: Path) -> None:
    """Do what create() does until it is killed in the middle of the checkout."""
    worktree.create(repo, place, "feature")
    git_dir = project.root / ".git" / "worktrees" / place.name
    (git_dir / "locked").write_text("prloom is making this worktree")
    (git_dir / "index").unlink()
    (place / "src" / "app.py").write_text("prin")


def test_a_worktree_that_was_left_half_made_is_made_anew(project: Project, repo: Repository, place: Path) -> None:
    leave_half_made(project, repo, place)

    worktree.create(repo, place, "feature")

    assert project.git("status", "--porcelain", "--branch", cwd=place) == "## feature"
    assert (place / "src" / "app.py").read_text() == "print(1)\n"
    assert "locked" not in worktrees(project)


def test_a_half_made_worktree_whose_folder_is_gone_is_made_anew(
    project: Project,
    repo: Repository,
    place: Path,
) -> None:
    leave_half_made(project, repo, place)
    shutil.rmtree(place)

    worktree.create(repo, place, "feature")

    assert project.git("status", "--porcelain", "--branch", cwd=place) == "## feature"


def test_several_may_be_made_at_once(project: Project, repo: Repository, place: Path) -> None:
    names = [f"b{number}" for number in range(4)]
    for name in names:
        project.commit({name: name}, branch=name)

    with ThreadPoolExecutor() as pool:
        asked = [*names, *names]
        made = list(pool.map(lambda name: worktree.create(repo, place.with_name(name), name), asked))

    assert made == [project.sha(name) for name in asked]


def test_a_checkout_that_fails_leaves_nothing_behind(project: Project, tmp_path: Path) -> None:
    project.commit({"x" * 300: "longer than the name of a file may be"}, branch="feature")
    project.git("clone", "--quiet", str(project.root), str(tmp_path / "clone"))
    clone = repository.find(tmp_path / "clone")
    place = tmp_path / "clone" / "prloom" / ".local" / "worktrees" / "plan"

    assert "git read-tree failed in" in refusal(clone, place, "feature")

    assert not place.exists()
    assert repository.branch_sha(clone, "feature") is None
    assert checkout.linked(clone.git_dir) == ()


def test_a_branch_that_moves_during_the_checkout_is_not_set_back(
    project: Project,
    repo: Repository,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moved = project.commit({"prloom/.local/state.json": "{}"}, branch="next")
    mover = tmp_path / "bin" / "git"
    mover.parent.mkdir()
    real = shutil.which("git")
    mover.write_text(
        f"#!/bin/sh\ncase \" $* \" in *' read-tree '*)\n"
        f"  '{real}' --git-dir='{project.root}/.git' update-ref refs/heads/feature {moved};;\n"
        f"esac\nexec '{real}' \"$@\"\n"
    )
    mover.chmod(mover.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{mover.parent}:{os.environ['PATH']}")

    assert refusal(repo, place, "feature") == "branch feature changed while its worktree was created; try again"
    assert project.sha("feature") == moved
    assert not place.exists()


def test_hooks_of_the_branch_do_not_run(project: Project, repo: Repository, place: Path) -> None:
    mark = project.root.parent / "pwned"
    files = {f".hooks/{name}": f"#!/bin/sh\ntouch {mark}\n" for name in HOOKS}
    project.commit(files, branch="feature")
    project.git("config", "core.hooksPath", ".hooks")

    worktree.create(repo, place, "feature")
    assert all(os.access(place / name, os.X_OK) for name in files)
    worktree.is_dirty(repo, place)
    worktree.head(repo, place)
    worktree.create(repo, place, "feature")
    worktree.remove(repo, place)

    assert not mark.exists()


@pytest.mark.parametrize("path", ["prloom/.local", "prloom"])
def test_a_branch_that_commits_a_link_in_prlooms_place_is_not_checked_out(
    project: Project,
    repo: Repository,
    place: Path,
    path: str,
) -> None:
    project.commit({}, links={path: "/tmp"}, branch="feature")

    assert refusal(repo, place, "feature") == (
        f"branch feature contains the symbolic link {path}, where prloom keeps its own files; "
        "remove it from the branch and try again"
    )
    assert not place.exists()
    assert checkout.linked(repo.git_dir) == ()


def test_a_worktree_that_has_come_to_commit_prlooms_folder_is_refused(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    project.commit({"prloom/.local/state.json": "{}"}, branch="feature")

    assert "contains the folder prloom/.local" in refusal(repo, place, "feature")


def test_prlooms_folder_is_kept_out_of_git(
    project: Project, repo: Repository, place: Path, tmp_path: Path, base: str
) -> None:
    (place / "prloom" / ".local").mkdir(parents=True)
    (place / "prloom" / ".local" / "plan.md").write_text("x")

    assert project.git("status", "--porcelain", cwd=place) == ""

    project.commit({"a": "b"}, branch="more")
    worktree.create(repo, project.root / "plans" / "more", "more")

    assert project.git("status", "--porcelain") == ""


def test_a_clean_worktree_is_removed_and_its_branch_kept(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    (place / "prloom" / ".local").mkdir(parents=True)
    (place / "prloom" / ".local" / "plan.md").write_text("x")

    worktree.remove(repo, place)

    assert not place.exists()
    assert checkout.linked(repo.git_dir) == ()
    assert project.sha("feature")


@pytest.mark.parametrize(
    ("ignored", "file", "is_shown"),
    [("build/", "build/x", False), ("!/prloom/.local/", "prloom/.local/plan.md", True)],
    ids=["ignored", "of prloom's own folder, which the branch brings back"],
)
def test_ignored_files_and_those_of_prlooms_folder_are_no_work(
    project: Project, repo: Repository, place: Path, ignored: str, file: str, *, is_shown: bool
) -> None:
    project.commit({".gitignore": f"{ignored}\n"}, branch="feature")
    worktree.create(repo, place, "feature")
    (place / file).parent.mkdir(parents=True)
    (place / file).write_text("x")
    assert bool(project.git("status", "--porcelain", cwd=place)) == is_shown

    assert not worktree.is_dirty(repo, place)
    worktree.remove(repo, place)

    assert not place.exists()


def refused_removal(repo: Repository, place: Path, *, with_branch: bool = False) -> str:
    with pytest.raises(WorkspaceError) as caught:
        worktree.remove(repo, place, with_branch=with_branch)
    assert place.is_dir()
    return str(caught.value)


def test_uncommitted_work_is_not_removed(project: Project, repo: Repository, place: Path, base: str) -> None:
    (place / "src" / "app.py").write_text("mine")
    (place / "README.md").unlink()
    for name in "abcde":
        (place / f"new-{name}").write_text("x")
    (place / "staged").write_text("x")
    project.git("add", "staged", cwd=place)

    assert worktree.is_dirty(repo, place)
    assert refused_removal(repo, place) == (
        f"{place} holds work that is nowhere else (changed files: README.md, src/app.py, staged; "
        "untracked files: new-a, new-b, new-c and 2 more); push or discard it first"
    )
    assert (place / "src" / "app.py").read_text() == "mine"


def test_untracked_files_count_whatever_the_settings_say(project: Project, repo: Repository, place: Path) -> None:
    project.git("config", "status.showUntrackedFiles", "no")
    worktree.create(repo, place, "feature")
    (place / "dir").mkdir()
    (place / "dir" / "new\nfile\x1b").write_text("x")

    assert worktree.is_dirty(repo, place)
    assert "untracked files: dir/new\\nfile\\x1b)" in refused_removal(repo, place)


def test_the_files_of_a_branch_that_was_deleted_are_removed_only_if_that_is_wanted(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    project.git("update-ref", "-d", "refs/heads/feature")

    assert "changed files: " in refused_removal(repo, place)
    worktree.remove(repo, place, lose_work=True)

    assert not place.exists()


def test_work_that_git_was_told_to_overlook_is_not_removed(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    project.git("update-index", "--skip-worktree", "README.md", cwd=place)
    project.git("update-index", "--assume-unchanged", "src/app.py", cwd=place)

    assert "files whose changes git ignores: README.md, src/app.py" in refused_removal(repo, place)


def test_commits_without_a_branch_are_not_removed(project: Project, repo: Repository, place: Path, base: str) -> None:
    project.git("checkout", "--quiet", "--detach", cwd=place)
    project.git("commit", "--quiet", "--allow-empty", "--message=alone", cwd=place)
    alone = project.git("rev-parse", "--short", "HEAD", cwd=place)

    assert f"(commits on no other branch: {alone})" in refused_removal(repo, place)


def test_an_unfinished_rebase_is_not_removed(project: Project, repo: Repository, place: Path, base: str) -> None:
    editor = "sequence.editor=sed -i '1s/^/break\\n/'"
    project.git("-c", editor, "rebase", "--quiet", "-i", "main", cwd=place)

    assert refused_removal(repo, place) == (
        f"{place} holds work that is nowhere else (unfinished: rebase); push or discard it first"
    )


def test_a_submodule_that_was_checked_out_is_not_removed(project: Project, repo: Repository, place: Path) -> None:
    project.git("checkout", "--quiet", "feature")
    project.git("update-index", "--add", "--cacheinfo", f"160000,{project.sha('main')},lib")
    project.git("commit", "--quiet", "--message=x")
    project.git("checkout", "--quiet", "main")
    worktree.create(repo, place, "feature")
    project.git("init", "--quiet", cwd=place / "lib")
    (place / "lib" / "file").write_text("x")

    assert "submodules: lib" in refused_removal(repo, place)

    shutil.rmtree(place / "lib")
    (place / "lib").mkdir()
    worktree.remove(repo, place)

    assert not place.exists()


def test_a_branch_is_removed_with_its_worktree_only_if_its_commits_are_elsewhere(
    project: Project, repo: Repository, place: Path, base: str
) -> None:
    tip = project.git("rev-parse", "--short", "feature")

    assert f"(commits on no other branch: {tip})" in refused_removal(repo, place, with_branch=True)
    assert project.sha("feature")

    project.git("update-ref", "refs/remotes/origin/feature", "feature")
    worktree.remove(repo, place, with_branch=True)

    assert not place.exists()
    assert not project.sha("feature")


def test_a_locked_worktree_is_not_removed(project: Project, repo: Repository, place: Path, base: str) -> None:
    project.git("worktree", "lock", "--reason", "hands\toff", str(place))

    assert refused_removal(repo, place) == f"{place} is locked (hands\\toff); unlock it first"


def test_what_is_no_worktree_cannot_be_removed(project: Project, repo: Repository, place: Path) -> None:
    for path in (project.root, place, project.root / "src"):
        with pytest.raises(WorkspaceError, match=r"is not a worktree of .*; adopt its branch again"):
            worktree.remove(repo, path)

    assert (project.root / "src" / "app.py").exists()


def test_a_git_file_that_an_agent_rewrote_is_not_followed(project: Project, repo: Repository, place: Path) -> None:
    mark = project.root.parent / "pwned"
    trap = project.root.parent / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    trap.chmod(trap.stat().st_mode | stat.S_IXUSR)
    sha = worktree.create(repo, place, "feature")
    evil = place / "evil"
    project.git("init", "--quiet", "--bare", str(evil))
    project.git("config", "core.bare", "false", cwd=evil)
    project.git("config", "core.worktree", str(place), cwd=evil)
    project.git("config", "filter.x.clean", str(trap), cwd=evil)
    (place / ".gitattributes").write_text("* filter=x\n")
    (place / ".git").write_text(f"gitdir: {evil}\n")

    assert worktree.head(repo, place) == sha
    assert worktree.is_dirty(repo, place)
    refused_removal(repo, place)

    assert not mark.exists()


def test_the_folders_above_a_worktree_are_their_owners_alone_whatever_the_umask(repo: Repository, tmp_path: Path):
    before = os.umask(0)
    try:
        worktree.create(repo, tmp_path / "else" / "where" / "plan", "feature")
    finally:
        os.umask(before)

    folders = [tmp_path / "else", tmp_path / "else" / "where"]
    assert [stat.S_IMODE(each.stat().st_mode) for each in folders] == [0o700, 0o700]


def test_a_local_branch_beside_which_git_cannot_have_the_fetched_one_is_named(
    project: Project, repo: Repository, place: Path
) -> None:
    project.git("update-ref", "refs/remotes/origin/feature/more", "feature")

    with pytest.raises(WorkspaceError) as raised:
        worktree.create(repo, place, "feature/more")

    assert str(raised.value) == (
        "git cannot have a local branch feature/more beside feature; "
        "rename feature with `git branch --move` and try again"
    )
    assert not place.exists()
