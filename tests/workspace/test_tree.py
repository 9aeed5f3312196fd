from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import tree

if TYPE_CHECKING:
    from conftest import Project

    from prloom.workspace.repository import Repository


def test_a_commit_without_state_is_harmless(project: Project, repo: Repository) -> None:
    sha = project.commit(
        {"prloom/worker.md": "x", "prloom/plugins/p/__init__.py": "", "docs/prloom/.local/x": "x", "prloom.toml": ""},
        branch="b",
    )

    assert tree.committed_state(repo, project.sha("main")) is None
    assert tree.committed_state(repo, sha) is None


@pytest.mark.parametrize(
    ("files", "links", "found"),
    [
        ({"prloom/.local/state.json": "{}"}, {}, "the folder prloom/.local"),
        ({"prloom/.local/bus/x/y": "{}"}, {}, "the folder prloom/.local"),
        ({"prloom/.local": "x"}, {}, "the file prloom/.local"),
        ({}, {"prloom/.local": "../.git"}, "the symbolic link prloom/.local"),
        ({}, {"prloom/.local/plan.md": "../../.git/config"}, "the folder prloom/.local"),
        ({}, {"prloom": "src"}, "the symbolic link prloom"),
        ({"prloom": "x"}, {}, "the file prloom"),
        ({"PRLoom/.LOCAL/x": "x"}, {}, "the folder PRLoom/.LOCAL"),
        ({"prl\u200coom/.local/x": "x"}, {}, "the folder prl\\u200coom/.local"),
    ],
)
def test_what_a_commit_has_in_prlooms_place_is_named(
    project: Project,
    repo: Repository,
    files: dict[str, str],
    links: dict[str, str],
    found: str,
) -> None:
    assert tree.committed_state(repo, project.commit(files, links=links, branch="b")) == found


def test_a_submodule_in_prlooms_place_is_named(project: Project, repo: Repository) -> None:
    project.git("update-index", "--add", "--cacheinfo", f"160000,{project.sha('main')},prloom")
    project.git("commit", "--quiet", "--message=x")

    assert tree.committed_state(repo, project.sha("main")) == "the submodule prloom"


@pytest.mark.parametrize("text", ["--output=x", "HEAD", "main", "", "abc"])
def test_only_the_id_of_a_commit_is_looked_into(repo: Repository, text: str) -> None:
    with pytest.raises(WorkspaceError, match="is not the id of a commit"):
        tree.committed_state(repo, text)


@pytest.mark.parametrize(
    "command",
    ["tools/clean.sh %f", "./tools/clean.sh", "python tools/clean.sh -x", "sh -c './tools/../tools/clean.sh;true'"],
)
def test_a_program_of_the_branch_that_git_would_run_is_named(project: Project, repo: Repository, command: str) -> None:
    project.git("config", "filter.x.smudge", command)
    sha = project.commit({"tools/clean.sh": "rm -rf ~\n"}, branch="b")

    assert tree.changed_program(repo, sha) == "tools/clean.sh (filter.x.smudge)"


def test_the_program_that_the_main_checkout_has_too_is_let_pass(project: Project, repo: Repository) -> None:
    project.commit({"tools/clean.sh": "cat\n"})
    sha = project.commit({"other": "x"}, branch="b")
    project.git("config", "filter.x.clean", "tools/clean.sh")

    assert tree.changed_program(repo, sha) is None
    assert tree.changed_program(repo, project.commit({"tools/clean.sh": "evil\n"}, branch="b")) is not None


@pytest.mark.parametrize("command", ["git-lfs smudge -- %f", "/bin/tools/clean.sh", "~/tools/clean.sh", "tools clean"])
def test_a_program_from_elsewhere_is_not_the_branchs(project: Project, repo: Repository, command: str) -> None:
    project.git("config", "filter.lfs.smudge", command)
    sha = project.commit({"tools/clean.sh": "x", "smudge": "x", "git-lfs": "x", "clean": "x"}, branch="b")

    assert tree.changed_program(repo, sha) is None
