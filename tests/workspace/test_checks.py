from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prloom.errors import WorkspaceError
from prloom.workspace import checks

if TYPE_CHECKING:
    from conftest import Project

    from prloom.workspace.repository import Repository


def test_a_commit_without_state_is_harmless(project: Project, repo: Repository) -> None:
    sha = project.commit(
        {"prloom/worker.md": "x", "prloom/plugins/p/__init__.py": "", "docs/prloom/.local/x": "x", "prloom.toml": ""},
        branch="b",
    )

    assert checks.committed_state(repo, project.sha("main")) is None
    assert checks.committed_state(repo, sha) is None


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
    assert checks.committed_state(repo, project.commit(files, links=links, branch="b")) == found


def test_a_submodule_in_prlooms_place_is_named(project: Project, repo: Repository) -> None:
    project.git("update-index", "--add", "--cacheinfo", f"160000,{project.sha('main')},prloom")
    project.git("commit", "--quiet", "--message=x")

    assert checks.committed_state(repo, project.sha("main")) == "the submodule prloom"


@pytest.mark.parametrize("text", ["--output=x", "HEAD", "main", "", "abc"])
def test_only_the_id_of_a_commit_is_looked_into(repo: Repository, text: str) -> None:
    with pytest.raises(WorkspaceError, match="is not the id of a commit"):
        checks.committed_state(repo, text)
