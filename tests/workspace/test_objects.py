"""Git's objects and refs as GitPython reads them: every process that this takes is one of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import executable
import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import checks, objects, repository
from prloom.workspace.repository import Repository

if TYPE_CHECKING:
    from conftest import Project

# What the calls below need of GitPython, each in the way that GitPython itself starts a command.
USES = """
import sys
from pathlib import Path
from prloom.workspace import objects, repository
found = repository.find(Path.cwd())
repo = objects.HardenedRepo(found)
commit = repo.commit("feature")
objects.entries(found, commit.hexsha)
objects.branch_names(found, most=10)
list(repo.iter_commits("feature"))
list(commit.diff(commit.parents[0], create_patch=True))
list(commit.tree["folder"].traverse())
repo.merge_base("main", "feature")
commit.tree["folder/file"].data_stream.read()
repo.untracked_files, repo.is_dirty()
sys.exit(0 if commit.trailers_dict == {"Change-Id": ["1"]} else "trailers")
"""


@pytest.fixture
def recorded(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a `git` into PATH that records its environment and arguments, each time that it is started."""
    mark = tmp_path / "started"
    folder = tmp_path / "bin"
    folder.mkdir()
    executable.write(
        folder / "git", f'#!/bin/sh\n{{ env | tr "\\n" " "; echo "ARGS $*"; }} >>\'{mark}\'\nexec {which("git")} "$@"\n'
    )
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return mark


def a_feature(project: Project) -> str:
    project.commit({"folder/file": "text\n", "file": "a\n"}, branch="feature")
    project.git("checkout", "--quiet", "--force", "feature")
    project.git("commit", "--quiet", "--allow-empty", "--message=a commit\n\nChange-Id: 1")
    (project.root / "file").write_text("changed\n")
    return project.sha("feature")


def use_all(project: Project) -> None:
    """Use GitPython in a new interpreter, where it is imported for the first time."""
    done = subprocess.run([sys.executable, "-c", USES], cwd=project.root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_gitpython_starts_no_process_but_hardened_ones(
    project: Project, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_feature(project)
    recorded.unlink()
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "s3cret")

    use_all(project)

    started = recorded.read_text().splitlines()
    assert any("cat-file --batch" in line for line in started)
    for line in started:
        assert "SECRET_OF_THE_CALLER" not in line
        assert "GIT_TERMINAL_PROMPT=0" in line
        assert "-c core.hooksPath=/dev/null -c core.fsmonitor=false" in line.partition("ARGS ")[2]
    assert not any(line.endswith("ARGS version") for line in started)


def test_nothing_that_the_configuration_names_is_run(project: Project, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    command = f"sh -c 'echo ran >>{mark}; cat'"
    project.commit({".gitattributes": "* filter=x diff=x merge=x\n"}, branch="feature")
    a_feature(project)
    for key in ("filter.x.clean", "filter.x.smudge", "diff.x.textconv", "diff.x.command", "diff.external"):
        project.git("config", key, command)
    for key in ("core.fsmonitor", "core.pager", "core.editor", "pager.diff"):
        project.git("config", key, command)
    for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        executable.write(project.root / ".git" / "hooks" / hook, f"#!/bin/sh\necho ran >>'{mark}'\n")
    os.utime(project.root / "file", (1, 1))

    use_all(project)

    assert not mark.exists()


def test_the_callers_environment_leads_gitpython_nowhere_else(
    project: Project, repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = a_feature(project)
    for name in ("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))

    assert {entry.name for entry in objects.entries(repo, sha)} >= {"file", "folder"}
    assert objects.branch_names(repo, most=10) == {"main", "feature"}


def test_an_entry_says_what_stands_in_a_commit(project: Project, repo: Repository) -> None:
    sha = project.commit({"folder/file": "x", "file": "x"}, links={"link": "file"}, branch="kinds")

    found = {(entry.kind, entry.name) for entry in objects.entries(repo, sha)}

    assert found >= {("folder", "folder"), ("file", "file"), ("symbolic link", "link")}


def test_branches_of_origin_are_named_as_local_ones(project: Project, repo: Repository) -> None:
    project.git("update-ref", "refs/remotes/origin/theirs", "main")
    project.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/theirs")
    project.git("tag", "v1")

    assert objects.branch_names(repo, most=10) >= {"main", "theirs"}
    assert not objects.branch_names(repo, most=10) & {"HEAD", "v1", "refs/tags/v1"}


def test_an_object_that_is_missing_is_said(repo: Repository) -> None:
    with pytest.raises(WorkspaceError, match="git rev-parse failed in"):
        objects.entries(repo, "1" * 40)


def test_a_command_that_fails_is_said_as_any_of_ours(repo: Repository) -> None:
    with pytest.raises(WorkspaceError, match=r"git rev-parse failed in .*Needed a single revision"):
        objects.HardenedRepo(repo).git.rev_parse("--verify", "nothing")


def test_a_repository_with_sha256_ids_is_read_by_git_itself(tmp_path: Path) -> None:
    root = tmp_path / "sha256"
    subprocess.run(["git", "init", "--quiet", "--template=", "--object-format=sha256", root], check=True)
    (root / "prloom").mkdir()
    (root / "prloom" / ".local").write_text("mine")
    subprocess.run(["git", "add", "--force", "."], cwd=root, check=True)
    subprocess.run(["git", "commit", "--quiet", "--message=a commit"], cwd=root, check=True)
    found = repository.find(root)
    sha = repository.branch_sha(found, str(repository.current_branch(found))) or ""

    assert [(entry.kind, entry.name) for entry in objects.entries(found, sha)] == [("folder", "prloom")]
    assert checks.committed_state(found, sha) == "the file prloom/.local"
