from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import repository
from prloom.workspace.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project


def test_the_repository_is_found_from_any_folder_in_it(project: Project) -> None:
    found = Repository(project.root, project.root / ".git")

    assert repository.find(project.root) == found
    assert repository.find(project.root / "src") == found


def test_no_process_is_started_to_find_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert repository.find(project.root / "src").root == project.root


def test_a_variable_of_the_caller_does_not_change_where_it_is_found(
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIT_DIR", str(project.root / ".git"))

    with pytest.raises(WorkspaceError, match="no git repository at"):
        repository.find(tmp_path)


def test_a_bare_repository_is_no_place_to_work(project: Project, tmp_path: Path) -> None:
    project.git("clone", "--quiet", "--bare", str(project.root), str(tmp_path / "a.git"))
    project.git("clone", "--quiet", "--bare", str(project.root), str(tmp_path / "b" / ".git"))

    for place in (tmp_path / "a.git", tmp_path / "b"):
        with pytest.raises(WorkspaceError, match=f"{place} is a bare repository; run prloom in a checkout of it"):
            repository.find(place)


def test_a_branch_is_resolved_to_its_commit(project: Project, repo: Repository) -> None:
    assert repository.branch_sha(repo, "feature") == project.sha("feature")
    assert repository.branch_sha(repo, "nowhere") is None


@pytest.mark.parametrize("name", ["main^{}", "main~0", "HEAD", "@", "feature:", ":/commit", "../heads/main", "", "a b"])
def test_an_expression_is_no_branch(repo: Repository, name: str) -> None:
    assert repository.branch_sha(repo, name) is None
    assert repository.remote_sha(repo, name) is None


def test_a_tag_of_the_same_name_is_not_the_branch(project: Project, repo: Repository) -> None:
    project.git("tag", "feature", "main")

    assert repository.branch_sha(repo, "feature") == project.sha("feature") != project.sha("main")


def test_a_branch_of_origin_is_known_as_it_was_fetched(project: Project, tmp_path: Path) -> None:
    project.git("clone", "--quiet", str(project.root), str(tmp_path / "clone"))
    clone = repository.find(tmp_path / "clone")

    assert repository.branch_sha(clone, "feature") is None
    assert repository.remote_sha(clone, "feature") == project.sha("feature")
    assert repository.origin_url(clone) == str(project.root)


def test_a_repository_without_origin_says_so(repo: Repository) -> None:
    assert repository.origin_url(repo) is None


def test_the_current_branch_is_known_also_before_the_first_commit(project: Project, tmp_path: Path) -> None:
    project.git("init", "--quiet", "--initial-branch=first", str(tmp_path / "new"))

    assert repository.current_branch(repository.find(project.root)) == "main"
    assert repository.current_branch(repository.find(tmp_path / "new")) == "first"

    project.git("checkout", "--quiet", "--detach")

    assert repository.current_branch(repository.find(project.root)) is None


def test_the_base_branch_is_what_origin_says(project: Project, tmp_path: Path) -> None:
    project.git("branch", "--quiet", "next")
    project.git("checkout", "--quiet", "next")
    project.git("clone", "--quiet", str(project.root), str(tmp_path / "clone"))
    clone = repository.find(tmp_path / "clone")
    project.git("checkout", "--quiet", "-b", "mine", cwd=clone.root)

    assert repository.default_branch(clone) == "next"


def test_without_origin_the_base_branch_is_one_of_the_usual(project: Project, repo: Repository) -> None:
    project.git("checkout", "--quiet", "feature")

    assert repository.default_branch(repo) == "main"


def test_where_there_is_nothing_usual_the_base_branch_is_the_current(project: Project, repo: Repository) -> None:
    project.git("branch", "--move", "main", "own")

    assert repository.default_branch(repo) == "own"

    project.git("checkout", "--quiet", "--detach")
    with pytest.raises(WorkspaceError, match=r"no base branch was found in .*; name it in prloom\.toml: base_branch ="):
        repository.default_branch(repo)


def is_ignored(project: Project, path: str, cwd: Path) -> bool:
    asked = ["git", "check-ignore", "--quiet", path]
    return subprocess.run(asked, cwd=cwd, check=False, capture_output=True).returncode == 0


def test_a_folder_is_kept_out_of_git_in_every_worktree(project: Project, repo: Repository, tmp_path: Path) -> None:
    project.git("worktree", "add", "--quiet", str(tmp_path / "other"), "feature")

    repository.exclude(repo, project.root / "prloom" / ".local")

    assert is_ignored(project, "prloom/.local/x", project.root)
    assert is_ignored(project, "prloom/.local/x", tmp_path / "other")
    assert not is_ignored(project, "sub/prloom/.local/x", project.root)
    assert not is_ignored(project, "prloom/worker.md", project.root)


def test_keeping_a_folder_out_twice_changes_nothing_the_second_time(project: Project, repo: Repository) -> None:
    file = project.root / ".git" / "info" / "exclude"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"*.swp")

    for _ in range(2):
        repository.exclude(repo, project.root / "prloom" / ".local")

    assert file.read_bytes() == b"*.swp\n/prloom/.local/\n"


def test_the_exclude_file_keeps_its_permissions_and_nothing_of_a_killed_writer_stays_beside_it(
    project: Project, repo: Repository
) -> None:
    file = project.root / ".git" / "info" / "exclude"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"*.swp\n")
    file.chmod(0o640)
    (file.parent / ".exclude.4711.tmp").write_bytes(b"*.s")

    repository.exclude(repo, project.root / "prloom" / ".local")

    assert [each.name for each in file.parent.iterdir()] == ["exclude"]
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["a*b", "#x", "!x", "[ab]", "a\\b", "a ", "ü?"])
def test_special_characters_of_a_folder_mean_themselves(project: Project, repo: Repository, name: str) -> None:
    (project.root / name).mkdir()

    repository.exclude(repo, project.root / name)

    assert is_ignored(project, f"{name}/x", project.root)
    assert not is_ignored(project, "axb/x", project.root)
    assert not is_ignored(project, "a/x", project.root)


def test_a_folder_outside_needs_no_line(project: Project, repo: Repository, tmp_path: Path) -> None:
    repository.exclude(repo, tmp_path / "elsewhere")

    assert not (project.root / ".git" / "info" / "exclude").exists()


def test_a_folder_that_cannot_be_kept_out_is_named(project: Project, repo: Repository) -> None:
    with pytest.raises(WorkspaceError, match=r"a\\nb cannot be excluded from git: its name has a line break"):
        repository.exclude(repo, project.root / "a\nb")

    (project.root / ".git" / "info" / "exclude").mkdir(parents=True)
    with pytest.raises(WorkspaceError, match=r"\.local cannot be excluded from git: .*Is a directory"):
        repository.exclude(repo, project.root / "prloom" / ".local")


def test_names_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    place = tmp_path / "a\x1b[31m"
    place.mkdir()

    with pytest.raises(WorkspaceError) as caught:
        repository.find(place)

    assert os.fspath(place) not in str(caught.value)
    assert str(caught.value).isprintable()
